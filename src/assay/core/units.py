"""Durations and sizes as text. Uses only the standard library: environments are built before anything is installed."""

import re

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_duration(text: str | int | float) -> float:
    """Return the seconds in a duration such as `90`, `90s`, `10m`, `1h30m` or `2d`."""
    if isinstance(text, int | float):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise ValueError(f"{text!r} is not a duration; write 90s, 10m, 1h30m or 2d")
    return sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)


def parse_size(text: str | int) -> int:
    """Return the bytes in a size such as `500MB` or `4GB`."""
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]B)", text.strip().upper())
    if match is None:
        raise ValueError(f"{text!r} is not a size; write 500MB or 4GB")
    return int(float(match[1]) * _SIZES[match[2]])


def format_duration(seconds: float) -> str:
    """Format a duration: `0.4s`, `1m30s`, `100h`, `9d6h`; only the shortest have a decimal, only the longest days."""
    if seconds < 10 and seconds != round(seconds):
        return f"{seconds:.1f}s"
    whole = round(seconds)
    days = whole // 86400 if whole >= 5 * 86400 else 0
    hours = whole // 3600 - 24 * days
    parts = [(days, "d"), (hours, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s")]
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"


def format_measured(seconds: float) -> str:
    """Format a measured duration, of which minutes do not matter after days, nor seconds after hours."""
    unit = 3600 if seconds >= 5 * 86400 else 60 if seconds >= 3600 else 1
    return format_duration(seconds if unit == 1 else round(seconds / unit) * unit)


def format_size(count: int) -> str:
    """Format a number of bytes: `500MB`, `4GB`."""
    unit = max((unit for unit in _SIZES if _SIZES[unit] <= count), key=lambda unit: _SIZES[unit], default=None)
    return f"{count / _SIZES[unit]:.3g}{unit}" if unit else f"{count}B"
