"""Data that lies on the web: fetched by address, checked by hash where one is known, and gone on with after a break."""

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.core.disk import file_lock, hash_file, sync_folder, write_json
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import Advance, Progress
from assay.core.quantities import format_size
from assay.data import files
from assay.data.disk_space import DISK_IS_FULL, check_space
from assay.tasks.model import WebFile

_BLOCK = 2**20
_PATIENCE = 60.0  # seconds without a byte after which a server counts as gone
_KEPT = "what has come is kept, and running again goes on from there where the server lets us"


def fetch(home: Home, source: WebFile, *, local_copy: Path | None = None, progress: Progress) -> Path:
    """Return the file: the user's own copy, or an earlier download, or downloaded now.

    `local_copy` is the file, or a folder with it. A file with the wrong hash is refused, but kept for inspection.
    """
    if local_copy is not None:
        name = PurePosixPath(source.file).name
        own = local_copy / name if local_copy.is_dir() else local_copy
        if not own.is_file():
            raise SourceError(f"{local_copy} holds no {name}; pass that file, or the folder it is in")
        return _check_file(own, source, "pass another copy, or leave it out to have it fetched")
    place = home.downloads / "web" / hashlib.sha256(source.url.encode()).hexdigest()[:24]
    kept = place / PurePosixPath(source.file).name
    with file_lock(place.with_name(f"{place.name}.lock")):
        place.mkdir(mode=0o700, exist_ok=True)
        if not kept.is_file():
            part = _Part(place / ".part", place / ".part.json")
            _download(source, part, progress)
            part.path.replace(kept)
            part.about.unlink(missing_ok=True)
            sync_folder(place)
        return _check_file(kept, source, "delete it to have it fetched again")


def place(fetched: Path, source: WebFile, folder: Path) -> None:
    """Put a fetched file where the task's `prepare.py` looks for it."""
    path = PurePosixPath(source.file)
    if path.is_absolute() or ".." in path.parts:
        raise SourceError(f"{source.url}: the name {source.file!r} would be written outside its folder")
    files.copy([(fetched, folder / path)])


def _check_file(path: Path, source: WebFile, advice: str) -> Path:
    other = f"{path} is not the file this task was made from"
    expected, found = source.size, path.stat().st_size
    if expected is not None and found != expected:
        raise SourceError(f"{other}: it has {found:,} bytes, not {expected:,}; {advice}")
    if source.sha256 is not None and (digest := hash_file(path)) != source.sha256:
        raise SourceError(f"{other}: its SHA-256 is {digest}, not {source.sha256}; {advice}")
    return path


@dataclass(frozen=True)
class _Part:
    """What has come of a file so far, and beside it which version of the file that is."""

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
        """Drop what has come, and note of which version the next bytes are."""
        self.path.unlink(missing_ok=True)
        write_json(self.about, {"format": "part/1", "version": version})


def _download(source: WebFile, part: _Part, progress: Progress) -> None:
    """Fetch the rest of a file, asking again after a break for as long as each answer brings something new."""
    with progress.stage(f"Fetching {PurePosixPath(source.file).name}", source.size) as advance:
        advance(part.size)
        while True:
            before = part.size
            if before and before == source.size:
                return  # all had come when we were stopped
            try:
                if _more(source, part, advance):
                    return
                broken = "it ended early"
            except urllib.error.HTTPError as error:
                if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not before:
                    raise SourceError(_refused(source, error)) from None
                part.begin(None)  # more has come than there is: it was another file
                continue
            except urllib.error.URLError as error:
                raise SourceError(f"{source.url} cannot be reached ({error.reason}); check the network") from None
            except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
                broken = str(error) or type(error).__name__
            except OSError as error:
                if error.errno not in DISK_IS_FULL:
                    raise SourceError(f"{source.url} cannot be fetched to {part.path.parent}: {error}") from None
                full = f"the disk of {part.path.parent} was full before all of {source.url} had come"
                raise SourceError(f"{full}; make room; {_KEPT}") from None
            if part.size <= before:
                raise SourceError(f"the connection broke while {source.url} was fetched ({broken}); {_KEPT}")


def _more(source: WebFile, part: _Part, advance: Advance) -> bool:
    """Ask once for what is missing and write it down; whether that was all."""
    have, version = part.size, part.version
    headers = {"User-Agent": "assay", "Accept-Encoding": "identity"}
    if have and (version or source.sha256):
        headers["Range"] = f"bytes={have}-"
        if version:
            headers["If-Range"] = version  # a file that has changed since comes whole
    with urllib.request.urlopen(urllib.request.Request(source.url, headers=headers), timeout=_PATIENCE) as answer:
        goes_on = answer.status == http.client.PARTIAL_CONTENT
        if goes_on and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.begin(None)
            raise http.client.HTTPException("the server sent another part than was asked for")
        if not goes_on:
            advance(-have)
            have = 0
            part.begin(_version(answer.headers))
        length = answer.headers.get("Content-Length")
        missing = int(length) if length and length.isdigit() else None
        if missing is not None:
            check_space(part.path.parent, missing, f"fetching {source.url} ({format_size(have + missing)})")
        came = _write_down(answer, part.path, advance)
    return missing is None or came == missing


def _write_down(answer: http.client.HTTPResponse, path: Path, advance: Advance) -> int:
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
    """What names the file's version so exactly that a later part may be asked for by it."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _refused(source: WebFile, error: urllib.error.HTTPError) -> str:
    match error.code:
        case 404 | 410:
            return f"there is no {source.url} any more ({error.code}); give your own copy with --raw"
        case 401 | 403:
            return f"{source.url} is not open to everybody ({error.code}); give your own copy with --raw"
        case 429:
            return f"the server wants fewer requests and did not give {source.url}; run again later"
        case code:
            return f"the server answered {code} when asked for {source.url}; run again later"
