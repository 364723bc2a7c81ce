"""Records with the bytes that pandas gives them, most of them without pandas, which is several times as slow.

pandas writes JSON without spaces, in ASCII, with `\\/` for a slash. The text of a page, nearly all of a record, has the
same form in the raw file except for the slashes, so it is neither parsed nor written again. Where that, or a type that
pandas infers, is in doubt, pandas itself reads and writes the portion.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

import numpy as np

from assay.core.errors import SourceError

TYPES = {
    "example_id": int,
    "question_text": str,
    "document_text": str,
    "document_url": str,
    "annotations": list,
    "long_answer_candidates": list,
}
ROWS = 100
PAGE = "document_text"
_PLACEHOLDER = b"<< the page >>"
_BEGINNING = 1000  # characters that tell words from numbers
_PAGE_START = b'"document_text": "'
# What pandas would write with the same escapes: short ones, and characters beyond ASCII in pairs where they need two.
_ESCAPE = re.compile(
    rb'\\(?:["\\bfnrt]|u(?!00[0-7]|d[89a-f])[0-9a-f]{4}|ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})', re.DOTALL
)
_DIGITS = bytes(ord("0") if ord("0") <= byte <= ord("9") else ord(" ") for byte in range(256))
_LONG = b"0" * 19
_WORDS = re.compile(r"[A-Za-z]{2}[ :/]+[A-Za-z]")
_encode = json.JSONEncoder(separators=(",", ":")).encode


class _UnusualError(Exception):
    """A portion may have another form in pandas than here."""


@dataclass(frozen=True)
class Record:
    """A record as pandas writes it."""

    id: str
    annotations: list[dict[str, Any]]
    fields: dict[str, bytes | memoryview]  # the JSON of each value

    def to_line(self, names: Sequence[str]) -> Iterator[bytes | memoryview]:
        """Yield the line with these fields in parts, so that a page is not copied."""
        separator = b"{"
        for name in names:
            yield b'%s"%s":' % (separator, name.encode())
            yield self.fields[name]
            separator = b","
        yield b"}\n"


def read_portion(file: IO[bytes], count: int) -> list[Record]:
    """Return so many records from where a file is now, all with the same fields in the same order."""
    start = file.tell()
    try:
        return _read_fast(islice(file, count))
    except (_UnusualError, ValueError):
        file.seek(start)
        return _read_with_pandas(list(islice(file, count)))


def _read_fast(lines: Iterable[bytes]) -> list[Record]:
    """Only one of the raw lines is in memory at a time."""
    names: list[str] = []
    records, has_words = list[Record](), {name for name, kind in TYPES.items() if kind is not str}
    for line in lines:
        page, values = _parse(line)
        names = names or list(values)
        if values.keys() != set(names) or any(type(values[name]) is not TYPES.get(name) for name in names):
            raise _UnusualError
        id = values["example_id"]
        if not -(2**63) <= id < 2**63:
            raise _UnusualError
        has_words |= {name for name in names if name not in has_words and _WORDS.search(values[name])}
        values["example_id"] = str(id)
        fields: dict[str, bytes | memoryview]
        fields = {name: _write(values[name]) for name in names if page is None or name != PAGE}
        if page is not None:
            fields[PAGE] = page
        records.append(Record(str(id), values["annotations"], {name: fields[name] for name in names}))
    if not set(names) <= has_words:
        raise _UnusualError  # a column of numbers in quotes becomes one of numbers
    return records


def _parse(line: bytes) -> tuple[memoryview | None, dict[str, Any]]:
    """Return the text of the page as pandas writes it, if it is plain, and the values of the record."""
    start = line.find(_PAGE_START) + len(_PAGE_START)
    end = _find_quote(line, start)
    if start < len(_PAGE_START) or end < 0:
        return None, _load(line)
    rest = line[:start] + _PLACEHOLDER + line[end:]
    values = _load(rest)
    is_field_of_record = values.get(PAGE) == _PLACEHOLDER.decode() and rest.count(_PLACEHOLDER) == 1
    if not is_field_of_record or not _is_plain(line, start, end):
        return None, _load(line)
    values[PAGE] = line[start : min(end, start + _BEGINNING)].decode()
    # All of the line, because a part of it would have to be copied first.
    text, behind = memoryview(line.replace(b"/", rb"\/")), len(line) - end - 1 + line.count(b"/", end)
    return text[start - 1 + line.count(b"/", 0, start) : len(text) - behind], values


def _find_quote(line: bytes, start: int) -> int:
    """Return the place of the first quote that is not escaped, or -1."""
    end = line.find(b'"', start)
    while end >= 0:
        escape = end
        while line[escape - 1] == ord("\\"):
            escape -= 1
        if (end - escape) % 2 == 0:
            break
        end = line.find(b'"', end + 1)
    return end


def _is_plain(line: bytes, start: int, end: int) -> bool:
    """Return whether pandas writes a JSON string of the raw file with the same characters and escapes."""
    text = np.frombuffer(line, np.uint8, end - start, start)
    if text.max(initial=0) > 127 or text.min(initial=ord(" ")) < ord(" "):
        return False
    escape = line.find(b"\\", start, end)
    while escape >= 0:
        if (match := _ESCAPE.match(line, escape, end)) is None:
            return False
        escape = line.find(b"\\", match.end(), end)
    return True


def _refuse(_: str) -> None:
    raise _UnusualError


_decode = json.JSONDecoder(parse_float=_refuse, parse_constant=_refuse).decode


def _load(line: bytes) -> dict[str, Any]:
    if not all(-(2**63) <= number < 2**64 for number in _find_long_numbers(line)):
        raise _UnusualError
    values = _decode(line.decode())
    if type(values) is not dict:
        raise _UnusualError
    return values


def _find_long_numbers(line: bytes) -> Iterator[int]:
    """Yield the integers of 19 digits or more, found by their digits: a regular expression takes much longer."""
    digits, end = line.translate(_DIGITS), 0
    while (start := digits.find(_LONG, end)) >= 0:
        end = digits.find(b" ", start)
        end = len(digits) if end < 0 else end
        yield int(line[start - (line[start - 1 : start] == b"-") : end])


def _write(value: object) -> bytes:
    text = _encode(value)
    if "\\u007f" in text:  # perhaps DEL, which pandas does not escape
        raise _UnusualError
    if "\\ud" in text:
        json.dumps(value, ensure_ascii=False).encode()  # raises ValueError for half of a pair, which pandas drops
    return text.replace("/", "\\/").encode()


def _read_with_pandas(lines: Sequence[bytes]) -> list[Record]:
    import pandas as pd

    if any(line.isspace() for line in lines):
        raise SourceError("the file of records has a blank line")
    frame = pd.read_json(io.BytesIO(b"".join(lines)), orient="records", lines=True)
    frame["example_id"] = frame["example_id"].astype(str)
    values: dict[str, list[bytes]] = {}
    for name in frame.columns:
        parts = (frame.iloc[start : start + ROWS][[name]] for start in range(0, len(frame), ROWS))  # to save memory
        text = "".join(part.to_json(orient="records", lines=True) for part in parts)
        values[name] = [line.encode()[len(_encode({name: 0})) - 2 : -1] for line in text.split("\n")[:-1]]
    rows = zip(*values.values(), strict=True)
    return [
        Record(id, annotations, dict(zip(values, row, strict=True)))
        for id, annotations, row in zip(frame["example_id"], frame["annotations"], rows, strict=True)
    ]
