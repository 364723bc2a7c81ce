"""BSON files, a sequence of binary documents, read one document at a time without MongoDB."""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.core.errors import SourceError

_DOUBLE, _STRING, _DOCUMENT, _ARRAY, _BINARY, _OBJECT_ID, _BOOLEAN, _DATE, _NULL, _INT32, _INT64 = (
    1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 18,
)  # fmt: skip
_BLOCK = 2**22
_SIZE = struct.Struct("<i")
_FIXED_SIZES = {_DOUBLE: 8, _OBJECT_ID: 12, _BOOLEAN: 1, _DATE: 8, _NULL: 0, _INT32: 4, _INT64: 8}

Value = int | float | str | bool | bytes | None


def read_documents(path: Path) -> Iterator[bytes]:
    """Yield the documents of a file as they are stored; only a few of them are in memory at a time."""
    with path.open("rb") as file:
        rest = b""
        while block := file.read(max(_BLOCK, _missing(rest))):
            block = rest + block
            start = 0
            while not _missing(block, start):
                (size,) = _SIZE.unpack_from(block, start)
                if size < 5 or block[start + size - 1] != 0:
                    raise SourceError(f"{path.name} is not a BSON file, or it is damaged")
                yield block[start : start + size]
                start += size
            rest = block[start:]
        if rest:
            raise SourceError(f"{path.name} is not a BSON file, or it is damaged")


def _missing(block: bytes, start: int = 0) -> int:
    """Return how many bytes a block lacks for the document that starts at `start`."""
    present = len(block) - start
    return 4 - present if present < 4 else max(0, _SIZE.unpack_from(block, start)[0] - present)


def get_field(document: bytes, name: str) -> Value:
    """Return a top-level value: numbers, text and booleans as such, everything else as its bytes."""
    return get_fields(document, (name,))[0]


def get_fields(document: bytes, names: Sequence[str]) -> list[Value]:
    """Return several top-level values; of fields with the same name, the first counts."""
    found: dict[str, Value] = {}
    for key, kind, start, end in _elements(document):
        if key in names and key not in found:
            found[key] = _decode(kind, document[start:end])
            if len(found) == len(names):
                return [found[name] for name in names]
    missing = next(name for name in names if name not in found)
    raise SourceError(f"a BSON document has no field {missing!r}")


def drop_field(document: bytes, name: str) -> bytes:
    """Return the document without a top-level field; all other bytes stay as they are."""
    content = bytearray()
    begin = 4
    for key, _, _, end in _elements(document):
        if key != name:
            content += document[begin:end]
        begin = end
    return struct.pack("<i", len(content) + 5) + bytes(content) + b"\0"


def put_first(document: bytes, name: str) -> bytes:
    """Return the document with a top-level field, if it has it, before all others, where MongoDB writes its `_id`."""
    if document.startswith(name.encode() + b"\0", 5):
        return document
    begin = 4
    for key, _, _, end in _elements(document):
        if key == name:
            return document[:4] + document[begin:end] + document[4:begin] + document[end:]
        begin = end
    return document


def _elements(document: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Yield the name, type, start and end of each value; an element begins where the one before it ends."""
    place = 4
    while document[place] != 0:
        kind = document[place]
        name_end = document.index(b"\0", place + 1)
        start = name_end + 1
        if kind in _FIXED_SIZES:
            end = start + _FIXED_SIZES[kind]
        elif kind in (_STRING, _DOCUMENT, _ARRAY, _BINARY):
            (size,) = struct.unpack_from("<i", document, start)
            end = start + size + {_STRING: 4, _BINARY: 5}.get(kind, 0)
        else:
            raise SourceError(f"a BSON document has a field of the unknown type {kind}")
        yield document[place + 1 : name_end].decode(), kind, start, end
        place = end


def _decode(kind: int, content: bytes) -> Value:
    if kind == _INT32:
        return int(struct.unpack("<i", content)[0])
    if kind in (_INT64, _DATE):
        return int(struct.unpack("<q", content)[0])
    if kind == _DOUBLE:
        return float(struct.unpack("<d", content)[0])
    if kind == _STRING:
        return content[4:-1].decode()
    if kind == _BOOLEAN:
        return content != b"\0"
    if kind == _NULL:
        return None
    return content
