"""Line-by-line differences of two texts, in bounded time for any input."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Literal

_MAX_COMPARED = 10**6
_CONTEXT = 3

Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


def unified_diff(before: Sequence[str], after: Sequence[str], old: str, new: str) -> Iterator[str]:
    """Yield the lines of a unified diff; `before` and `after` are lines that keep their line breaks, or have none.

    Common lines at the start and the end are skipped. The rest is compared line by line only if it is short, because
    the time of `difflib` grows at least with the square of the number of lines. A long rest counts as replaced.
    """
    if before == after:
        return
    ending = "\n" if any(line.endswith("\n") for line in (*before[:1], *after[:1])) else ""
    yield f"--- {old}{ending}"
    yield f"+++ {new}{ending}"
    for group in _Matcher(_compare(before, after)).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_format_range(first[1], last[2])} +{_format_range(first[3], last[4])} @@{ending}"
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[start:end])
                continue
            yield from (f"-{line}" for line in before[start:end])
            yield from (f"+{line}" for line in after[new_start:new_end])


class _Matcher(difflib.SequenceMatcher[str]):
    """Groups given opcodes as `difflib` groups its own."""

    def __init__(self, opcodes: list[Opcode]) -> None:
        super().__init__()
        self._opcodes = opcodes

    def get_opcodes(self) -> list[Opcode]:
        return list(self._opcodes)


def _compare(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """Return what turns `before` into `after`, as `difflib.SequenceMatcher.get_opcodes` does."""
    shorter = min(len(before), len(after))
    head = next((index for index in range(shorter) if before[index] != after[index]), shorter)
    longest_tail = shorter - head
    tail = next((index for index in range(longest_tail) if before[-1 - index] != after[-1 - index]), longest_tail)
    end, new_end = len(before) - tail, len(after) - tail
    middle: list[Opcode] = [("replace", 0, end - head, 0, new_end - head)]
    if (end - head) * (new_end - head) <= _MAX_COMPARED:
        middle = difflib.SequenceMatcher(None, before[head:end], after[head:new_end]).get_opcodes()
    opcodes: list[Opcode] = [("equal", 0, head, 0, head), ("equal", end, len(before), new_end, len(after))]
    opcodes[1:1] = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    return [opcode for opcode in opcodes if opcode[1] < opcode[2] or opcode[3] < opcode[4]]


def _format_range(start: int, end: int) -> str:
    """Return a range of lines as a unified diff writes it: the first line and the number of lines."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
