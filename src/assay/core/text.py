"""Text for messages: quoted, shortened, on one line, and with suggestions for misspelled names.

Whatever comes from outside (a submission, a record, a model's reply) passes through `quote` or `one_line` before it is
printed, so that it cannot control a terminal or flood a message.
"""

import difflib
import re
from collections.abc import Iterable, Sequence


def quote(value: object, max_length: int = 40) -> str:
    """A value in quotes, escaped, on one line, cut where it is long."""
    text = str(value)
    return repr(text if len(text) <= max_length else text[: max_length - 1] + "…")


def quote_some(values: Sequence[object], max_count: int = 3) -> str:
    """The first few values, quoted, and how many more there are."""
    more = f" and {len(values) - max_count:,} more" if len(values) > max_count else ""
    return ", ".join(map(quote, values[:max_count])) + more


def one_line(text: str, max_length: int = 400) -> str:
    """Text on one line, without control characters, cut at the end where it is long."""
    spaced = "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
    line = re.sub(r"\s+", " ", spaced).strip()
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


def cut_middle(text: str, max_length: int) -> str:
    """The start and the end of a long text, with a note in place of its middle."""
    if len(text) <= max_length:
        return text
    head = max_length // 2
    tail = max_length - head
    return f"{text[:head]}\n… {len(text) - max_length:,} characters left out …\n{text[len(text) - tail :]}"


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is most likely a misspelling of."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
