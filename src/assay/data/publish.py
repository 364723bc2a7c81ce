"""Publishing what `prepare.py` wrote: public files become readable for everyone, private ones for their owner only.

The file system must not leak labels. Every public file has the same time and a single name, and was created in the
order of names; files written in another order are copied once more in that order.
"""

import hashlib
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

from pydantic import model_serializer

from assay.core.disk_space import check_space
from assay.core.errors import AssayError
from assay.core.progress import stage
from assay.core.quantities import Model

_TIME = 946_684_800  # 2000-01-01
# With so few files of a type (train.csv, test.csv, …) the order of creation reveals nothing.
_MAX_UNORDERED = 8
_MAX_LISTED = 100
_MAX_READ_WHOLE = 2**22
_BATCH = 64


class File(Model):
    """Hash and size of a prepared file, or of a folder of many files as a whole."""

    sha256: str
    size: int
    files: int | None = None

    @model_serializer
    def _short(self) -> dict[str, str | int]:
        whole: dict[str, str | int] = {"sha256": self.sha256, "size": self.size}
        return whole if self.files is None else {**whole, "files": self.files}


def publish(written: Path, public: Path) -> dict[str, File]:
    """Move the written files into the new folder `public`, and return its listing."""
    public.mkdir(mode=0o755)
    folders = _list_folders(written)
    copied = {
        folder for folder, names in folders.items() if not (_is_ordered(folder, names) and _same_disk(folder, public))
    }
    sizes = (os.stat(f"{folder}/{name}").st_size for folder in copied for name in folders[folder])  # noqa: PTH116
    check_space(public, sum(sizes), "copying the public files in the order of their names")
    with stage("Publishing files", sum(map(len, folders.values()))) as advance:
        for folder, names in folders.items():
            target = public / folder.relative_to(written)
            target.mkdir(mode=0o755, exist_ok=True)
            move = shutil.copyfile if folder in copied else os.rename
            for name in names:
                placed = f"{target}/{name}"
                move(f"{folder}/{name}", placed)
                os.chmod(placed, 0o644)  # noqa: PTH101 - a path object for each of a million files is slow
                os.utime(placed, (_TIME, _TIME))
                advance(1)
    for folder in reversed(folders):
        target = public / folder.relative_to(written)
        target.chmod(0o755)
        os.utime(target, (_TIME, _TIME))
    return listing(public)


def seal(folder: Path) -> dict[str, File]:
    """Make files readable for their owner only, whatever the umask, and return their listing."""
    for inside, names in _list_folders(folder).items():
        inside.chmod(0o700)
        for name in names:
            (inside / name).chmod(0o600)
    return listing(folder)


def listing(folder: Path) -> dict[str, File]:
    """Return what a folder holds: each file by its path, or a folder with many files as a whole by its path and `/`."""
    listed: dict[str, File] = {}
    folders = _list_folders(folder)
    with stage("Listing files", sum(map(len, folders.values()))) as advance, ThreadPoolExecutor() as pool:
        for inside, names in folders.items():
            prefix = "" if inside == folder else f"{inside.relative_to(folder).as_posix()}/"
            batches = [names[start : start + _BATCH] for start in range(0, len(names), _BATCH)]
            facts = chain.from_iterable(pool.map(partial(_hash_files, str(inside)), batches))
            files = {f"{prefix}{name}": file for name, file in zip(names, facts, strict=True)}
            listed |= files if len(files) <= _MAX_LISTED else {prefix: _summarize(files)}
            advance(len(files))
    return listed


def _summarize(files: dict[str, File]) -> File:
    lines = "".join(f"{file.sha256} {file.size} {name}\n" for name, file in files.items())
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return File(sha256=digest, size=sum(file.size for file in files.values()), files=len(files))


def _hash_files(folder: str, names: Iterable[str]) -> list[File]:
    return [_hash_file(f"{folder}/{name}") for name in names]


def _hash_file(path: str) -> File:
    with open(path, "rb", 0) as file:  # noqa: PTH123
        size = os.fstat(file.fileno()).st_size
        if size > _MAX_READ_WHOLE:
            return File(sha256=hashlib.file_digest(file, "sha256").hexdigest(), size=size)
        return File.model_construct(sha256=hashlib.sha256(file.read()).hexdigest(), size=size)


def _list_folders(folder: Path) -> dict[Path, list[str]]:
    """Return every folder from the top down with the sorted names of its files; links and devices are refused."""
    names: dict[Path, list[str]] = {}
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    odd = next((entry for entry in inside if entry.is_symlink() or not (entry.is_file() or entry.is_dir())), None)
    if odd is not None:
        raise AssayError(f"prepare.py made {odd.name}, which is not a plain file; copy files instead of linking them")
    names[folder] = [entry.name for entry in inside if entry.is_file()]
    for entry in inside:
        if entry.is_dir():
            names |= _list_folders(Path(entry.path))
    return names


def _is_ordered(folder: Path, names: Iterable[str]) -> bool:
    """Whether files were created in the order of their names, and none has a second name.

    Inode numbers that rise with the names prove it. On a disk with gaps they may not rise; then the modification times
    prove it. With only a few files of a type any order is fine.
    """
    kinds: dict[str, list[os.stat_result]] = defaultdict(list)
    for name in names:
        facts = os.stat(f"{folder}/{name}", follow_symlinks=False)  # noqa: PTH116
        if facts.st_nlink > 1:
            return False
        kinds[os.path.splitext(name)[1]].append(facts)  # noqa: PTH122
    many = [files for files in kinds.values() if len(files) > _MAX_UNORDERED]
    return all(_is_rising([file.st_ino for file in files]) for files in many) or all(
        _is_rising([file.st_mtime_ns for file in files]) for files in many
    )


def _is_rising(numbers: list[int]) -> bool:
    return all(number <= other for number, other in pairwise(numbers))


def _same_disk(path: Path, other: Path) -> bool:
    return path.stat().st_dev == other.stat().st_dev
