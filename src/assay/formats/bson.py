"""BSON files, a sequence of binary documents, read one document at a time without MongoDB."""

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import SourceError
from assay.core.progress import ByteCount, stage

_DOUBLE, _STRING, _DOCUMENT, _ARRAY, _BINARY, _OBJECT_ID, _BOOLEAN, _DATE, _NULL = 1, 2, 3, 4, 5, 7, 8, 9, 10
_CODE, _INT32, _TIMESTAMP, _INT64, _DECIMAL, _MAX_KEY, _MIN_KEY = 13, 16, 17, 18, 19, 127, 255
_BLOCK = 2**22
_SIZE = struct.Struct("<i")
_FIXED_SIZES = {
    _DOUBLE: 8, _OBJECT_ID: 12, _BOOLEAN: 1, _DATE: 8, _NULL: 0, _INT32: 4, _TIMESTAMP: 8, _INT64: 8, _DECIMAL: 16,
    _MAX_KEY: 0, _MIN_KEY: 0,
}  # fmt: skip
_SIZED = {_STRING: 4, _CODE: 4, _DOCUMENT: 0, _ARRAY: 0, _BINARY: 5}  # what the size before a value does not count

Value = int | float | str | bool | bytes | None


def read_documents(path: Path) -> Iterator[bytes]:
    """Yield the documents of a file as they are stored; only a few of them are in memory at a time."""
    for block, offsets in read_blocks(path):
        yield from (bytes(block[start:end]) for start, end in pairwise(offsets))


def read_blocks(path: Path) -> Iterator[tuple[bytearray, list[int]]]:
    """Yield a file in blocks of whole documents, each with the offsets where its documents start, and with their end.

    This is several times as fast as `read_documents`, because nothing is copied: a block is valid only until the next
    is asked for, which is read to the same memory.
    """
    unpack_size, block, filled = _SIZE.unpack_from, bytearray(_BLOCK), 0
    total = ByteCount(path.stat().st_size)
    with path.open("rb", buffering=0) as file, stage(f"Reading {path.name}", total) as advance:
        while count := file.readinto(memoryview(block)[filled:]):
            filled += count
            start, size, offsets = 0, 0, [0]
            while start + 4 <= filled:
                (size,) = unpack_size(block, start)
                if size < 5:
                    raise _damaged(path)
                if start + size > filled:
                    break
                start += size
                if block[start - 1]:
                    raise _damaged(path)
                offsets.append(start)
            yield block, offsets
            rest = block[start:filled]
            filled = len(rest)
            if size > len(block):
                block = bytearray(size)
            block[:filled] = rest
            advance(count)
        if filled:
            raise _damaged(path)


def _damaged(path: Path) -> SourceError:
    return SourceError(f"{path.name} is not a BSON file, or it is damaged")


def get_field(document: bytes, name: str) -> Value:
    """Return a top-level value: numbers, text and booleans as such, everything else as its bytes."""
    return get_fields(document, (name,))[0]


def get_fields(content: bytes | bytearray, names: Sequence[str], start: int = 0) -> list[Value]:
    """Return several top-level values of the document at `start`; of fields with the same name, the first counts."""
    values: dict[str, Value] = {}
    offset = start + 4
    while content[offset]:
        name, kind, begin, offset = _read_element(content, offset)
        if name in names and name not in values:
            values[name] = _decode(kind, content[begin:offset])
            if len(values) == len(names):
                return [values[name] for name in names]
    missing = next(name for name in names if name not in values)
    raise SourceError(f"a BSON document has no field {missing!r}")


def get_integers(content: bytes | bytearray, offsets: Sequence[int], names: Sequence[str]) -> NDArray[np.int64]:
    """Return several top-level integers, a row for each name, of all documents between these offsets.

    Documents with the fields of the first one are read all at once, the others one by one.
    """
    starts, ends = np.array(offsets[:-1], np.intp), np.array(offsets[1:], np.intp)
    values = np.zeros((len(names), len(starts)), np.int64)
    is_alike = np.zeros(len(starts), np.bool_)
    missing = set(names)
    for field in _walk_alike(content, starts, ends):
        if field.name in missing:
            missing.discard(field.name)
            if field.kind not in (_INT32, _INT64):
                break
            values[names.index(field.name)] = _gather(content, "<i4" if field.kind == _INT32 else "<i8", field.values)
        if not missing:
            is_alike = field.is_alike
            break
    for row in np.flatnonzero(~is_alike).tolist():
        fields = get_fields(content, names, int(starts[row]))
        integers = [value for value in fields if type(value) is int]
        if len(integers) < len(names):
            what = " and ".join(f"the {name} {value!r}" for name, value in zip(names, fields, strict=True))
            raise SourceError(f"a BSON document has {what}; expected are integers")
        values[:, row] = integers
    return values


