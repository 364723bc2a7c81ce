"""Zip files in raw and public data: read in place, unpacked and packed in parallel, streamed where large."""

import lzma
import os
import struct
import tempfile
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, TypeVar

from assay.core.disk_space import check_space
from assay.core.errors import SourceError
from assay.core.garbage import pause_garbage_collection
from assay.core.progress import stage
from assay.formats.zip_writer import DEFLATED, STORED, Packed, ZipWriter

Item = TypeVar("Item")
T = TypeVar("T")

_COMPRESSED_ALREADY = (".7z", ".aif", ".gif", ".gz", ".jpeg", ".jpg", ".mp3", ".mp4", ".png", ".tfrec", ".zip")
_LARGE = 32 * 2**20
_CHUNK = 2**20
_ENCRYPTED = 0x1  # bit 0 of a member's flags
_WORKERS = max(2, os.cpu_count() or 1)


def list_names(archive: Path, *, below: str = "", suffix: str = "") -> list[str]:
    """Return the files in an archive, optionally only those below a folder or with a suffix, sorted as text."""
    with _open(archive) as content:
        names = {info.filename for info in content.infolist() if not info.is_dir()}
        outside = next((name for name in names if name.startswith("/") or ".." in name.split("/")), None)
        if outside is not None:
            raise SourceError(f"{archive.name} holds {outside!r}, which would be written outside its folder")
        return sorted(name for name in names if name.startswith(below) and name.endswith(suffix))


def list_folder(archive: Path, folder: str, suffix: str = "") -> list[str]:
    """Return the names of the files directly in a folder of an archive, sorted as text."""
    inside = (name.removeprefix(f"{folder}/") for name in list_names(archive, below=f"{folder}/", suffix=suffix))
    return [name for name in inside if "/" not in name]


