"""From text to typed values: what a column of a submission may hold, and the message where it holds something else.

- number: decimal or scientific notation; NaN and infinity are refused.
- integer: a number without a fractional part, so `3` and `3.0` alike.
- boolean: `true` or `false` in any case, and `1` or `0`, also written `1.0` and `0.0`, as many tools save them.
- category: one of the allowed values, compared as numbers or booleans where they are such; where none are listed, any
  text that is not empty.
- text: anything, an empty value included.

Blanks around a value do not count, except in text. An empty value is a fault unless the rule says what it stands for.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.tasks import Column, RowSum

Where = Callable[[int], str]
"""How a message names a row, given its number among the values that are checked."""

_TRUE, _FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")
_LARGEST_EXACT = 2**53
_WORDS = {
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "category": "a value",
    "text": "text",
}


def typed(text: pl.Series, rule: Column, name: str, where: Where) -> NDArray[Any]:
    """The values of a column; `InvalidSubmission` names the first that breaks the rule, and `where` says its row."""
    if text.dtype == pl.String:
        text = (text if rule.type == "text" else text.str.strip_chars()).fill_null("")
    values, right = _parsed(text, rule)
    if rule.missing != "refuse" and rule.type != "text" and not right.all():
        values, right = _filled(values, right, _missing(text), rule)
    if not right.all():
        refuse(text.name, right, lambda row: text[row], expected(rule), name, where)
    return values


def true_values(text: pl.Series, rule: Column) -> NDArray[Any]:
    """The answers' values of the same column: they may lie anywhere, and be missing where they do not count."""
    bounds = {"min": None, "max": None, "missing": "keep" if rule.type == "number" else rule.missing}
    return typed(text, rule.model_copy(update=bounds), "answers", lambda row: f"row {row + 1}")


def refuse(
    column: str, right: NDArray[np.bool_], value: Callable[[int], object], expected: str, name: str, where: Where
) -> None:
    """Raise `InvalidSubmission` for the first value that is not `right`, and say how many more there are."""
    wrong = np.flatnonzero(~right)
    first = int(wrong[0])
    text = str(value(first))
    found = "empty" if text == "" else quote(text)
    others = f", and {len(wrong) - 1:,} more are wrong" if len(wrong) > 1 else ""
    raise InvalidSubmission(
        f"{name}: column {column!r} must hold {expected}, but is {found} for {where(first)}{others}."
    )


def expected(rule: Column) -> str:
    """What a column must hold, in words."""
    if rule.values is not None:
        listed = ", ".join(map(str, rule.values[:12]))
        return f"one of {listed}" + (f" and {len(rule.values) - 12} more" if len(rule.values) > 12 else "")
    at_least = [f"at least {_written(rule.min)}"] if rule.min is not None else []
    at_most = [f"at most {_written(rule.max)}"] if rule.max is not None else []
    bounds = " and ".join(at_least + at_most)
    return f"{_WORDS[rule.type]} of {bounds}" if bounds else _WORDS[rule.type]


def _written(bound: float) -> str:
    """A bound in as few digits as tell it from its neighbours."""
    short = f"{bound:g}"
    return short if float(short) == bound else repr(bound)


def check_row_sums(columns: Mapping[str, NDArray[Any]], rule: RowSum, name: str, where: Where) -> None:
    """Raise `InvalidSubmission` unless the values of each row add up to what they must."""
    sums = np.column_stack(list(columns.values())).sum(axis=1)
    compared = sums if rule.decimals is None else np.round(sums, rule.decimals)
    right = np.abs(compared - rule.to) <= rule.tolerance
    if not right.all():
        wrong = np.flatnonzero(~right)
        others = f", and those of {len(wrong) - 1:,} more rows are wrong" if len(wrong) > 1 else ""
        must = f"the values of a row must add up to {rule.to:g}"
        raise InvalidSubmission(f"{name}: {must}, but are {sums[wrong[0]]:.8g} for {where(int(wrong[0]))}{others}.")


def inferred(text: pl.Series) -> NDArray[Any]:
    """The values of a column that no rule describes: numbers if all are, booleans if all are, else text.

    Missing values are NaN among numbers, and empty otherwise.
    """
    if text.dtype != pl.String:
        return text.to_numpy()
    stripped = text.str.strip_chars().fill_null("")
    numbers = stripped.cast(pl.Float64, strict=False)
    if (numbers.is_not_null() | (stripped == "")).all():
        return numbers.fill_null(float("nan")).to_numpy()
    lower = stripped.str.to_lowercase()
    if lower.is_in(["true", "false"]).all():
        return (lower == "true").to_numpy()
    return text.fill_null("").to_numpy()


def _parsed(text: pl.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values, and which of them are right."""
    allowed = rule.values or ()
    if rule.type == "boolean" or (allowed and all(isinstance(value, bool) for value in allowed)):
        lower = text.str.to_lowercase()
        values = lower.is_in(_TRUE).to_numpy()
        return values, values | lower.is_in(_FALSE).to_numpy()
    if rule.type in ("number", "integer") or (allowed and all(isinstance(value, int | float) for value in allowed)):
        return _numbers(text, rule)
    values = text.to_numpy()
    if rule.type == "text" and not allowed:
        return values, np.ones(len(values), bool)
    right = text.is_in([str(value) for value in allowed]) if allowed else text != ""
    return values, right.to_numpy()


def _numbers(text: pl.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    values = text.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()  # numbers already stay as they are
    right = np.isfinite(values) & within(values, rule)
    if rule.values is not None:
        right &= np.isin(values, [float(value) for value in rule.values])
    if rule.type == "integer":
        right &= (values == np.floor(values)) & (np.abs(values) <= _LARGEST_EXACT)
        values = np.where(right, values, 0).astype(np.int64)
    return values, right


def within(values: NDArray[Any], rule: Column) -> NDArray[np.bool_]:
    """Which values lie within the rule's bounds; NaN lies within none."""
    right = np.ones(len(values), bool)
    if rule.min is not None:
        right &= values >= rule.min
    if rule.max is not None:
        right &= values <= rule.max
    return right


def _missing(text: pl.Series) -> NDArray[np.bool_]:
    return (text == "" if text.dtype == pl.String else text.is_null()).to_numpy()


def _filled(
    values: NDArray[Any], right: NDArray[np.bool_], missing: NDArray[np.bool_], rule: Column
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values with what the rule says in place of missing ones, which are right then."""
    if not missing.any():
        return values, right
    filler: object = rule.missing
    if filler == "keep":
        filler = "" if values.dtype.kind == "O" else float("nan")
    if values.dtype.kind in "bi" and not isinstance(filler, bool | int):
        values = values.astype(np.float64)
    return np.where(missing, np.asarray(filler, dtype=values.dtype), values), right | missing
