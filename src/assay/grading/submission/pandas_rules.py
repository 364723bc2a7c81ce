"""What pandas makes of words when it reads a table with its defaults, told without importing it.

The published graders read so: `007` and `7.0` are the number 7, `NA` is nothing, `True` is a boolean, but only where
the whole column is such. A column that is surely one or the other need not be read by pandas to know what it says.
"""

from typing import Any, Literal

import polars as pl
from numpy.typing import NDArray

MISSING_WORDS = frozenset(
    {
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    }
)
BOOLEAN_WORDS = frozenset({"True", "TRUE", "true", "False", "FALSE", "false"})

MOST_COLUMNS = 1024
"""Tables with more columns are not told here: pandas looks at fewer of their rows at a time."""

_LONGEST_WORD = max(map(len, MISSING_WORDS | BOOLEAN_WORDS))
# Pandas infers types in portions of at least 2^19 values, so a column can be of one type in one and another in the
# next. Any portion of a table of at most `MOST_COLUMNS` has one of the rows that are so far apart.
_STEP = 256
_LARGEST_EXACT = 2**53


def kind_of_ids(ids: pl.Series) -> Literal["text", "numbers"] | None:
    """What pandas surely makes of a column of ids, whatever columns stand beside it; None if it is not sure."""
    short = ids.filter(ids.str.len_bytes() <= _LONGEST_WORD)
    if ids.null_count() or (len(short) and short.is_in([*MISSING_WORDS, *BOOLEAN_WORDS]).any()):
        return None
    if not _are_numbers(ids.gather_every(_STEP)).any():
        return "text"
    numbers = _are_numbers(ids)
    if numbers.all():
        return "numbers"
    return "text" if len(ids) <= _STEP else None


def _are_numbers(text: pl.Series) -> pl.Series:
    return text.str.strip_chars().cast(pl.Float64, strict=False).is_not_null()


def classes_of(text: pl.Series) -> NDArray[Any] | None:
    """The classes in a column as pandas reads them: whole numbers, booleans as 0 and 1, or words.

    None where they are not surely all of one kind, or one is missing.
    """
    if text.null_count() or text.is_in(MISSING_WORDS).any():
        return None
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == 0:
        whole = numbers.is_finite() & (numbers == numbers.floor()) & (numbers.abs() <= _LARGEST_EXACT)
        return numbers.to_numpy() if whole.all() else None
    booleans = text.is_in(BOOLEAN_WORDS)
    if booleans.all():
        return text.str.to_lowercase().eq("true").cast(pl.Float64).to_numpy()
    stripped = text.str.strip_chars().cast(pl.Float64, strict=False)
    return None if booleans.any() or stripped.is_not_null().any() else text.to_numpy()