@contextmanager
def open_member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a file in an archive for reading from start to end."""
    with _open(archive) as content, content.open(_member(content, archive, name)) as file:
        yield file


def extract(archive: Path, members: Iterable[tuple[str, Path]]) -> None:
    """Write each named member to its destination, in the order of the destinations' names, and create their folders."""
    ordered = sorted(((os.fspath(path), name) for name, path in members), key=lambda pair: pair[0])
    for folder in sorted({os.path.dirname(path) for path, _ in ordered}):  # noqa: PTH120
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    with _open(archive) as content, stage("Unpacking files", len(ordered)) as advance:
        if ordered:
            needed = sum(_member(content, archive, name).file_size for _, name in ordered)
            check_space(Path(ordered[0][0]).parent, needed, f"Unpacking {archive.name}")

        def create(pair: tuple[str, str]) -> tuple[int, zipfile.ZipInfo]:
            # Created by a single thread in the order of the names, so that inode numbers follow names.
            handle = os.open(pair[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            return handle, _member(content, archive, pair[1])

        def fill(created: tuple[int, zipfile.ZipInfo]) -> None:
            with open(created[0], "wb") as file, content.open(created[1]) as source:  # noqa: PTH123
                while chunk := source.read(_CHUNK):
                    file.write(chunk)

        for _ in _in_parallel(fill, map(create, ordered)):
            advance(1)


def pack(
    archive: Path,
    members: Iterable[tuple[str, Path | bytes]],
    *,
    method: Literal["stored", "deflated"] | None = None,
) -> None:
    """Write a new zip file of contents or files under the given names, sorted by name.

    Unless a method is named, formats that are already compressed are stored and the rest is deflated.
    """

    def pack_member(member: tuple[str, Path | bytes]) -> tuple[str, Packed]:
        name, source = member
        chosen = method or ("stored" if name.lower().endswith(_COMPRESSED_ALREADY) else "deflated")
        return name, _compress(source, DEFLATED if chosen == "deflated" else STORED, archive.parent)

    ordered = sorted(members, key=lambda member: member[0])
    _write(archive, _in_parallel(pack_member, ordered), len(ordered))


def repack(archive: Path, source: Path, members: Iterable[tuple[str, str]], *, folder: str | None = None) -> None:
    """Write a new zip file of members of another one, as (old name, new name), without compressing them again.

    With `folder`, the new names are inside that folder, which is the first member.
    """
    with _open(source) as content:
        handle = content.fp
        assert handle is not None

        def copy_member(pair: tuple[str, str]) -> tuple[str, Packed]:
            info = _member(content, source, pair[1])
            head = os.pread(handle.fileno(), 30, info.header_offset)
            start = info.header_offset + 30 + sum(struct.unpack("<HH", head[26:30]))
            chunks = _chunks(handle.fileno(), start, info.compress_size)
            kept = [b"".join(chunks)] if info.compress_size <= _LARGE else chunks
            name = f"{folder}/{pair[0]}" if folder else pair[0]
            return name, Packed(info.compress_type, info.CRC, info.file_size, kept, info.compress_size)

        ordered = sorted((new, old) for old, new in members)
        _write(archive, map(copy_member, ordered), len(ordered), folder=folder)


def _write(archive: Path, members: Iterable[tuple[str, Packed]], count: int, *, folder: str | None = None) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (
        archive.open("xb", buffering=_CHUNK) as file,
        ZipWriter(file) as writer,
        stage(f"Packing {archive.name}", count) as advance,
    ):
        if folder:
            writer.add(f"{folder}/", Packed(STORED, 0, 0, [], 0))
        seen: set[str] = set()
        for name, content in members:
            if name in seen:
                raise ValueError(f"{archive.name} would hold {name} twice")
            seen.add(name)
            writer.add(name, content)
            advance(1)


def _compress(source: Path | bytes, method: int, scratch: Path) -> Packed:
    """Return content ready to be written; a file too large for memory is read in parts."""
    if isinstance(source, Path) and source.stat().st_size > _LARGE:
        return _store_in_parts(source) if method == STORED else _deflate_in_parts(source, scratch)
    content = source if isinstance(source, bytes) else source.read_bytes()
    compressor = zlib.compressobj(wbits=-15)
    packed = compressor.compress(content) + compressor.flush() if method == DEFLATED else content
    return Packed(method, zlib.crc32(content), len(content), [packed], len(packed))


def _store_in_parts(path: Path) -> Packed:
    checksum = 0
    for chunk in _parts(path):
        checksum = zlib.crc32(chunk, checksum)
    size = path.stat().st_size
    return Packed(STORED, checksum, size, _parts(path), size)


def _deflate_in_parts(path: Path, scratch: Path) -> Packed:
    """Deflate to a temporary file first, because a zip file states the compressed size before the content."""
    checksum, compressor = 0, zlib.compressobj(wbits=-15)
    file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - closed after its content is written
    for chunk in _parts(path):
        checksum = zlib.crc32(chunk, checksum)
        file.write(compressor.compress(chunk))
    file.write(compressor.flush())
    length = file.tell()

    def content() -> Iterator[bytes]:
        with file:
            yield from _chunks(file.fileno(), 0, length)

    file.flush()
    return Packed(DEFLATED, checksum, path.stat().st_size, content(), length)


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _chunks(handle: int, start: int, length: int) -> Iterator[bytes]:
    while length:
        chunk = os.pread(handle, min(length, _CHUNK), start)
        if not chunk:
            raise SourceError("an archive ends in the middle of a file")
        yield chunk
        start, length = start + len(chunk), length - len(chunk)


def _in_parallel(work: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """Yield the results in order, with only a few items in memory at a time."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= 4 * _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _open(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive of the raw data; whatever is wrong with it is a `SourceError` that names it."""
    try:
        with pause_garbage_collection():  # while it reads the list of members
            content = zipfile.ZipFile(archive)
        with content:
            yield content
    except FileNotFoundError as error:
        if error.filename is None or Path(error.filename) != archive:
            raise
        raise SourceError(f"the raw data has no {archive.name}") from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
        raise SourceError(f"{archive.name} is damaged or not a zip file: {error}") from None
    except NotImplementedError as error:  # a compression method that Python does not know
        raise SourceError(f"{archive.name} uses an unsupported zip feature: {error}") from None


def _member(content: zipfile.ZipFile, archive: Path, name: str) -> zipfile.ZipInfo:
    try:
        info = content.getinfo(name)
    except KeyError:
        raise SourceError(f"{archive.name} contains no {name}") from None
    if info.flag_bits & _ENCRYPTED:
        raise SourceError(f"{archive.name}: {name} is encrypted with a password")
    return info
