"""Durations and sizes as people write them, and the base class of all pydantic models."""

import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

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


def format_size(count: int) -> str:
    """Format a number of bytes: `500MB`, `4GB`."""
    unit = max((unit for unit in _SIZES if _SIZES[unit] <= count), key=lambda unit: _SIZES[unit], default=None)
    return f"{count / _SIZES[unit]:.3g}{unit}" if unit else f"{count}B"


Seconds = Annotated[float, BeforeValidator(parse_duration)]
Bytes = Annotated[int, BeforeValidator(parse_size)]


def format_cost(dollars: float | None) -> str:
    """Format a cost in dollars; None is the cost of a model without a known price."""
    return "unknown" if dollars is None else f"${dollars:.2f}"


def check_file_name(text: str) -> str:
    """Return the name of a file; raise `ValueError` if it could lead out of the folder that the file is in."""
    if text in ("", ".", "..") or "/" in text or not text.isprintable() or len(text) > 255:
        raise ValueError("not a file name")
    return text


def _check_task_name(text: str) -> str:
    suite, slash, name = text.partition("/")
    if not slash:
        raise ValueError("not the name of a task; it is written SUITE/TASK")
    check_file_name(suite)
    check_file_name(name)
    return text


def _check_timestamp(text: str) -> str:
    _check_year(datetime.fromisoformat(text))
    return text


def _check_year(moment: datetime) -> datetime:
    if not 1970 <= moment.year <= 3000:  # others cannot be converted between time zones
        raise ValueError("not a date between the years 1970 and 3000")
    return moment


def _check_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("not a time with its time zone")
    return moment


FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
BoundedInt = Annotated[int, Field(ge=-(2**63), lt=2**63)]
FileName = Annotated[str, AfterValidator(check_file_name)]
TaskName = Annotated[str, AfterValidator(_check_task_name)]
Timestamp = Annotated[str, AfterValidator(_check_timestamp)]
BoundedDatetime = Annotated[datetime, AfterValidator(_check_year), AfterValidator(_check_zone)]
Md5 = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Model(BaseModel):
    """Immutable plain data that rejects unknown fields.

    Validators are built on first use, because a command uses only a few of all models.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
