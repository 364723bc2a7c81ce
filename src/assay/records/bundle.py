"""Exported runs: one zip file, unpacked as an untrusted file."""

import os
import re
import shutil
import zipfile
import zlib
from pathlib import Path

from assay.core.errors import RecordError, UsageError
from assay.core.quantities import format_size
from assay.core.text import quote
from assay.core.untrusted import MAX_CONTENT, MAX_JSON, MAX_LOG, is_plain_name, open_plain
from assay.records.run import RunFile, RunFolder
from assay.records.trial import parse_record

MAX_MEMBERS = 200_000
MAX_BYTES = 20 * 10**9
_MAX_RATIO, _ANY_RATIO = 200, 10**8
"""A bundle unpacks to at most this many times its size, in addition to bytes that any bundle may have."""
_FILES = ("run.json", "signature.json", "index.json")
_TRIAL_FILES = ("trial.json", "state.json", "events.jsonl", "grade.json")
_MAX_SIZES = {"events.jsonl": MAX_LOG, **dict.fromkeys((*_FILES, *_TRIAL_FILES[:2], "grade.json"), MAX_JSON)}
_MAX_DEPTH = 6
_OBJECT = re.compile(r"[0-9a-f]{64}(\.zlib)?")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what `assay export` writes
_DAMAGED = (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, zlib.error)


def unpack_bundle(
    path: Path, folder: Path, *, max_members: int = MAX_MEMBERS, free_space: int | None = None
) -> RunFolder:
    """Unpack a zip file of `assay export` into a new folder; `UsageError` if it is anything else.

    All members are examined before anything is written: their number, names and sizes, and that each is a file of the
    run or of a trial that the run lists. `free_space` is by default that of the disk.
    """
    free = shutil.disk_usage(folder.parent).free if free_space is None else free_space
    try:
        # A link to the file is the user's own; anything but a regular file could be read forever.
        with open_plain(path.resolve(), MAX_BYTES) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check(members, path, os.fstat(file.fileno()).st_size, max_members, free)
            _check_names(archive, members, path)
            for member in members:
                target = folder.joinpath(member.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("xb") as copy:
                    shutil.copyfileobj(source, copy)
    except _DAMAGED as error:
        raise UsageError(f"{path} is neither a run folder nor a zip file of assay export: {error}") from None
    return RunFolder(folder)


def _check(members: list[zipfile.ZipInfo], path: Path, packed: int, max_members: int, free: int) -> None:
    """Raise `UsageError` unless these are the members of an exported run: plain files with plain, different names."""
    names = {member.filename for member in members}
    if "run.json" not in names:
        raise UsageError(f"{path} is not an exported run: it has no run.json")
    size = sum(member.file_size for member in members)
    if len(members) > max_members or size > min(MAX_BYTES, _MAX_RATIO * packed + _ANY_RATIO):
        raise UsageError(f"{path} is too large for an exported run: {len(members):,} members, {format_size(size)}")
    if size > free:
        raise UsageError(f"{path} unpacks to {format_size(size)}, and the disk has only {format_size(free)} free")
    if len(names) < len(members):
        raise UsageError(f"{path} has a member twice, which no exported run has")
    folders = {
        "/".join(parts[:depth]) for name in names for parts in [name.split("/")] for depth in range(1, len(parts))
    }
    for member in members:
        parts = member.filename.split("/")
        if len(parts) > _MAX_DEPTH or not all(map(is_plain_name, parts)) or member.orig_filename != member.filename:
            raise UsageError(
                f"{path} has a member with the name {quote(member.filename, 200)}, which no exported run has"
            )
        if member.compress_type not in _METHODS or member.filename in folders:
            raise UsageError(f"{path} has a member {quote(member.filename, 200)} that no exported run has")


def _check_names(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], path: Path) -> None:
    """Raise `UsageError` unless every member is a file of the run, of a trial that it lists, or a grading report."""
    run = archive.getinfo("run.json")
    if run.file_size > MAX_JSON:
        raise UsageError(f"{path}: run.json has {run.file_size:,} bytes; at most {MAX_JSON:,} are read")
    try:
        trials = set(parse_record(archive.read(run), path / "run.json", RunFile).trials)
    except RecordError as error:
        raise UsageError(str(error)) from None
    for member in members:
        name = member.filename
        if not _is_known(name.split("/"), trials):
            raise UsageError(f"{path} has a member {quote(name, 200)} that no exported run has")
        if member.file_size > _MAX_SIZES.get(name.rpartition("/")[2], MAX_CONTENT):
            raise UsageError(f"{path}: {quote(name, 200)} has {member.file_size:,} bytes, which no exported run has")


def _is_known(parts: list[str], trials: set[str]) -> bool:
    match parts:
        case [name]:
            return name in _FILES
        case ["reports", _, _, _]:
            return True
        case ["trials", trial, name]:
            return trial in trials and name in _TRIAL_FILES
        case ["trials", trial, "submission", _] | ["trials", trial, "snapshots", "manifests", _]:
            return trial in trials
        case ["trials", trial, "snapshots", "objects", name]:
            return trial in trials and _OBJECT.fullmatch(name) is not None
    return False
