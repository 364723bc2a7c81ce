"""The grade of a submission: the fields of the published report under their published names, and our own."""

from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

NotFinite = Literal["nan", "inf", "-inf"]
Medal = Literal["gold", "silver", "bronze"]


class TestNoise(BaseModel):
    """How much a score would differ on other test rows like these; `grading/noise.py` says how it is estimated."""

    __test__ = False  # pytest takes it for tests otherwise
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    error: float | None = Field(default=None, description="standard error of the score over test sets of this size")
    why: str | None = Field(default=None, description="why it is not known")
    rows: int = Field(default=0, description="test rows that it was estimated from")
    key: str = Field(default="", description="names these rows and their blocks; equal for grades that can be paired")
    deviations: tuple[float, ...] = Field(default=(), description="of the score by block: error² = Σ d² / (G (G − 1))")


@dataclass(frozen=True)
class Judgement:
    """The score of a submission, or why there is none. `sealed` is None if no code had to run."""

    score: float | None = None
    why: str | None = None
    tolerance: float | None = None
    sealed: bool | None = None
    noise: TestNoise | None = None


class Grade(BaseModel):
    """A graded submission. The first sixteen fields are those of a published competition report, in its order."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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
    why: str | None = Field(None, description="one sentence on why there is no score")
    not_finite: NotFinite | None = Field(None, description="the value of a valid score that JSON has no number for")
    quirks: tuple[str, ...] = Field((), description="names of the quirks of the published grader that apply")
    repairs: tuple[str, ...] = Field((), description="names of what the edition repairs")
    indicative: bool = Field(False, description="whether medals are indicative only: other rows or another metric")
    percentile: float | None = Field(None, description="place among human teams, best = 100")
    rank: int | None = Field(None, description="place in the task's reference panel, best = 1")
    panel_size: int | None = None
    baseline: float | None = Field(None, description="score of the task's starter")
    improvement: float | None = Field(None, description="gain over the baseline as a share of it; negative is worse")
    success: bool | None = Field(
        None,
        description="a medal, or without a leaderboard more than 10% over the baseline and, unless the edition "
        "follows the published rule, beyond noise",
    )
    success_published: bool | None = Field(None, description="a medal, or more than 10% over the baseline")
    beyond_spread: bool | None = Field(None, description="better than the baseline by more than chance explains")
    deterministic: bool = Field(True, description="False where the score is a measurement of time")
    tolerance: float | None = Field(
        None, description="a measured score's interval: from score / (1 + tolerance) to score * (1 + tolerance)"
    )
    sealed: bool | None = Field(None, description="whether submitted code ran sealed; None if none had to run")
    noise: TestNoise | None = Field(None, description="sampling error of the score; null if it is not known")

    @property
    def score_error(self) -> float | None:
        """The standard error of the score over test sets of this size, if it is known."""
        return self.noise.error if self.noise else None

    @property
    def medal_probability(self) -> float | None:
        """The probability that a score with this noise reaches the bronze threshold, if there are medals."""
        if self.score is None or self.bronze_threshold is None or self.score_error is None:
            return None
        if self.score_error == 0:
            return float(self.any_medal)
        margin = self.bronze_threshold - self.score if self.is_lower_better else self.score - self.bronze_threshold
        return NormalDist().cdf(margin / self.score_error)

    @property
    def medal(self) -> Medal | None:
        """The medal that was won."""
        medals: tuple[tuple[Medal, bool], ...] = (
            ("gold", self.gold_medal),
            ("silver", self.silver_medal),
            ("bronze", self.bronze_medal),
        )
        return next((name for name, won in medals if won), None)

    @property
    def path(self) -> Path:
        """The path of the submission when it was graded."""
        return Path(self.submission_path)
