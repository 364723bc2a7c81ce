"""A zip writer for contents that may already be compressed.

The standard library compresses members one after the other on one core, and cannot copy a compressed member from
another archive. Both matter with a hundred thousand images. All members have the earliest time that the format allows,
so that equal contents give equal archives.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO

STORED, DEFLATED = 0, 8

_UTF8_NAME = 0x800
_EARLIEST = 1 << 5 | 1  # 1 January 1980
_LARGE = 0xFFFFFFFF
_REGULAR_FILE, _FOLDER = 0o100644 << 16, 0o40755 << 16 | 0x10


@dataclass(frozen=True)
class Packed:
    """A member's content as it is stored in an archive."""

    method: int
    checksum: int
    size: int
    content: Iterable[bytes]
    packed_size: int


class ZipWriter:
    """A zip file that is being written, from first member to last."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._directory: list[bytes] = []
        self._offset = 0

    def add(self, name: str, packed: Packed) -> None:
        """Write one member; a name that ends in `/` is a folder."""
        encoded, offset = name.encode(), self._offset
        large = packed.size >= _LARGE or packed.packed_size >= _LARGE
        extra = struct.pack("<HHQQ", 1, 16, packed.size, packed.packed_size) if large else b""
        sizes = (_LARGE, _LARGE) if large else (packed.packed_size, packed.size)
        common = struct.pack(
            "<HHHHHIIIHH", 45 if large else 20, _UTF8_NAME, packed.method, 0, _EARLIEST, packed.checksum, *sizes,
            len(encoded), len(extra),
        )  # fmt: skip
        self._write(b"PK\3\4" + common + encoded + extra)
        for chunk in packed.content:
            self._write(chunk)
        far = offset >= _LARGE
        sizes_and_offset = (struct.pack("<QQ", packed.size, packed.packed_size) if large else b"") + (
            struct.pack("<Q", offset) if far else b""
        )
        extra = struct.pack("<HH", 1, len(sizes_and_offset)) + sizes_and_offset if sizes_and_offset else b""
        common = common[:-2] + struct.pack("<H", len(extra))
        kind = _FOLDER if name.endswith("/") else _REGULAR_FILE
        attributes = struct.pack("<HHHII", 0, 0, 0, kind, _LARGE if far else offset)
        self._directory.append(b"PK\1\2" + struct.pack("<H", 3 << 8 | 45) + common + attributes + encoded + extra)

    def close(self) -> None:
        """Write the directory that ends the file."""
        start, count = self._offset, len(self._directory)
        for entry in self._directory:
            self._write(entry)
        size, end = self._offset - start, self._offset
        if count >= 0xFFFF or start >= _LARGE or size >= _LARGE:
            self._write(b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, size, start))
            self._write(b"PK\6\7" + struct.pack("<IQI", 0, end, 1))
        short = min(count, 0xFFFF)
        self._write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, short, short, min(size, _LARGE), min(start, _LARGE), 0))

    def __enter__(self) -> "ZipWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._offset += len(content)
