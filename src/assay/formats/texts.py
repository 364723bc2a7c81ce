"""Words in one cell: checked against a grammar and returned unchanged."""

from assay.core.errors import InvalidSubmission
from assay.core.text import quote

MISSING_WORDS = frozenset(
    {
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    }
)
"""What pandas reads as a missing value by default."""


def parse_words(text: str, where: str, *, min_count: int = 0, max_count: int | None = None) -> str:
    """Return the text if it has between `min_count` and `max_count` words separated by whitespace."""
    count = len(text.split())
    if count < min_count:
        raise InvalidSubmission(f"{where}: at least {min_count:,} words are needed, but there are {count:,}.")
    if max_count is not None and count > max_count:
        raise InvalidSubmission(f"{where}: at most {max_count:,} words are accepted, but there are {count:,}.")
    return text


def parse_integers(
    text: str, where: str, *, min_count: int = 0, max_count: int | None = None, first_only: bool = False
) -> str:
    """Return the text if its words are integers or, with `first_only`, if the first one is."""
    words = parse_words(text, where, min_count=min_count, max_count=max_count).split()
    for word in words[:1] if first_only else words:
        try:
            int(word)
        except ValueError:
            raise InvalidSubmission(f"{where}: words must be integers, but {quote(word)} is not.") from None
    return text


def parse_span(text: str, where: str) -> str:
    """Return the text, stripped, if it is an answer by tokens: `start:end`, `YES`, `NO`, or empty for none."""
    text = text.strip()
    if text in ("", "YES", "NO"):
        return text
    start, colon, end = text.partition(":")
    try:
        int(start), int(end)
    except ValueError:
        colon = ""
    if not colon:
        raise InvalidSubmission(f"{where}: {quote(text)} is not an answer; write start:end, YES, NO, or nothing.")
    return text
