"""MATLAB 5 files, in which a few competitions keep labels: edited without parsing the whole format."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.errors import SourceError

_HEADER = 128
_BYTE_ORDERS = {b"IM": "<", b"MI": ">"}
_INT8, _INT32, _UINT32, _DOUBLE, _MATRIX, _COMPRESSED = 1, 5, 6, 9, 14, 15  # types of elements
_STRUCT, _DOUBLES = 2, 6  # classes of arrays


def clear_field(content: bytes, field: str) -> bytes:
    """Return the file with this field of every structure replaced by an empty array.

    Only top-level structures are changed, not those nested in others.
    """
    order = _BYTE_ORDERS.get(content[_HEADER - 2 : _HEADER])
    if order is None:
        raise SourceError("a .mat file is not in the format of MATLAB 5")
    try:
        parts = [_clear_variable(element, field, order) for element in _elements(content[_HEADER:], order)]
    except (struct.error, zlib.error, IndexError, UnicodeDecodeError) as error:
        raise SourceError(f"a .mat file is damaged: {error}") from None
    return b"".join([content[:_HEADER], *parts])


@dataclass(frozen=True)
class _Element:
    kind: int
    body: bytes
    whole: bytes  # with its tag and padding


def _elements(content: bytes, order: str) -> Iterator[_Element]:
    start = 0
    while start < len(content):
        kind, size = struct.unpack_from(f"{order}II", content, start)
        if kind >> 16:  # up to four bytes are stored in the tag itself, whose upper half is their number
            stop = start + 8
            yield _Element(kind & 0xFFFF, content[start + 4 : start + 4 + (kind >> 16)], content[start:stop])
        else:
            end = start + 8 + size
            stop = end if kind == _COMPRESSED else end + -size % 8
            if end > len(content):
                raise IndexError("it ends early")
            yield _Element(kind, content[start + 8 : end], content[start:stop])
        start = stop


def _clear_variable(element: _Element, field: str, order: str) -> bytes:
    if element.kind == _COMPRESSED:
        inner = list(_elements(zlib.decompress(element.body), order))
        changed = b"".join(_clear_variable(part, field, order) for part in inner)
        if changed == b"".join(part.whole for part in inner):
            return element.whole
        packed = zlib.compress(changed)
        return struct.pack(f"{order}II", _COMPRESSED, len(packed)) + packed
    if element.kind != _MATRIX:
        return element.whole
    flags, *parts = _elements(element.body, order)
    if struct.unpack_from(f"{order}I", flags.body)[0] & 0xFF != _STRUCT:
        return element.whole
    dimensions, name, length, names, *values = parts
    step = struct.unpack_from(f"{order}i", length.body)[0]
    fields = [names.body[at : at + step].partition(b"\0")[0].decode() for at in range(0, len(names.body), step)]
    kept = [flags, dimensions, name, length, names]
    cleared = [
        _empty_array(order) if fields[index % len(fields)] == field else value.whole
        for index, value in enumerate(values)
    ]
    return _element(_MATRIX, b"".join([*(part.whole for part in kept), *cleared]), order)


def _empty_array(order: str) -> bytes:
    """Return an array of 0 by 0 numbers without a name."""
    flags = _element(_UINT32, struct.pack(f"{order}II", _DOUBLES, 0), order)
    dimensions = _element(_INT32, struct.pack(f"{order}ii", 0, 0), order)
    return _element(_MATRIX, flags + dimensions + _element(_INT8, b"", order) + _element(_DOUBLE, b"", order), order)


def _element(kind: int, body: bytes, order: str) -> bytes:
    return struct.pack(f"{order}II", kind, len(body)) + body + bytes(-len(body) % 8)


def list_fields(content: bytes) -> dict[str, int]:
    """Return the size in bytes of each variable that is not a structure, and of each field of those that are.

    A field is named `Variable.Field`. An empty array has the size 0.
    """
    order = _BYTE_ORDERS.get(content[_HEADER - 2 : _HEADER])
    if order is None:
        raise SourceError("a .mat file is not in the format of MATLAB 5")
    sizes: dict[str, int] = {}
    try:
        for element in _elements(content[_HEADER:], order):
            for variable in _unpack(element, order):
                sizes |= _sizes(variable, order)
    except (struct.error, zlib.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise SourceError(f"a .mat file is damaged: {error}") from None
    return sizes


def _unpack(element: _Element, order: str) -> Iterator[_Element]:
    if element.kind == _COMPRESSED:
        yield from _elements(zlib.decompress(element.body), order)
    else:
        yield element


def _sizes(element: _Element, order: str) -> dict[str, int]:
    if element.kind != _MATRIX:
        return {}
    flags, _, name, *parts = _elements(element.body, order)
    variable = name.body.decode()
    if struct.unpack_from(f"{order}I", flags.body)[0] & 0xFF != _STRUCT:
        return {variable: sum(len(part.body) for part in parts)}
    length, names, *values = parts
    step = struct.unpack_from(f"{order}i", length.body)[0]
    fields = [names.body[at : at + step].partition(b"\0")[0].decode() for at in range(0, len(names.body), step)]
    sizes = dict.fromkeys((f"{variable}.{field}" for field in fields), 0)
    for index, value in enumerate(values):
        sizes[f"{variable}.{fields[index % len(fields)]}"] += (
            0 if value.whole == _empty_array(order) else len(value.body)
        )
    return sizes
