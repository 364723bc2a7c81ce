"""From what pandas read to typed values, as the published graders take them.

- number: what pandas makes a number of, and without an upper bound also what `float()` does, as `1_0`; NaN and
  infinity are refused unless the rule has a use for missing values.
- integer: what `int()` takes, so 3.7 is 3.
- category and boolean: what scikit-learn compares with the answers: whole numbers and booleans with such, text with
  text. Any class will do.
- text: anything, numbers as Python writes them.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.grading.submission.strict_values import Where, expected, refuse, within
from assay.tasks import Column

_BEYOND_WHOLE_NUMBERS = 2.0**63


def frame_values(
    series: pd.Series, column: str, rule: Column, truth: pd.Series, name: str, where: Where
) -> NDArray[Any]:
    """The values of a column; `InvalidSubmission` names the first that breaks the rule, and `where` says its row.

    `truth` is the same column of the answers: of a class only its kind is looked at.
    """
    if rule.type == "number":
        values, right, must = *_numbers(series, rule), expected(rule)
    elif rule.type == "integer":
        values, right, must = *_integers(series, rule), expected(rule)
    elif rule.type == "text":
        values, right, must = *_texts(series, rule), "text"
    else:
        values, right, must = _classes(series, rule, truth)
    if not right.all():
        refuse(column, right, lambda row: "" if pd.isna(series.iloc[row]) else series.iloc[row], must, name, where)
    return values


def true_frame_values(series: pd.Series, column: str, rule: Column) -> NDArray[Any]:
    """The answers' values of the same column: they may lie anywhere, and numbers may be missing."""
    missing = "keep" if rule.type == "number" else rule.missing
    anywhere = rule.model_copy(update={"min": None, "max": None, "missing": missing, "only_text": False})
    return frame_values(series, column, anywhere, series, "answers", lambda row: f"row {row + 1}")


def loose_values(series: pd.Series) -> NDArray[Any]:
    """The values of a column of the answers that no rule describes; where text is missing, it is empty."""
    return series.fillna("").to_numpy() if series.dtype == object else series.to_numpy()


def _filled(series: pd.Series, rule: Column) -> pd.Series:
    """The column with what the rule says in place of missing values, which may turn numbers into a mix of types."""
    if rule.missing in ("refuse", "keep"):
        return series
    missing = series.isna()
    return series.astype(object).mask(missing, rule.missing) if missing.any() else series


def _numbers(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    # Text cannot be compared with bounds, which comes first; without them scikit-learn or `astype` converts it.
    if series.dtype == object and rule.max is None:
        values = np.array([_float(value) for value in series.tolist()], np.float64)
    else:
        values = pd.to_numeric(series, errors="coerce").to_numpy(np.float64)
    missing = series.isna().to_numpy()
    if rule.missing == "refuse":
        return values, np.isfinite(values) & within(values, rule)
    if rule.missing != "keep":
        values = np.where(missing, float(rule.missing), values)
    return values, missing | (~np.isnan(values) & within(values, rule))


def _float(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return float("nan")


def _integers(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    whole, right = [], []
    for value in _filled(series, rule).tolist():
        try:
            whole.append(int(value))
            right.append(True)
        except (ValueError, TypeError, OverflowError):
            whole.append(0)
            right.append(False)
    values = np.array(whole)  # of Python's own numbers where they exceed 64 bits
    return values, np.array(right, bool) & within(values, rule)


def _texts(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    filled = _filled(series, rule).tolist()
    right = np.ones(len(filled), bool)
    if rule.missing == "refuse":
        right &= series.notna().to_numpy()
    if rule.only_text:
        right &= np.fromiter((isinstance(value, str) for value in filled), bool, len(filled))
        # "nan" is how NumPy writes a missing value next to text; a column that holds no text at all stays numeric.
        if rule.missing == "nan" and series.isna().all():
            right[:] = False
    values = np.empty(len(filled), object)
    values[:] = [str(value) for value in filled]
    return values, right


def _classes(series: pd.Series, rule: Column, truth: pd.Series) -> tuple[NDArray[Any], NDArray[np.bool_], str]:
    """The classes, which of them scikit-learn takes, and what it takes, in words."""
    values = _filled(series, rule).to_numpy()
    if _filled(truth, rule).to_numpy().dtype.kind == "O":
        if values.dtype.kind == "O":
            return values, np.fromiter((isinstance(value, str) for value in values), bool, len(values)), "text"
        return values, np.zeros(len(values), bool), "text, as the answers do"
    if values.dtype.kind == "O":
        return values, np.zeros(len(values), bool), "whole numbers or booleans only, as the answers do"
    if values.dtype.kind != "f":
        return values, np.ones(len(values), bool), "whole numbers"
    in_64_bits = (values >= -_BEYOND_WHOLE_NUMBERS) & (values < _BEYOND_WHOLE_NUMBERS)  # scikit-learn makes them such
    return values, in_64_bits & (values == np.floor(values)), "whole numbers"
