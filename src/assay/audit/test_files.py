"""The public files of the test side, with the rows they belong to, also those inside of archives."""

import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal

from assay.core.errors import AssayError
from assay.core.untrusted import list_plain_files
from assay.formats import seven_zip

Side = Literal["train", "test"]

MAX_FILES = 3000
MAX_BYTES = 5 * 10**6
"""How many files are looked at, and how much of each."""
_MAX_DEPTH = 2
_MAX_ARCHIVE = 200 * 10**6
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".7z")
_MAX_SEVEN_ZIP = 50 * 10**6
_BROKEN = (
    AssayError,
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True)
class PublicFile:
    """A file, or a member of an archive, whose path then begins with that of the archive."""

    name: str
    read: Callable[[], bytes]
    """Returns the first `MAX_BYTES` of the content."""

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    @property
    def side(self) -> Side | None:
        """The side of the split that the path names."""
        return find_side(self.name)


def find_side(path: str) -> Side | None:
    """Return the side of the split that a path names."""
    words = {*re.split(r"[^a-z]+", path.lower())}
    if "test" in words:
        return "test"
    return "train" if words & {"train", "training"} else None


def list_files(public: Path, limit: int = MAX_FILES) -> Iterator[PublicFile]:
    """Yield the public files and the members of archives, in the order of their paths, up to a number."""
    count = 0
    for path in list_plain_files(public):
        relative = path.relative_to(public).as_posix()
        for file in _with_members(PublicFile(relative, lambda path=path: _read(path)), path):  # type: ignore[misc]
            if count == limit:
                return
            count += 1
            yield file


def find_archives(public: Path) -> Iterator[tuple[str, bool]]:
    """Yield the path of each public archive, and whether there is a file in it."""
    for path in list_plain_files(public):
        name = path.relative_to(public).as_posix()
        if name.lower().endswith(_ARCHIVES):
            file = PublicFile(name, lambda path=path: _read(path))  # type: ignore[misc]
            yield name, next(_with_members(file, path), None) is not None


def match_rows(name: str, rows: Mapping[str, list[int]]) -> list[int]:
    """Return the rows that a file belongs to by its name: the id alone, with suffixes, or spread over folders."""
    parts = PurePosixPath(name).parts
    stem = parts[-1]
    candidates = [name, stem]
    while "." in stem:
        stem = stem.rpartition(".")[0]
        candidates.append(stem)
    candidates += [part for word in "_-" for part in (stem.partition(word)[0], stem.rpartition(word)[2])]
    for start in range(len(parts)):
        for stop in range(start + 1, min(len(parts), start + 4) + 1):
            candidates += [joint.join(parts[start:stop]) for joint in ("-", "_", "/")]
    return next((rows[candidate] for candidate in candidates if candidate in rows), [])


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES)


def _with_members(file: PublicFile, source: Path | bytes, depth: int = 0) -> Iterator[PublicFile]:
    """Yield a file, or if it is an archive, its members."""
    if not file.name.lower().endswith(_ARCHIVES) or depth == _MAX_DEPTH:
        yield file
        return
    size = source.stat().st_size if isinstance(source, Path) else len(source)
    is_seven_zip = file.name.lower().endswith(".7z")
    if size > (_MAX_SEVEN_ZIP if is_seven_zip else _MAX_ARCHIVE) or (is_seven_zip and isinstance(source, bytes)):
        yield file
        return
    opened = source if isinstance(source, Path) else io.BytesIO(source)
    try:
        if is_seven_zip and isinstance(source, Path):
            members = _seven_zip_members(source)
        else:
            members = _zip_members(opened) if file.name.lower().endswith(".zip") else _tar_members(opened)
        for name, content in members:
            member = PublicFile(f"{file.name}/{name}", lambda content=content: content)  # type: ignore[misc]
            yield from _with_members(member, content, depth + 1)
    except _BROKEN:
        yield file


def _zip_members(source: Path | io.BytesIO) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist()[:MAX_FILES]:
            if not info.is_dir():
                with archive.open(info) as member:
                    yield info.filename, member.read(MAX_BYTES)


def _seven_zip_members(archive: Path) -> Iterator[tuple[str, bytes]]:
    with TemporaryDirectory() as folder:
        seven_zip.extract(archive, Path(folder))
        for path in sorted(Path(folder).rglob("*"))[:MAX_FILES]:
            if path.is_file():
                yield path.relative_to(folder).as_posix(), _read(path)


def _tar_members(source: Path | io.BytesIO) -> Iterator[tuple[str, bytes]]:
    options = {"name": source} if isinstance(source, Path) else {"fileobj": source}
    with tarfile.open(mode="r:*", **options) as archive:
        for count, info in enumerate(archive):
            if count == MAX_FILES:
                return
            member = archive.extractfile(info) if info.isfile() else None
            if member is not None:
                yield info.name, member.read(MAX_BYTES)
