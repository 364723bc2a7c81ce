"""Exported runs: one zip file, unpacked as an untrusted file."""

import shutil
import zipfile
import zlib
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.quantities import format_size
from assay.core.text import quote
from assay.core.untrusted import is_plain_name, open_plain
from assay.records.run import RunFolder

MAX_MEMBERS = 200_000
MAX_BYTES = 20 * 10**9
_MAX_DEPTH = 6
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what `assay export` writes
_DAMAGED = (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, zlib.error)


def unpack_bundle(
    path: Path, folder: Path, *, max_members: int = MAX_MEMBERS, free_space: int | None = None
) -> RunFolder:
    """Unpack a zip file of `assay export` into a new folder; `UsageError` if it is anything else.

    All members are examined before anything is written. `free_space` is by default that of the disk.
    """
    free = shutil.disk_usage(folder.parent).free if free_space is None else free_space
    try:
        # A link to the file is the user's own; anything but a regular file could be read forever.
        with open_plain(path.resolve(), MAX_BYTES) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check(members, path, max_members, free)
            for member in members:
                target = folder.joinpath(member.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("xb") as copy:
                    shutil.copyfileobj(source, copy)
    except _DAMAGED as error:
        raise UsageError(f"{path} is neither a run folder nor a zip file of assay export: {error}") from None
    return RunFolder(folder)


def _check(members: list[zipfile.ZipInfo], path: Path, max_members: int, free: int) -> None:
    """Raise `UsageError` unless these are the members of an exported run: plain files with plain, different names."""
    names = {member.filename for member in members}
    if "run.json" not in names:
        raise UsageError(f"{path} is not an exported run: it has no run.json")
    size = sum(member.file_size for member in members)
    if len(members) > max_members or size > MAX_BYTES:
        raise UsageError(f"{path} is too large for an exported run")
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
