"""Text for messages: quoting, shortening, plurals, suggestions for misspelled names, validation errors.

Text from outside (a submission, a record, a model's reply) passes through `quote` or `one_line` before it is put into a
message, so that it stays on one line and cannot flood it; `strip_control` makes any text safe to print on a terminal.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

# C0 and C1 control characters except tab and newline, and the characters that change the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PARSING = {"float_parsing": "a number", "int_parsing": "an integer", "bool_parsing": "true or false"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def quote(value: object, max_length: int = 40) -> str:
    """Return a value in quotes, escaped, on one line, and cut where it is long."""
    text = str(value)
    return repr(text if len(text) <= max_length else text[: max_length - 1] + "…")


def quote_some(values: Sequence[object], max_count: int = 3) -> str:
    """Return the first few values, quoted, and how many more there are."""
    more = f" and {len(values) - max_count:,} more" if len(values) > max_count else ""
    return ", ".join(map(quote, values[:max_count])) + more


def one_line(text: str, max_length: int = 400) -> str:
    """Return text on one line, without control characters, cut at the end where it is long."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
    line = " ".join(text.split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


def strip_control(text: str) -> str:
    """Replace every character that could control a terminal, keeping tabs and line breaks."""
    if text.isprintable():
        return text
    return _LONE_SURROGATE.sub("\ufffd", _CONTROL.sub("\ufffd", text.replace("\r\n", "\n")))


def cut_middle(text: str, max_length: int) -> str:
    """Return the start and the end of a long text, with a note in place of its middle."""
    if len(text) <= max_length:
        return text
    head = max_length // 2
    tail = max_length - head
    return f"{text[:head]}\n… {len(text) - max_length:,} characters omitted …\n{text[len(text) - tail :]}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 trial`, `2 trials`, `3 mismatches`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}{'es' if noun.endswith(('s', 'ch', 'sh', 'x')) else 's'}"


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return counts by name, such as `2 agent, 1 infrastructure`."""
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def suggest(name: str, known: Iterable[str], min_similarity: float = 0.6) -> str | None:
    """Return the known name that `name` is most likely a misspelling of."""
    import difflib  # needed only for a typing mistake

    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=min_similarity)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the closest known one, or all that are known."""
    names = list(known)
    close = suggest(name, names)
    return f"did you mean {close}?" if close else f"available: {', '.join(names)}"


def describe_validation_error(
    error: "ValidationError",
    known: Mapping[str, Iterable[str]] | None = None,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return the problems that pydantic found as one sentence: `budget.time: Input should be greater than 0; …`.

    `known` has the valid keys of each table by its dotted path without indices, the top one under `""`; with it, an
    unknown key comes with a suggestion. `names` has what the user calls a setting by its dotted path.
    """
    problems = []
    for problem in error.errors():
        *parents, key = problem["loc"] or [""]
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] in _PARSING:
            message = f"{str(problem['input'])[:40]!r} is not {_PARSING[problem['type']]}"
        if problem["type"] == "extra_forbidden":
            valid = (known or {}).get(".".join(part for part in parents if isinstance(part, str)))
            message = "unknown setting"
            if valid is not None:
                message += f"; {did_you_mean(str(key), valid)}" if (valid := list(valid)) else "; there are none"
        path = ".".join(map(str, [*parents, key]))
        path = (names or {}).get(path, path)
        problems.append(f"{path}: {message}" if path else message)
    return "; ".join(dict.fromkeys(problems))
