"""Competitions' data: fetched once with Kaggle's own client, checked against the published sum, extracted."""

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
from assay.core.errors import SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.core.quantities import format_size
from assay.data.disk_space import DISK_IS_FULL, check_space
from assay.data.raw_data import Origin, RawData
from assay.data.untrusted_zip import extract
from assay.tasks import Kaggle

_FORMAT = "raw/1"
_CLIENT = Path(__file__).with_name("kaggle_client.py")
_BLOCK = 2**20


def fetch(home: Home, source: Kaggle, *, local_copy: Path | None, unverified: bool, progress: Progress) -> RawData:
    """Return a competition's raw data: extracted earlier, or from the archive kept here, or from Kaggle.

    `local_copy` is what the user has: the archive, a folder with the archive, or an extracted folder, which is used in
    place. `unverified` accepts an archive whose checksum is not the published one.
    """
    own = _archive_in(local_copy, source.competition) if local_copy is not None else None
    if local_copy is not None and own is None:
        return RawData(local_copy.absolute(), Origin(kind="local", verified=False))
    place = home.downloads / "kaggle" / source.competition
    with file_lock(place.with_name(f"{source.competition}.lock")):
        place.mkdir(mode=0o700, exist_ok=True)
        if own is None:
            md5 = _extracted_md5(place / "raw")
            if md5 is not None and (unverified or source.md5 in (md5, None)):
                return RawData(place / "raw", Origin(kind="kaggle", verified=md5 == source.md5, md5=md5))
        archive = own or place / f"{source.competition}.zip"
        if not archive.is_file():
            _download(source.competition, archive, progress)
        md5 = _md5_of(archive, progress)
        if not unverified and source.md5 not in (md5, None):
            raise SourceError(_differs(archive, md5, source.md5, local=own is not None))
        # A user's archive must not replace what others may be reading, unless it is the same.
        folder = place / ("raw" if own is None or md5 == source.md5 else f"raw-{md5}")
        if _extracted_md5(folder) != md5:
            _extract_again(archive, folder, md5, verified=md5 == source.md5, progress=progress)
    kind: Literal["local", "kaggle"] = "kaggle" if own is None else "local"
    return RawData(folder, Origin(kind=kind, verified=md5 == source.md5, md5=md5))


def _archive_in(local_copy: Path, competition: str) -> Path | None:
    """The archive that a user means, or None where it is an extracted folder."""
    if local_copy.is_file():
        return local_copy
    if not local_copy.is_dir() or not any(local_copy.iterdir()):
        raise UsageError(
            f"{local_copy} holds no data; pass {competition}.zip, a folder with it, or an extracted folder"
        )
    inside = local_copy / f"{competition}.zip"
    return inside if inside.is_file() else None


def _differs(archive: Path, md5: str, published: str | None, *, local: bool) -> str:
    again = "" if local else "; if it may be damaged, delete it to have it downloaded again"
    return (
        f"{archive} is not the archive that the published benchmark was made from: its MD5 is {md5}, not {published}"
        f"{again}; --unverified accepts it as it is and marks all results"
    )


def _md5_of(archive: Path, progress: Progress) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with archive.open("rb") as file, progress.stage(f"Checking {archive.name}", archive.stat().st_size) as advance:
        while block := file.read(_BLOCK):
            digest.update(block)
            advance(len(block))
    return digest.hexdigest()


def _extract_again(archive: Path, folder: Path, md5: str, *, verified: bool, progress: Progress) -> None:
    """Extract, and write the marker last: without it the folder counts as never begun."""
    marker = _marker(folder)
    marker.unlink(missing_ok=True)
    for torn in marker.parent.glob(f".{marker.name}.*"):
        torn.unlink()
    if folder.is_dir():
        shutil.rmtree(folder)
    extract(archive, folder, progress=progress)
    os.sync()  # One call is quicker than one for each of thousands of files.
    write_json(marker, {"format": _FORMAT, "md5": md5, "verified": verified})


