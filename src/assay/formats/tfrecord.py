"""TFRecord files of `tf.train.Example` messages, read and written without TensorFlow.

A file is a sequence of records: length (8 bytes), its checksum (4), the message, its checksum (4). A message maps names
to lists of bytes, floats or integers, in the protocol-buffer encoding. Checksums are CRC-32C; with the package
google-crc32c they are computed at memory speed.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from assay.core.errors import SourceError

Feature = list[bytes] | list[float] | list[int]
Example = dict[str, Feature]

_BYTES, _FLOATS, _INTEGERS = 1, 2, 3


def read(path: Path) -> Iterator[Example]:
    """Yield the examples of a file; the checksum of each length is verified, which no other kind of file passes."""
    with path.open("rb") as file:
        while head := file.read(12):
            if len(head) < 12 or struct.unpack("<I", head[8:])[0] != _masked_checksum(head[:8]):
                raise SourceError(f"{path.name} is not a TFRecord file, or it is damaged")
            (length,) = struct.unpack("<Q", head[:8])
            message = file.read(length + 4)
            if len(message) < length + 4:
                raise SourceError(f"{path.name} ends in the middle of a record")
            yield _example(message[:length])


def write(path: Path, examples: Iterable[Mapping[str, Sequence[bytes] | Sequence[float] | Sequence[int]]]) -> None:
    """Write examples; the type of a feature is that of its first value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for example in examples:
            entries = (_field(1, name.encode()) + _field(2, _feature(values)) for name, values in example.items())
            message = _field(1, b"".join(_field(1, entry) for entry in entries))
            length = struct.pack("<Q", len(message))
            file.write(length + struct.pack("<I", _masked_checksum(length)))
            file.write(message + struct.pack("<I", _masked_checksum(message)))


def _example(message: bytes) -> Example:
    example: Example = {}
    for _, features in _fields(message):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            example[parts[1].decode()] = _values(parts.get(2, b""))
    return example


def _values(feature: bytes) -> Feature:
    for kind, content in _fields(feature):
        items = [item for _, item in _fields(content)]
        if kind == _BYTES:
            return items
        packed = b"".join(items)
        return list(struct.unpack(f"<{len(packed) // 4}f", packed)) if kind == _FLOATS else _integers(packed)
    return []


def _integers(packed: bytes) -> list[int]:
    values, offset = [], 0
    while offset < len(packed):
        value, offset = _varint(packed, offset)
        values.append(value - (1 << 64) if value >> 63 else value)
    return values


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each field; a number outside a packed list is returned as if it were in one."""
    offset = 0
    while offset < len(message):
        tag, offset = _varint(message, offset)
        kind, start = tag & 7, offset
        if kind == 0:
            _, offset = _varint(message, offset)
        elif kind == 2:
            length, start = _varint(message, offset)
            offset = start + length
        elif kind == 5:
            offset += 4
        else:
            raise SourceError(f"a TFRecord message has a field of the unknown wire type {kind}")
        yield tag >> 3, message[start:offset]


def _varint(message: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[offset]
        value |= (byte & 127) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 128:
            return value, offset


def _feature(values: Sequence[bytes] | Sequence[float] | Sequence[int]) -> bytes:
    first = values[0] if values else b""
    if isinstance(first, bytes):
        return _field(_BYTES, b"".join(_field(1, bytes(value)) for value in values))  # type: ignore[arg-type]
    if isinstance(first, float):
        return _field(_FLOATS, _field(1, struct.pack(f"<{len(values)}f", *values)))
    return _field(_INTEGERS, _field(1, b"".join(_encoded(int(value) & (1 << 64) - 1) for value in values)))


def _field(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | 2) + _encoded(len(content)) + content


def _encoded(value: int) -> bytes:
    content = bytearray()
    while value > 127:
        content.append(value & 127 | 128)
        value >>= 7
    content.append(value)
    return bytes(content)


def _masked_checksum(content: bytes) -> int:
    checksum: int = _crc32c(content)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc32c_by_table(content: bytes) -> int:
    checksum = 0xFFFFFFFF
    for byte in content:
        checksum = _TABLE[(checksum ^ byte) & 255] ^ checksum >> 8
    return checksum ^ 0xFFFFFFFF


def _make_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _make_table()
try:
    from google_crc32c import value as _crc32c
except ModuleNotFoundError:
    _crc32c = _crc32c_by_table
