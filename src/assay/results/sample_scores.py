"""Scores of sample submissions: with the gold medal's, they put scores of different metrics on one scale."""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from assay.core.errors import RecordError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error

FILE = "sample_scores.json"


class SampleScores(Model):
    """The file `sample_scores.json` of a suite: the score of each task's sample submission on real data."""

    format: Literal["sample-scores/1"]
    edition: str
    source: str
    scores: dict[str, float | None] = Field(description="null where the metric is undefined for it")


@cache
def load_sample_scores(suite: Path) -> SampleScores | None:
    """Return the scores of the sample submissions of the suite in a folder, if they are known."""
    path = suite / FILE
    if not path.is_file():
        return None
    try:
        return SampleScores.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RecordError(f"{path}: {describe_validation_error(error)}") from None


def normalize_score(score: float, sample: float, gold: float) -> float | None:
    """Return where a score is between the sample submission's (0) and the gold medal's (1), limited to these.

    None where the sample submission already scores like gold.
    """
    if sample == gold:
        return None
    return min(max((score - sample) / (gold - sample), 0.0), 1.0)
