"""JSON files that hold one list of objects, read and written one object at a time, so that memory stays small."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from assay.core.errors import SourceError

Record = dict[str, Any]

_CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\n\r]*")


def read_json_list(path: Path, *, chunk: int = _CHUNK) -> Iterator[Record]:
    """Yield the objects of a list; `chunk` is the number of characters that are read at a time."""
    with path.open(encoding="utf-8") as file:
        text = _Text(file, chunk)
        if text.take() != "[":
            raise SourceError(f"{path.name} is not a JSON list")
        separator = text.take() if text.peek() == "]" else ","
        number = 0
        while separator == ",":
            number += 1
            try:
                yield text.take_object()
            except ValueError as error:
                raise SourceError(f"{path.name}, entry {number} is not a JSON object: {error}") from None
            separator = text.take()
        if separator != "]" or text.peek():
            raise SourceError(f"{path.name} is not a JSON list: it does not end after entry {number}")


@contextmanager
def write_json_list(path: Path) -> Iterator[Callable[[Record], None]]:
    """Open a file for a list, and yield a function that appends an object to it.

    The bytes are those of `json.dump` for the whole list: Python's default separators, ASCII only, no line end.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="ascii") as file:
        separator = "["

        def append(record: Record) -> None:
            nonlocal separator
            file.write(separator + json.dumps(record))
            separator = ", "

        yield append
        file.write("[]" if separator == "[" else "]")


def split_json_list(source: Path, targets: Mapping[str, Path], choose: Callable[[Record], str]) -> None:
    """Write each object of a list to the target that `choose` names for it, or nowhere if that is no target."""
    with ExitStack() as stack:
        append = {name: stack.enter_context(write_json_list(path)) for name, path in targets.items()}
        for record in read_json_list(source):
            name = choose(record)
            if name in append:
                append[name](record)


class _Text:
    """The unread text of a file."""

    def __init__(self, file: IO[str], chunk: int) -> None:
        self._file, self._chunk = file, chunk
        self._rest, self._at = "", 0
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is not whitespace; empty at the end of the file."""
        while True:
            space = _SPACE.match(self._rest, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._rest) or not self._read_more(self._chunk):
                return self._rest[self._at : self._at + 1]

    def take(self) -> str:
        """Return the next character that is not whitespace, and advance past it."""
        character = self.peek()
        self._at += len(character)
        return character

    def take_object(self) -> Record:
        """Parse the next object, and advance past it; raises `ValueError` if there is none."""
        if self.peek() != "{":
            raise ValueError("it does not begin with {")
        while True:
            try:
                record, self._at = self._decoder.raw_decode(self._rest, self._at)
                return record  # type: ignore[no-any-return]
            except ValueError:
                # The object may be longer than what was read. Doubling the amount bounds the number of attempts.
                if not self._read_more(max(self._chunk, len(self._rest) - self._at)):
                    raise

    def _read_more(self, size: int) -> bool:
        more = self._file.read(size)
        self._rest, self._at = self._rest[self._at :] + more, 0
        return bool(more)