def _extracted_md5(folder: Path) -> str | None:
    """The sum of the archive that a folder was extracted from, if it was extracted whole."""
    try:
        content = json.loads(_marker(folder).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    whole = folder.is_dir() and isinstance(content, dict) and content.get("format") == _FORMAT
    return str(content["md5"]) if whole else None


def _marker(folder: Path) -> Path:
    # Beside the folder, not in it: a task's `prepare.py` sees exactly what the archive held.
    return folder.with_name(f"{folder.name}.json")


class _Told(BaseModel):
    """A line that the fetching program writes; see `kaggle_client.py`."""

    part: str = ""
    size: int | None = None
    have: int = 0
    done: bool = False
    error: str = ""
    status: int = 0
    errno: int | None = None
    wait: str = ""
    said: str = ""


def _download(competition: str, archive: Path, progress: Progress) -> None:
    """Fetch an archive; its name appears when it is whole, and what has come of it stays until then."""
    if any(importlib.util.find_spec(module) is None for module in ("kaggle", "six")):
        raise SourceError(f"{competition} is fetched with Kaggle's client; run: pip install 'assay[kaggle]'")
    with _client(competition, archive.parent) as process:
        assert process.stdin and process.stdout
        first = _next(process, competition, archive)
        if first.size is not None:
            missing = first.size - first.have
            check_space(archive.parent, missing + first.size, f"fetching and extracting {archive.name}")
        amount = f" ({format_size(first.size)})" if first.size is not None else ""
        with progress.stage(f"Downloading {archive.name}{amount}", first.size) as advance:
            with suppress(BrokenPipeError):  # it has ended, and what it told last says why
                process.stdin.write("go\n")
                process.stdin.flush()
            advance(have := first.have)
            while not (told := _next(process, competition, archive)).done:
                advance(told.have - have)
                have = told.have
    (archive.parent / first.part).replace(archive)
    sync_folder(archive.parent)
    for stale in archive.parent.glob(f".{archive.name}.*"):
        stale.unlink()  # parts of what Kaggle had before


@contextmanager
def _client(competition: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """The fetching program, which does not outlive us."""
    # Without -P its own folder would be searched first, where `kaggle` is this module. Told to be verbose, the client
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


def _next(process: "subprocess.Popen[str]", competition: str, archive: Path) -> _Told:
    """What the program tells next; raises if that is the end of it."""
    assert process.stdout
    line = process.stdout.readline()
    try:
        told = _Told.model_validate_json(line)
    except ValidationError:
        told = _Told(error="ended", status=process.wait())
    if told.error:
        raise SourceError(_why(competition, archive, told))
    return told


def _why(competition: str, archive: Path, told: _Told) -> str:
    """One sentence on what is wrong, and one on what to do."""
    said = f" (Kaggle says: {told.said})" if told.error == "status" and told.said else ""
    kept = "what has come is kept, and running again goes on from there"
    token = (
        "make a token at https://www.kaggle.com/settings (section API) and save it as ~/.kaggle/access_token, or set "
        "KAGGLE_API_TOKEN; KAGGLE_USERNAME with KAGGLE_KEY, and ~/.kaggle/kaggle.json, work too"
    )
    match told:
        case _Told(error="credentials"):
            return f"{competition} comes from Kaggle, and no valid credentials for it were found; {token}"
        case _Told(error="status", status=401):
            return f"Kaggle does not accept your credentials{said}; {token}"
        case _Told(error="status", status=403):
            return (
                f"Kaggle does not let you have {competition}{said}; accept its rules with the account of your token at "
                f"https://www.kaggle.com/c/{competition}/rules and run again (Kaggle may first want a phone number)"
            )
        case _Told(error="status", status=404):
            return f"Kaggle has no competition {competition}, or no files of it{said}"
        case _Told(error="status", status=429):
            when = f"in {told.wait} seconds" if told.wait.isdigit() else "later"
            return f"Kaggle wants fewer requests and did not give {competition}{said}; run again {when}"
        case _Told(error="status"):
            return f"Kaggle answered {told.status} when asked for {competition}{said}; run again later"
        case _Told(error="network"):
            return f"{competition} cannot be fetched because Kaggle cannot be reached ({told.said}); check the network"
        case _Told(error="broken"):
            return f"the connection broke while {competition} was fetched ({told.said}); {kept}"
        case _Told(error="disk") if told.errno in DISK_IS_FULL:
            return f"the disk of {archive.parent} was full before all of {archive.name} had come; make room; {kept}"
        case _Told(error="disk"):
            return f"{archive.name} cannot be fetched to {archive.parent}: {told.said}"
        case _Told(error="ended", status=status) if status == -signal.SIGALRM:
            return f"Kaggle did not answer when asked for {competition}; run again later"
        case _:
            how = told.said or f"code {told.status}"
            return (
                f"Kaggle's client failed ({how}) while {competition} was fetched; {kept}. "
                f"To see what the client says, run: kaggle competitions files {competition}"
            )
