"""Zip files inside raw data and in public: read in place, unpacked and packed in parallel, streamed where large."""

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

from assay.core.errors import SourceError
from assay.core.progress import stage
from assay.formats.zip_writer import DEFLATED, STORED, Packed, ZipWriter

Given = TypeVar("Given")
Made = TypeVar("Made")

_COMPRESSED_ALREADY = (".7z", ".aif", ".gif", ".gz", ".jpeg", ".jpg", ".mp3", ".mp4", ".png", ".tfrec", ".zip")
_LARGE = 32 * 2**20
_CHUNK = 2**20
_WORKERS = max(2, os.cpu_count() or 1)


def names(archive: Path, *, below: str = "", suffix: str = "") -> list[str]:
    """The files in an archive, below a folder of it and with an ending where these are given, sorted as text."""
    with _opened(archive) as content:
        found = {info.filename for info in content.infolist() if not info.is_dir()}
        outside = next((name for name in found if name.startswith("/") or ".." in name.split("/")), None)
        if outside is not None:
            raise SourceError(f"{archive.name} holds {outside!r}, which would lie outside its folder")
        return sorted(name for name in found if name.startswith(below) and name.endswith(suffix))


def listed(archive: Path, folder: str, suffix: str = "") -> list[str]:
    """The names of the files directly in a folder of an archive, with an ending where it is given, sorted as text."""
    inside = (name.removeprefix(f"{folder}/") for name in names(archive, below=f"{folder}/", suffix=suffix))
    return [name for name in inside if "/" not in name]


@contextmanager
def open_member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """A file in an archive, open for reading from start to end."""
    with _opened(archive) as content, content.open(_member(content, archive, name)) as file:
        yield file


def extract(archive: Path, members: Iterable[tuple[str, Path]]) -> None:
    """Write each named member to its destination, in the order of the destinations' names, and make their folders."""
    ordered = sorted(((os.fspath(path), name) for name, path in members), key=lambda pair: pair[0])
    for folder in sorted({os.path.dirname(path) for path, _ in ordered}):  # noqa: PTH120
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    with _opened(archive) as content, stage("Unpacking files", len(ordered)) as advance:

        def begun(pair: tuple[str, str]) -> tuple[int, zipfile.ZipInfo]:
            # Opened by the one thread that goes through the names in order, so that inode numbers follow names.
            handle = os.open(pair[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            return handle, _member(content, archive, pair[1])

        def fill(begun: tuple[int, zipfile.ZipInfo]) -> None:
            with open(begun[0], "wb") as file, content.open(begun[1]) as source:  # noqa: PTH123
                while chunk := source.read(_CHUNK):
                    file.write(chunk)

        for _ in _in_parallel(fill, map(begun, ordered)):
            advance(1)


def pack(
    archive: Path,
    members: Iterable[tuple[str, Path | bytes]],
    *,
    method: Literal["stored", "deflated"] | None = None,
) -> None:
    """Make a new zip file of contents or files under the given names, sorted by name.

    Unless a method is named, what is compressed already is stored as it is and the rest is deflated.
    """

    def packed(member: tuple[str, Path | bytes]) -> tuple[str, Packed]:
        name, source = member
        chosen = method or ("stored" if name.lower().endswith(_COMPRESSED_ALREADY) else "deflated")
        return name, _packed(source, DEFLATED if chosen == "deflated" else STORED, archive.parent)

    _write(archive, packed, sorted(members, key=lambda member: member[0]))


def repack(archive: Path, source: Path, members: Iterable[tuple[str, str]], *, folder: str | None = None) -> None:
    """Make a new zip file of members of another one, (old name, new name), without compressing them again.

    With a folder named, the new names lie in it, and it is a member of its own, the first one.
    """
    with _opened(source) as content:
        handle = content.fp
        assert handle is not None

        def taken(pair: tuple[str, str]) -> tuple[str, Packed]:
            info = _member(content, source, pair[1])
            head = os.pread(handle.fileno(), 30, info.header_offset)
            start = info.header_offset + 30 + sum(struct.unpack("<HH", head[26:30]))
            chunks = _chunks(handle.fileno(), start, info.compress_size)
            kept = [b"".join(chunks)] if info.compress_size <= _LARGE else chunks
            name = f"{folder}/{pair[0]}" if folder else pair[0]
            return name, Packed(info.compress_type, info.CRC, info.file_size, kept, info.compress_size)

        _write(archive, taken, sorted((new, old) for old, new in members), folder=folder)


def _write(
    archive: Path, packed: Callable[[Given], tuple[str, Packed]], members: list[Given], *, folder: str | None = None
) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (
        archive.open("xb") as file,
        ZipWriter(file) as writer,
        stage(f"Packing {archive.name}", len(members)) as advance,
    ):
        if folder:
            writer.add(f"{folder}/", Packed(STORED, 0, 0, [], 0))
        seen: set[str] = set()
        for name, content in _in_parallel(packed, members):
            if name in seen:
                raise ValueError(f"{archive.name} would hold {name} twice")
            seen.add(name)
            writer.add(name, content)
            advance(1)


def _packed(source: Path | bytes, method: int, scratch: Path) -> Packed:
    """Content ready to be written; what is too large to hold in memory is read in parts."""
    if isinstance(source, Path) and source.stat().st_size > _LARGE:
        return _stored_in_parts(source) if method == STORED else _deflated_in_parts(source, scratch)
    content = source if isinstance(source, bytes) else source.read_bytes()
    squeezer = zlib.compressobj(wbits=-15)
    packed = squeezer.compress(content) + squeezer.flush() if method == DEFLATED else content
    return Packed(method, zlib.crc32(content), len(content), [packed], len(packed))


def _stored_in_parts(path: Path) -> Packed:
    checksum = 0
    for chunk in _parts(path):
        checksum = zlib.crc32(chunk, checksum)
    size = path.stat().st_size
    return Packed(STORED, checksum, size, _parts(path), size)


def _deflated_in_parts(path: Path, scratch: Path) -> Packed:
    """Deflated to a nameless file first, because a zip file tells the packed size before the content."""
    checksum, squeezer = 0, zlib.compressobj(wbits=-15)
    file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - closed when its content was written
    for chunk in _parts(path):
        checksum = zlib.crc32(chunk, checksum)
        file.write(squeezer.compress(chunk))
    file.write(squeezer.flush())
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


def _in_parallel(work: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
    """The results in order, with a few items being worked on at a time and no more held in memory."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        waiting: deque[Future[Made]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= 4 * _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as content:
            yield content
    except FileNotFoundError:
        raise SourceError(f"the raw data lacks {archive.name}") from None
    except (zipfile.BadZipFile, zlib.error) as error:
        raise SourceError(f"{archive.name} is not a whole zip file: {error}") from None


def _member(content: zipfile.ZipFile, archive: Path, name: str) -> zipfile.ZipInfo:
    try:
        return content.getinfo(name)
    except KeyError:
        raise SourceError(f"{archive.name} holds no {name}") from None