def rewrite_each(
    content: bytes | bytearray, starts: Sequence[int], ends: Sequence[int], *, first: str, dropped: str
) -> Iterator[bytes | memoryview]:
    """Yield, in parts, each of these documents without a field, and with another one before all others."""
    begins, rests, is_alike = _find_field(content, np.array(starts, np.intp), np.array(ends, np.intp), dropped)
    is_alike &= begins_with(content, starts, first)
    view = memoryview(content)
    rows = zip(starts, begins.tolist(), rests.tolist(), ends, is_alike.tolist(), strict=True)
    for start, begin, rest, end, alike in rows:
        if alike:
            yield _SIZE.pack(end - start - (rest - begin))
            yield view[start + 4 : begin]
            yield view[rest:end]
        else:
            yield drop_field(put_first(bytes(view[start:end]), first), dropped)


def begins_with(content: bytes | bytearray, starts: Sequence[int], name: str) -> NDArray[np.bool_]:
    """Return for each document whether its first field has this name."""
    text = np.frombuffer(name.encode() + b"\0", np.uint8)
    positions = np.array(starts, np.intp)[:, None] + 5 + np.arange(len(text))
    view = np.frombuffer(content, np.uint8)
    flags: NDArray[np.bool_] = (view.take(positions, mode="clip") == text).all(axis=1)
    return flags


class _Field(NamedTuple):
    """A field of many documents: where its element, its value and what follows it start in each.

    Only in documents that are `is_alike` this is known.
    """

    name: str
    kind: int
    starts: NDArray[np.intp]
    values: NDArray[np.intp]
    ends: NDArray[np.intp]
    is_alike: NDArray[np.bool_]


def _walk_alike(content: bytes | bytearray, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> Iterator[_Field]:
    """Yield the fields of the first document, and where they are in the others as long as these have the same."""
    is_alike = np.ones(len(starts), np.bool_)
    view, positions = np.frombuffer(content, np.uint8), starts + 4
    while len(starts) and content[offset := int(positions[0])]:
        name, kind, begin, end = _read_element(content, offset)
        header = np.arange(begin - offset)
        elements = positions
        values = elements + len(header)
        is_alike = is_alike & (values + _FIXED_SIZES.get(kind, 4) < ends)
        elements = np.where(is_alike, elements, offset)
        is_alike &= (view[elements[:, None] + header] == view[offset:begin]).all(axis=1)
        values = elements + len(header)
        sizes = np.full(len(starts), end - begin)
        if kind in _SIZED:
            sizes = _gather(content, "<i4", values).astype(np.intp) + _SIZED[kind]
        is_alike &= (sizes >= 0) & (values + sizes < ends)
        positions = np.where(is_alike, values + sizes, end)
        yield _Field(name, kind, elements, values, positions, is_alike)


def _find_field(
    content: bytes | bytearray, starts: NDArray[np.intp], ends: NDArray[np.intp], name: str
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Return where a field starts and ends in each document, and where that is known: all fields must be alike."""
    fields = list(_walk_alike(content, starts, ends))
    matches = [field for field in fields if field.name == name]
    if len(matches) != 1:
        return starts, starts, np.zeros(len(starts), np.bool_)
    return matches[0].starts, matches[0].ends, fields[-1].is_alike & (fields[-1].ends == ends - 1)


def _gather(content: bytes | bytearray, kind: str, positions: NDArray[np.intp]) -> NDArray[np.signedinteger[Any]]:
    """Return the numbers at these positions, which need not be aligned."""
    dtype = np.dtype(kind)
    numbers: NDArray[np.signedinteger[Any]] = np.ndarray(
        (max(0, len(content) - dtype.itemsize + 1),), dtype, content, strides=(1,)
    )
    return numbers[positions]


def drop_field(document: bytes, name: str) -> bytes:
    """Return the document without a top-level field; all other bytes stay as they are."""
    content = bytearray()
    begin = 4
    for key, end in _elements(document):
        if key != name:
            content += document[begin:end]
        begin = end
    return struct.pack("<i", len(content) + 5) + bytes(content) + b"\0"


def put_first(document: bytes, name: str) -> bytes:
    """Return the document with a top-level field, if it has it, before all others, where MongoDB writes its `_id`."""
    begin = 4
    for key, end in _elements(document):
        if key == name:
            return document[:4] + document[begin:end] + document[4:begin] + document[end:]
        begin = end
    return document


def _elements(document: bytes) -> Iterator[tuple[str, int]]:
    """Yield the name and the end of each top-level element; an element begins where the one before it ends."""
    offset = 4
    while document[offset]:
        name, _, _, offset = _read_element(document, offset)
        yield name, offset


def _read_element(content: bytes | bytearray, offset: int) -> tuple[str, int, int, int]:
    """Return the name and type of the element at `offset`, and where its value starts and ends."""
    kind = content[offset]
    name_end = content.index(0, offset + 1)
    start = name_end + 1
    size = _FIXED_SIZES.get(kind)
    if size is None:
        if kind not in _SIZED:
            raise SourceError(f"a BSON document has a field of the unknown type {kind}")
        size = _SIZE.unpack_from(content, start)[0] + _SIZED[kind]
    return content[offset + 1 : name_end].decode(), kind, start, start + size


def _decode(kind: int, content: bytes | bytearray) -> Value:
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
    return bytes(content)
