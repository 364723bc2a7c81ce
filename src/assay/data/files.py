"""Copying files from raw to public: never linked, and in the order of their new names.

Links would leak labels: a linked file keeps its inode number and link count, and both follow the order of the raw data.
A copy that shares its blocks with the original (a reflink) has its own inode and is safe.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Collection, Iterable
from itertools import pairwise
from pathlib import Path

from assay.core.errors import SourceError
from assay.core.progress import stage

_SHARE_BLOCKS = 0x40049409  # ioctl FICLONE
_CANNOT_SHARE = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.EPERM}


def copy(pairs: Iterable[tuple[Path, Path]]) -> None:
    """Copy each source to its destination, in the order of the destinations' names, and create their folders."""
    ordered = sorted((os.fspath(destination), os.fspath(source)) for source, destination in pairs)
    _refuse_repeated([destination for destination, _ in ordered])
    folders: set[str] = set()
    sharing = True
    with stage("Copying files", len(ordered)) as advance:
        for destination, source in ordered:
            folder = os.path.dirname(destination)  # noqa: PTH120 - a path object for each of a million files is slow
            if folder not in folders:
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103
                folders.add(folder)
            sharing = sharing and _share_blocks(source, destination)
            if not sharing:
                shutil.copyfile(source, destination)
            advance(1)


def copy_tree(source: Path, destination: Path) -> None:
    """Copy everything below a folder, empty folders too, to the same path below another."""
    if not source.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source))
    paths = sorted(source.rglob("*"))
    for folder in [source, *(path for path in paths if path.is_dir())]:
        (destination / folder.relative_to(source)).mkdir(parents=True, exist_ok=True)
    copy((path, destination / path.relative_to(source)) for path in paths if path.is_file())


def copy_by_id(source: Path, destination: Path, ids: Iterable[object], suffix: str, *, levels: int = 0) -> None:
    """Copy the file `ID.suffix` of each id from one folder to another.

    With `levels`, both folders are nested so deep by the first characters of the id: with 2, `abc` is `a/b/abc.suffix`.
    """
    names = ("/".join([*str(id)[:levels], f"{id}{suffix}"]) for id in ids)
    copy((source / name, destination / name) for name in names)


def copy_folder_by_id(source: Path, destination: Path, ids: Iterable[object], *, without: Collection[str] = ()) -> None:
    """Copy the folder of each id, with everything in it and empty folders too, from one folder to another.

    An id may be a path, as in `case1/day2`. Folders whose path is in `without` are excluded.
    """
    pairs: list[tuple[Path, Path]] = []
    for name in sorted(map(str, ids)):
        if not (source / name).is_dir():
            raise FileNotFoundError(f"there is no folder {source / name}")
        (destination / name).mkdir(parents=True, exist_ok=True)
        for path in sorted((source / name).rglob("*")):
            relative = path.relative_to(source)
            if without and any(parent.as_posix() in without for parent in (relative, *relative.parents)):
                continue
            target = destination / relative
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                pairs.append((path, target))
    copy(pairs)


def check_complete(raw: Path, names: Iterable[str]) -> None:
    """Raise `SourceError` with the names of all files and folders that are missing from the raw data."""
    missing = [name for name in names if not (raw / name).exists()]
    if missing:
        reason = f"the raw data is missing {', '.join(missing)}"
        raise SourceError(f"{reason}; the competition's archive has all of it, so extract or download it again")


def list_files(folder: Path, suffix: str) -> list[Path]:
    """Return the files directly in a folder whose names have this suffix, sorted by name as text."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name.endswith(suffix) and entry.is_file())
    return [folder / name for name in names]


def _share_blocks(source: str, destination: str) -> bool:
    """Copy by sharing blocks if the file system can; if it cannot for one file, it cannot for the next."""
    with open(source, "rb", 0) as original, open(destination, "wb", 0) as copied:  # noqa: PTH123
        try:
            fcntl.ioctl(copied, _SHARE_BLOCKS, original.fileno())
        except OSError as error:
            if error.errno not in _CANNOT_SHARE:
                raise
            return False
    return True


def _refuse_repeated(names: list[str]) -> None:
    repeated = next((name for name, other in pairwise(names) if name == other), None)
    if repeated is not None:
        raise ValueError(f"two files would be written to {repeated}")
