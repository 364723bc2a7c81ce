"""From text to typed values: what a column of a submission may hold, and the message where it holds something else.

- number: decimal or scientific notation; NaN and infinity are refused.
- integer: a number without a fractional part, so `3` and `3.0` alike.
- boolean: `true` or `false` in any case, and `1` or `0`, also written `1.0` and `0.0`, as many tools save them.
- category: one of the allowed values, compared as numbers or booleans where they are such; where none are listed, any
  text that is not empty.
- text: anything, an empty value included.

Blanks around a value do not count, except in text.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.errors import InvalidSubmission
from assay.grading.table import shown
from assay.tasks import Column

_TRUE, _FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")
_LARGEST_EXACT = 2**53
_WORDS = {
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "category": "a value",
    "text": "text",
}


def typed(text: pl.Series, rule: Column, name: str, where: Callable[[int], str]) -> NDArray[Any]:
    """The values of a column; `InvalidSubmission` names the first that breaks the rule, and `where` says its row."""
    if text.dtype == pl.String:
        text = (text if rule.type == "text" else text.str.strip_chars()).fill_null("")
    values, right = _parsed(text, rule)
    if not right.all():
        wrong = np.flatnonzero(~right)
        first = int(wrong[0])
        found = "empty" if text[first] == "" else shown(text[first])
        others = f", and {len(wrong) - 1:,} more are wrong" if len(wrong) > 1 else ""
        must = f"column {text.name!r} must hold {expected(rule)}"
        raise InvalidSubmission(f"{name}: {must}, but is {found} for {where(first)}{others}.")
    return values


def expected(rule: Column) -> str:
    """What a column must hold, in words."""
    if rule.values is not None:
        listed = ", ".join(map(str, rule.values[:12]))
        return f"one of {listed}" + (f" and {len(rule.values) - 12} more" if len(rule.values) > 12 else "")
    at_least = [f"at least {rule.min:g}"] if rule.min is not None else []
    at_most = [f"at most {rule.max:g}"] if rule.max is not None else []
    bounds = " and ".join(at_least + at_most)
    return f"{_WORDS[rule.type]} of {bounds}" if bounds else _WORDS[rule.type]


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
    right = np.isfinite(values)
    if rule.min is not None:
        right &= values >= rule.min
    if rule.max is not None:
        right &= values <= rule.max
    if rule.values is not None:
        right &= np.isin(values, [float(value) for value in rule.values])
    if rule.type == "integer":
        right &= (values == np.floor(values)) & (np.abs(values) <= _LARGEST_EXACT)
        values = np.where(right, values, 0).astype(np.int64)
    return values, right
