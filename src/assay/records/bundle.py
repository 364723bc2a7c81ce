"""Exported runs: one zip file, unpacked as an untrusted file."""

import shutil
import zipfile
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.untrusted import is_plain_name
from assay.records.run import RunFolder

MAX_MEMBERS = 200_000
MAX_BYTES = 20 * 10**9
_MAX_DEPTH = 6


def unpack_bundle(path: Path, folder: Path) -> RunFolder:
    """Unpack a zip file of `assay export` into a new folder; `UsageError` if it is anything else."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if "run.json" not in archive.namelist():
                raise UsageError(f"{path} is not an exported run: it has no run.json")
            if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_BYTES:
                raise UsageError(f"{path} is too large for an exported run")
            for member in members:
                _unpack(archive, member, path, folder)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        raise UsageError(f"{path} is neither a run folder nor a zip file of assay export: {error}") from None
    return RunFolder(folder)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, folder: Path) -> None:
    """Write one member, whose name must be plain and whose content must have the size it claims."""
    parts = member.filename.split("/")
    if len(parts) > _MAX_DEPTH or not all(map(is_plain_name, parts)):
        raise UsageError(f"{path} has a member with the name {member.filename!r}, which no exported run has")
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("xb") as file:
        shutil.copyfileobj(source, file)
