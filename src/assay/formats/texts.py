"""Lists of words in one cell: checked against a grammar, and handed on as the text they are."""

from assay.core.errors import InvalidSubmission
from assay.core.text import quote


def parse_words(text: str, where: str, *, least: int = 0, most: int | None = None) -> str:
    """The text, if it has at least `least` and at most `most` words with blanks between them."""
    count = len(text.split())
    if count < least or (most is not None and count > most):
        needed = f"at least {least:,}" if count < least else f"at most {most:,}"
        raise InvalidSubmission(f"{where}: {needed} words are needed, but there are {count:,}.")
    return text


def parse_integers(text: str, where: str, *, least: int = 0, most: int | None = None, first_only: bool = False) -> str:
    """The text, if its words are whole numbers; with `first_only`, if the first one is."""
    words = parse_words(text, where, least=least, most=most).split()
    for word in words[:1] if first_only else words:
        try:
            int(word)
        except ValueError:
            raise InvalidSubmission(f"{where}: whole numbers are needed, but {quote(word)} is none.") from None
    return text


def parse_span(text: str, where: str) -> str:
    """The text, if it is an answer by tokens: `start:end`, `YES`, `NO`, or empty for none."""
    start, colon, end = text.partition(":")
    if text in ("", "YES", "NO"):
        return text
    try:
        int(start), int(end)
    except ValueError:
        colon = ""
    if not colon:
        raise InvalidSubmission(f"{where}: {quote(text)} is no answer; write start:end, YES, NO, or nothing.")
    return text
