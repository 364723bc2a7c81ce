"""What a grade is: the published report's fields under their published names, and ours beside them."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Grade(BaseModel):
    """A judged submission. The first sixteen fields are those of a published competition report, in its order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    competition_id: str
    score: float | None
    gold_threshold: float | None
    silver_threshold: float | None
    bronze_threshold: float | None
    median_threshold: float | None
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: str
    submission_path: str

    format: Literal["grade/1"] = "grade/1"
    task: str
    edition: str
    variant: str
    why: str | None = None
    percentile: float | None = None
    rank: int | None = None
    panel_size: int | None = None
    baseline: float | None = None
    improvement: float | None = None
    success: bool | None = None
    deterministic: bool = True
    tolerance: float | None = None
    sealed: bool | None = None

    @property
    def path(self) -> Path:
        """Where the submission was when it was graded."""
        return Path(self.submission_path)
