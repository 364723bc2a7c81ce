"""Competition data: downloaded once with Kaggle's own client, checked against the published MD5, extracted."""

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from assay.core.disk import file_lock, sync_folder, write_json
from assay.core.disk_space import DISK_IS_FULL, check_space
from assay.core.errors import MissingDependency, SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import ByteCount, Progress
from assay.core.quantities import format_size
from assay.data.proof import refuse_unproven
from assay.data.raw_data import Origin, RawData, refuse_links_within
from assay.data.untrusted_zip import extract
from assay.tasks import Kaggle

_FORMAT = "raw/1"
_CLIENT = Path(__file__).with_name("kaggle_client.py")
_BLOCK = 2**20


def fetch(home: Home, source: Kaggle, *, user_copy: Path | None, unverified: bool, progress: Progress) -> RawData:
    """Return a competition's raw data: extracted earlier, or from the archive kept here, or from Kaggle.

    `user_copy` is what the user has: the archive, a folder with the archive, or an extracted folder, which is used in
    place. `unverified` accepts an archive whose checksum is not the published one.
    """
    own = _archive_in(user_copy, source.competition) if user_copy is not None else None
    if user_copy is not None and own is None:
        refuse_links_within(user_copy)
        return RawData(user_copy.absolute(), Origin(kind="user", verified=False))
    downloads = home.downloads / "kaggle" / source.competition
    with file_lock(downloads.with_name(f"{source.competition}.lock")):
        downloads.mkdir(mode=0o700, exist_ok=True)
        if own is None:
            md5 = _extracted_md5(downloads / "raw")
            if md5 is not None and (unverified or source.md5 in (md5, None)):
                return RawData(downloads / "raw", Origin(kind="kaggle", verified=md5 == source.md5, md5=md5))
        archive = own or downloads / f"{source.competition}.zip"
        if not archive.is_file():
            _download(source.competition, archive, progress)
        md5 = _md5_of(archive, progress)
        if not unverified and source.md5 not in (md5, None):
            refuse_unproven(_differs(archive, md5, source.md5, own=own is not None))
        # A user's archive must not replace what others may be reading, unless it is the same.
        folder = downloads / ("raw" if own is None or md5 == source.md5 else f"raw-{md5}")
        if _extracted_md5(folder) != md5:
            _extract_again(archive, folder, md5, verified=md5 == source.md5, progress=progress)
    kind: Literal["user", "kaggle"] = "kaggle" if own is None else "user"
    return RawData(folder, Origin(kind=kind, verified=md5 == source.md5, md5=md5))


def _archive_in(user_copy: Path, competition: str) -> Path | None:
    """The archive that a user means, or None where it is an extracted folder."""
    if user_copy.is_file():
        return user_copy
    if not user_copy.is_dir() or not any(user_copy.iterdir()):
        raise UsageError(
            f"{user_copy} contains no data; pass {competition}.zip, a folder with it, or an extracted folder"
        )
    inside = user_copy / f"{competition}.zip"
    return inside if inside.is_file() else None


def _differs(archive: Path, md5: str, published: str | None, *, own: bool) -> str:
    again = "" if own else "; if it may be damaged, delete it to download it again"
    made_from = f"{archive} is not the archive that the published benchmark was made from"
    return f"{made_from}: its MD5 is {md5}, not {published}{again}"


def _md5_of(archive: Path, progress: Progress) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with (
        archive.open("rb") as file,
        progress.stage(f"Checking {archive.name}", ByteCount(archive.stat().st_size)) as advance,
    ):
        while block := file.read(_BLOCK):
            digest.update(block)
            advance(len(block))
    return digest.hexdigest()


def _extract_again(archive: Path, folder: Path, md5: str, *, verified: bool, progress: Progress) -> None:
    """Extract, and write the marker last: a folder without a marker is what an interrupted extraction left."""
    marker = _marker(folder)
    if marker.exists() and folder.is_dir():
        shutil.rmtree(folder)
    marker.unlink(missing_ok=True)
    for partial in marker.parent.glob(f".{marker.name}.*"):
        partial.unlink()
    extract(archive, folder, progress=progress, resume=True)
    os.sync()  # One call is faster than one for each of thousands of files.
    write_json(marker, {"format": _FORMAT, "md5": md5, "verified": verified})


