"""Figures that others published for a suite, to be read beside ours, each with what keeps it from being compared."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from assay.core.errors import RecordError
from assay.core.quantities import Model

FILE = "published.json"


class Published(Model):
    """The contents of a suite's `published.json`; figures are in per cent, in the order of `columns`."""

    format: Literal["published/1"]
    source: str
    trials: int = Field(description="how many trials stand behind each figure")
    columns: tuple[str, ...] = Field(description="the models that were tried")
    success: dict[str, tuple[float | None, ...]] = Field(description="task -> share of trials that succeeded")
    improvement: dict[str, tuple[float | None, ...]] = Field(description="task -> mean gain over the baseline")
    mean_success: tuple[float | None, ...] = Field(description="as printed there")
    mean_improvement: tuple[float | None, ...] = Field(description="as printed there")
    comparable: tuple[str, ...] = Field(description="tasks whose test rows, score and starter are the same here")
    differences: dict[str, str] = Field(description="task -> what is not as it was there")

    @model_validator(mode="after")
    def _fits(self) -> "Published":
        rows = [*self.success.values(), *self.improvement.values(), self.mean_success, self.mean_improvement]
        if any(len(row) != len(self.columns) for row in rows):
            raise ValueError("every row must have a figure, or null, for each of the columns")
        if not set(self.success) == set(self.improvement) == set(self.differences) >= set(self.comparable):
            raise ValueError("every table and the list of differences must name the same tasks")
        return self


def published_of(suite: Path) -> Published | None:
    """What was published for the suite in a folder, if anything."""
    path = suite / FILE
    if not path.is_file():
        return None
    try:
        return Published.model_validate_json(path.read_bytes())
    except ValidationError as error:
        fault = error.errors()[0]
        raise RecordError(f"{path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
