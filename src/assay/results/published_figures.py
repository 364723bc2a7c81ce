"""Figures published for a suite, to compare with, and for each task how far it is comparable."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from assay.core.errors import RecordError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error

FILE = "published.json"


class Comparability(Model):
    """How far the figures of one edition compare with the published ones."""

    comparable: tuple[str, ...] = Field(description="tasks with the same test rows, score and starter")
    differences: dict[str, str] = Field(description="task -> how it differs")


class PublishedFigures(Model):
    """The file `published.json` of a suite; figures are in per cent, in the order of `columns`."""

    format: Literal["published/1"]
    source: str
    trials: int = Field(description="trials per figure")
    columns: tuple[str, ...] = Field(description="the models that were evaluated")
    success: dict[str, tuple[float | None, ...]] = Field(description="task -> success rate")
    improvement: dict[str, tuple[float | None, ...]] = Field(description="task -> mean improvement over the baseline")
    mean_success: tuple[float | None, ...] = Field(description="as printed")
    mean_improvement: tuple[float | None, ...] = Field(description="as printed")
    editions: dict[str, Comparability] = Field(description="edition of the suite -> how far its figures compare")

    @model_validator(mode="after")
    def _check_shape(self) -> "PublishedFigures":
        rows = [*self.success.values(), *self.improvement.values(), self.mean_success, self.mean_improvement]
        if any(len(row) != len(self.columns) for row in rows):
            raise ValueError("every row must have a figure or null for each column")
        for edition in self.editions.values():
            if not set(self.success) == set(self.improvement) == set(edition.differences) >= set(edition.comparable):
                raise ValueError("all tables and the differences must have the same tasks")
        return self

    def comparability(self, edition: str) -> Comparability:
        """Return how far an edition compares; of an edition that the file does not know, no task does."""
        return self.editions.get(edition, Comparability(comparable=(), differences={}))


def load_published_figures(suite: Path) -> PublishedFigures | None:
    """Return the published figures of the suite in a folder, if there are any."""
    path = suite / FILE
    if not path.is_file():
        return None
    try:
        return PublishedFigures.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RecordError(f"{path}: {describe_validation_error(error)}") from None
