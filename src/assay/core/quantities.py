"""Durations and sizes as people write them, and the base class of all pydantic models."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, AllowInfNan, BaseModel, BeforeValidator, ConfigDict, Field

from assay.core.units import format_duration as format_duration
from assay.core.units import format_measured as format_measured
from assay.core.units import format_size as format_size
from assay.core.units import parse_duration as parse_duration
from assay.core.units import parse_size as parse_size

Seconds = Annotated[float, BeforeValidator(parse_duration, json_schema_input_type=float | str), AllowInfNan(False)]
Bytes = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=int | str)]


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
    _check_zone(_check_year(datetime.fromisoformat(text)))
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
