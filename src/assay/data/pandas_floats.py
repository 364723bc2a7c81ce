"""Floats as pandas 2.2 parses them unless asked for exact ones: some are a neighbor of the nearest float.

Newer versions of pandas parse exactly and cannot be asked for this.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_NUMBER = re.compile(r"([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?")
_MAX_DIGITS = 17  # more are ignored
_SURE_LENGTH = 16  # a shorter decimal has at most 15 digits besides the point, which are always parsed exactly
_MAX_EXPONENT = 308


def parse_float(text: str) -> float:
    """Return the float that pandas 2.2 makes of a decimal: its digits are added up, then scaled by a power of ten."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or not (match[2] or match[3]):
        return float(text)
    sign, whole, decimals, power = match.groups()
    number = 0.0
    for digit in (whole + decimals)[:_MAX_DIGITS]:
        number = number * 10.0 + int(digit)
    used_decimals = min(len(decimals), max(0, _MAX_DIGITS - len(whole)))
    exponent = max(0, len(whole) - _MAX_DIGITS) - used_decimals + int(power or 0)
    if exponent > 0:
        number *= _power_of_ten(exponent)
    elif exponent < -_MAX_EXPONENT:
        number = number / _power_of_ten(-_MAX_EXPONENT - exponent) / _power_of_ten(_MAX_EXPONENT)
    else:
        number /= _power_of_ten(-exponent)
    return -number if sign == "-" else number


def replace_floats(frame: pd.DataFrame, path: Path, **options: Any) -> pd.DataFrame:
    """Return a frame that was read from this CSV file with its floats parsed as pandas 2.2 does."""
    columns = [name for name, kind in frame.dtypes.items() if kind == np.float64]
    if not columns:
        return frame
    texts = pd.read_csv(path, **{**options, "usecols": columns, "dtype": str, "keep_default_na": False})
    for name in columns:
        column = texts[name]
        doubtful = (column.str.len() > _SURE_LENGTH) | column.str.contains("e", case=False, regex=False)
        rows = np.flatnonzero(doubtful & frame[name].notna())
        values = frame[name].to_numpy(copy=True)
        values[rows] = [parse_float(column.iat[row]) for row in rows]
        frame[name] = values
    return frame


def _power_of_ten(exponent: int) -> float:
    return float(f"1e{exponent}")
