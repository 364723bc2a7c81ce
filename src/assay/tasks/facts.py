"""What is known about a published task besides its rules: `facts.json` in its folder."""

from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from assay.core.errors import UsageError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error

FILE = "facts.json"


class KnownLeak(Model):
    """A reported leak or bug of a published task."""

    text: str
    source: str = Field(description="who reported it")
    check: str | None = Field(default=None, description="the check that finds it where it is; None if there is none")
    match: str = Field(default="", description="a part of the finding's text, where a check has several findings")
    status: Literal["repaired", "remains", "outside", "real-data", "not-here"] = Field(
        description="in the repaired edition: gone; still there, as in the competition or its published split; not in "
        "the data at all; suspected, for real data to show; or never true of the data that this project prepares"
    )


class Facts(Model):
    """The facts of a task; any of them may be unknown."""

    format: Literal["facts/1"] = "facts/1"
    splits: tuple[str, ...] = Field(default=(), description="the splits of the suite that the task belongs to")
    closed: date | None = Field(default=None, description="the day on which the competition closed")
    closed_source: Literal["description", "last submission"] | None = Field(default=None, description="of that day")
    sample_score: float | None = Field(
        default=None, description="of the sample submission on real data, in the suite's first edition"
    )
    leaks: tuple[KnownLeak, ...] = ()
    percentiles: tuple[float, ...] = Field(
        default=(), description="scores of the human teams at the percentiles 0 to 100, the best last"
    )


def read_facts(folder: Path) -> Facts:
    """Return the facts about the task in a folder."""
    path = folder / FILE
    if not path.is_file():
        return Facts()
    try:
        return Facts.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise UsageError(f"{path}: {describe_validation_error(error)}") from None