def _extracted_md5(folder: Path) -> str | None:
    """Return the MD5 of the archive that a folder was extracted from, if it was extracted completely."""
    try:
        content = json.loads(_marker(folder).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    whole = folder.is_dir() and isinstance(content, dict) and content.get("format") == _FORMAT
    return str(content["md5"]) if whole else None


def _marker(folder: Path) -> Path:
    # Next to the folder, not in it: a task's `prepare.py` sees exactly the contents of the archive.
    return folder.with_name(f"{folder.name}.json")


class _Status(BaseModel):
    """A line that the download process writes; see `kaggle_client.py`."""

    part: str = ""
    size: int | None = None
    have: int = 0
    done: bool = False
    error: str = ""
    status: int = 0
    errno: int | None = None
    wait: str = ""
    message: str = ""


def _download(competition: str, archive: Path, progress: Progress) -> None:
    """Download an archive; it gets its name when it is complete, and a partial download is kept until then."""
    if any(importlib.util.find_spec(module) is None for module in ("kaggle", "six")):
        raise MissingDependency(f"Downloading {competition}", "kaggle")
    with _client(competition, archive.parent) as process:
        assert process.stdin and process.stdout
        first = _next(process, competition, archive)
        if first.size is not None:
            missing = first.size - first.have
            check_space(archive.parent, missing + first.size, f"downloading and extracting {archive.name}")
        amount = f" ({format_size(first.size)})" if first.size is not None else ""
        size = None if first.size is None else ByteCount(first.size)
        with progress.stage(f"Downloading {archive.name}{amount}", size) as advance:
            with suppress(BrokenPipeError):  # it has exited, and its last line says why
                process.stdin.write("go\n")
                process.stdin.flush()
            advance(have := first.have)
            while not (status := _next(process, competition, archive)).done:
                advance(status.have - have)
                have = status.have
    (archive.parent / first.part).replace(archive)
    sync_folder(archive.parent)
    for stale in archive.parent.glob(f".{archive.name}.*"):
        stale.unlink()  # partial downloads of earlier versions


@contextmanager
def _client(competition: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run the download process, which does not outlive this one."""
    # Without -P its own folder would be searched first, where `kaggle` is this module. In verbose mode the client
    # prints credentials.
    command = [sys.executable, "-P", str(_CLIENT), competition, str(folder)]
    quiet = os.environ | {"VERBOSE": "", "VERBOSE_OUTPUT": ""}
    process = subprocess.Popen(
        command, env=quiet, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _next(process: "subprocess.Popen[str]", competition: str, archive: Path) -> _Status:
    """Return the process's next status; raise if it failed."""
    assert process.stdout
    line = process.stdout.readline()
    try:
        status = _Status.model_validate_json(line)
    except ValidationError:
        status = _Status(error="ended", status=process.wait())
    if status.error:
        raise SourceError(_explain(competition, archive, status))
    return status


def _explain(competition: str, archive: Path, failed: _Status) -> str:
    """Return what is wrong and what to do about it."""
    message = f" (Kaggle says: {failed.message})" if failed.error == "status" and failed.message else ""
    kept = "the partial download is kept; run again to resume it"
    token = (
        "create a token at https://www.kaggle.com/settings (section API) and save it as ~/.kaggle/access_token, or set "
        "KAGGLE_API_TOKEN; KAGGLE_USERNAME with KAGGLE_KEY, and ~/.kaggle/kaggle.json, work too"
    )
    match failed:
        case _Status(error="credentials"):
            return f"{competition} is on Kaggle, and no valid Kaggle credentials were found; {token}"
        case _Status(error="status", status=401):
            return f"Kaggle does not accept your credentials{message}; {token}"
        case _Status(error="status", status=403):
            return (
                f"Kaggle refuses access to {competition}{message}; accept its rules with the account of your token at "
                f"https://www.kaggle.com/c/{competition}/rules and run again (Kaggle may require a phone number)"
            )
        case _Status(error="status", status=404):
            return f"Kaggle has no competition {competition}, or no files of it{message}"
        case _Status(error="status", status=429):
            when = f"in {failed.wait} seconds" if failed.wait.isdigit() else "later"
            return f"Kaggle's rate limit was exceeded for {competition}{message}; run again {when}"
        case _Status(error="status"):
            return f"Kaggle returned {failed.status} for {competition}{message}; run again later"
        case _Status(error="network"):
            return f"Kaggle cannot be reached to download {competition} ({failed.message}); check the network"
        case _Status(error="broken"):
            return f"the connection broke while downloading {competition} ({failed.message}); {kept}"
        case _Status(error="disk") if failed.errno in DISK_IS_FULL:
            return f"the disk of {archive.parent} is full while downloading {archive.name}; free some space; {kept}"
        case _Status(error="disk"):
            return f"{archive.name} cannot be downloaded to {archive.parent}: {failed.message}"
        case _Status(error="ended", status=status) if status == -signal.SIGALRM:
            return f"Kaggle did not respond for {competition}; run again later"
        case _:
            how = failed.message or f"code {failed.status}"
            return (
                f"Kaggle's client failed ({how}) while downloading {competition}; {kept}. "
                f"To see the client's own messages, run: kaggle competitions files {competition}"
            )
