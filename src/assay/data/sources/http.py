"""Files on the web: downloaded by URL, checked by hash where one is known, and resumed after an interruption."""

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.core.disk import file_lock, hash_file, sync_folder, write_json
from assay.core.disk_space import DISK_IS_FULL, check_space
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import Advance, ByteCount, Progress
from assay.core.quantities import format_size
from assay.data import files
from assay.tasks.model import WebFile

_BLOCK = 2**20
_TIMEOUT = 60.0  # seconds without a byte
_RESUMES = "the partial download is kept; run again to resume it"


def fetch(home: Home, source: WebFile, *, user_copy: Path | None = None, progress: Progress) -> Path:
    """Return the file: the user's own copy, or an earlier download, or downloaded now.

    `user_copy` is the file, or a folder with it. A file with the wrong hash is refused, but kept for inspection.
    """
    if user_copy is not None:
        name = PurePosixPath(source.file).name
        own = user_copy / name if user_copy.is_dir() else user_copy
        if not own.is_file():
            raise SourceError(f"{user_copy} contains no {name}; pass that file, or the folder it is in")
        return _check_file(own, source, "pass another copy, or omit it to download the file")
    folder = home.downloads / "web" / hashlib.sha256(source.url.encode()).hexdigest()[:24]
    kept = folder / PurePosixPath(source.file).name
    with file_lock(folder.with_name(f"{folder.name}.lock")):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not kept.is_file():
            part = _Part(folder / ".part", folder / ".part.json")
            _download(source, part, progress)
            part.path.replace(kept)
            part.about.unlink(missing_ok=True)
            sync_folder(folder)
        return _check_file(kept, source, "delete it to download it again")


def copy_into(fetched: Path, source: WebFile, folder: Path) -> None:
    """Copy a downloaded file to where the task's `prepare.py` expects it."""
    path = PurePosixPath(source.file)
    if path.is_absolute() or ".." in path.parts:
        raise SourceError(f"{source.url}: the name {source.file!r} would be written outside its folder")
    files.copy([(fetched, folder / path)])


def _check_file(path: Path, source: WebFile, advice: str) -> Path:
    other = f"{path} is not the file this task was made from"
    expected, size = source.size, path.stat().st_size
    if expected is not None and size != expected:
        raise SourceError(f"{other}: it has {size:,} bytes, not {expected:,}; {advice}")
    if source.sha256 is not None and (digest := hash_file(path)) != source.sha256:
        raise SourceError(f"{other}: its SHA-256 is {digest}, not {source.sha256}; {advice}")
    return path


@dataclass(frozen=True)
class _Part:
    """A partial download, and a note of which version of the file it belongs to."""

    path: Path
    about: Path

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    @property
    def version(self) -> str | None:
        try:
            content = json.loads(self.about.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return content.get("version") if isinstance(content, dict) else None

    def begin(self, version: str | None) -> None:
        """Start over, and record the version that the next bytes belong to."""
        self.path.unlink(missing_ok=True)
        write_json(self.about, {"format": "part/1", "version": version})


def _download(source: WebFile, part: _Part, progress: Progress) -> None:
    """Download the rest of a file; retry after an interruption as long as each attempt makes progress."""
    size = None if source.size is None else ByteCount(source.size)
    with progress.stage(f"Downloading {PurePosixPath(source.file).name}", size) as advance:
        advance(part.size)
        while True:
            before = part.size
            if before and before == source.size:
                return  # the download was complete when it was interrupted
            try:
                if _more(source, part, advance):
                    return
                broken = "it ended early"
            except urllib.error.HTTPError as error:
                if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not before:
                    raise SourceError(_refused(source, error)) from None
                part.begin(None)  # the partial download is longer than the file: it was another version
                continue
            except urllib.error.URLError as error:
                raise SourceError(f"{source.url} cannot be reached ({error.reason}); check the network") from None
            except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
                broken = str(error) or type(error).__name__
            except OSError as error:
                if error.errno not in DISK_IS_FULL:
                    raise SourceError(f"{source.url} cannot be downloaded to {part.path.parent}: {error}") from None
                full = f"the disk of {part.path.parent} is full while downloading {source.url}"
                raise SourceError(f"{full}; free some space; {_RESUMES}") from None
            if part.size <= before:
                raise SourceError(f"the connection broke while downloading {source.url} ({broken}); {_RESUMES}")


def _more(source: WebFile, part: _Part, advance: Advance) -> bool:
    """Request the missing part once and write it; return whether the file is now complete."""
    have, version = part.size, part.version
    headers = {"User-Agent": "assay", "Accept-Encoding": "identity"}
    if have and (version or source.sha256):
        headers["Range"] = f"bytes={have}-"
        if version:
            headers["If-Range"] = version  # a file that has changed since is sent from the start
    with urllib.request.urlopen(urllib.request.Request(source.url, headers=headers), timeout=_TIMEOUT) as answer:
        continues = answer.status == http.client.PARTIAL_CONTENT
        if continues and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.begin(None)
            raise http.client.HTTPException("the server sent a different part than requested")
        if not continues:
            advance(-have)
            have = 0
            part.begin(_version(answer.headers))
        length = answer.headers.get("Content-Length")
        missing = int(length) if length and length.isdigit() else None
        if missing is not None:
            check_space(part.path.parent, missing, f"downloading {source.url} ({format_size(have + missing)})")
        came = _append(answer, part.path, advance)
    return missing is None or came == missing


def _append(answer: http.client.HTTPResponse, path: Path, advance: Advance) -> int:
    came = 0
    with path.open("ab") as file:
        try:
            while block := answer.read1(_BLOCK):
                file.write(block)
                came += len(block)
                advance(len(block))
        finally:
            file.flush()
            os.fsync(file.fileno())
    return came


def _version(headers: http.client.HTTPMessage) -> str | None:
    """Return a validator that identifies the file's version exactly enough to resume by it."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _refused(source: WebFile, error: urllib.error.HTTPError) -> str:
    match error.code:
        case 404 | 410:
            return f"{source.url} no longer exists ({error.code}); pass your own copy with --raw"
        case 401 | 403:
            return f"{source.url} is not public ({error.code}); pass your own copy with --raw"
        case 429:
            return f"too many requests for {source.url}; run again later"
        case code:
            return f"the server returned {code} for {source.url}; run again later"
