"""What becomes of the files that `prepare.py` wrote: public ones are laid open, private ones are closed.

The file system must tell nothing about labels. Every public file bears one time, has one name, and was created in the
order of names: what was written in another order is copied once more in that order.
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

from assay.core.errors import AssayError
from assay.core.progress import stage
from assay.core.quantities import Model

_WRITTEN = 946_684_800  # 2000-01-01
_A_HANDFUL = (
    8  # so few files of a kind (train.csv, test.csv, …) have names of their own and an order that tells nothing
)
_LISTED_ONE_BY_ONE = 100
_READ_WHOLE = 2**22
_BUNDLE = 64


class File(Model):
    """What a prepared file must be; for a folder of many files, what they must be together."""

    sha256: str
    size: int
    files: int | None = None

    @model_serializer
    def _short(self) -> dict[str, str | int]:
        whole: dict[str, str | int] = {"sha256": self.sha256, "size": self.size}
        return whole if self.files is None else {**whole, "files": self.files}


def publish(written: Path, public: Path) -> dict[str, File]:
    """Move what was written for all to see into the new folder `public`, and list it."""
    public.mkdir(mode=0o755)
    folders = _plain_folders(written)
    with stage("Laying out public files", sum(map(len, folders.values()))) as advance:
        for folder, names in folders.items():
            target = public / folder.relative_to(written)
            target.mkdir(mode=0o755, exist_ok=True)
            move = os.rename if _created_in_order(folder, names) and _same_disk(folder, target) else shutil.copyfile
            for name in names:
                placed = f"{target}/{name}"
                move(f"{folder}/{name}", placed)
                os.chmod(placed, 0o644)  # noqa: PTH101 - a path object for each of a million files is slow
                os.utime(placed, (_WRITTEN, _WRITTEN))
                advance(1)
    for folder in reversed(folders):
        target = public / folder.relative_to(written)
        target.chmod(0o755)
        os.utime(target, (_WRITTEN, _WRITTEN))
    return listing(public)


def seal(folder: Path) -> dict[str, File]:
    """Close files to everybody but their owner, whatever the umask, and list them."""
    for inside, names in _plain_folders(folder).items():
        inside.chmod(0o700)
        for name in names:
            (inside / name).chmod(0o600)
    return listing(folder)


def listing(folder: Path) -> dict[str, File]:
    """What a folder holds: each file, or each folder with many files as a whole, under its path with `/` at the end."""
    found: dict[str, File] = {}
    folders = _plain_folders(folder)
    with stage("Listing files", sum(map(len, folders.values()))) as advance, ThreadPoolExecutor() as pool:
        for inside, names in folders.items():
            place = "" if inside == folder else f"{inside.relative_to(folder).as_posix()}/"
            bundles = [names[start : start + _BUNDLE] for start in range(0, len(names), _BUNDLE)]
            facts = chain.from_iterable(pool.map(partial(_facts, str(inside)), bundles))
            files = {f"{place}{name}": file for name, file in zip(names, facts, strict=True)}
            found |= files if len(files) <= _LISTED_ONE_BY_ONE else {place: _together(files)}
            advance(len(files))
    return found


def _together(files: dict[str, File]) -> File:
    lines = "".join(f"{file.sha256} {file.size} {name}\n" for name, file in files.items())
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return File(sha256=digest, size=sum(file.size for file in files.values()), files=len(files))


def _facts(folder: str, names: Iterable[str]) -> list[File]:
    return [_fact(f"{folder}/{name}") for name in names]


def _fact(path: str) -> File:
    with open(path, "rb", 0) as file:  # noqa: PTH123
        size = os.fstat(file.fileno()).st_size
        if size > _READ_WHOLE:
            return File(sha256=hashlib.file_digest(file, "sha256").hexdigest(), size=size)
        return File.model_construct(sha256=hashlib.sha256(file.read()).hexdigest(), size=size)


def _plain_folders(folder: Path) -> dict[Path, list[str]]:
    """Every folder from the top down with the sorted names of its files; links and devices are refused."""
    found: dict[Path, list[str]] = {}
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    odd = next((one for one in inside if one.is_symlink() or not (one.is_file() or one.is_dir())), None)
    if odd is not None:
        raise AssayError(f"prepare.py made {odd.name}, which is not a plain file; copy, do not link")
    found[folder] = [one.name for one in inside if one.is_file()]
    for one in inside:
        if one.is_dir():
            found |= _plain_folders(Path(one.path))
    return found


def _created_in_order(folder: Path, names: Iterable[str]) -> bool:
    """Whether files were created in the order of their names, and none has a second one.

    Inode numbers say so where they rise with the names. Where the disk has gaps to fill they may not, and then the
    times of writing say so as well. For a handful of a kind any order will do.
    """
    kinds: dict[str, list[os.stat_result]] = defaultdict(list)
    for name in names:
        facts = os.stat(f"{folder}/{name}", follow_symlinks=False)  # noqa: PTH116
        if facts.st_nlink > 1:
            return False
        kinds[os.path.splitext(name)[1]].append(facts)  # noqa: PTH122
    many = [files for files in kinds.values() if len(files) > _A_HANDFUL]
    return all(_rising([file.st_ino for file in files]) for files in many) or all(
        _rising([file.st_mtime_ns for file in files]) for files in many
    )


def _rising(numbers: list[int]) -> bool:
    return all(one <= other for one, other in pairwise(numbers))


def _same_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
