"""What came of one trial, and whether it counts as valid, failed or neither."""

import math
from dataclasses import dataclass
from typing import Literal

from assay.grading.result import Grade
from assay.records.trial import Cause, Status


@dataclass(frozen=True, order=True)
class Rules:
    """What two grades must share before they may be added up."""

    suite: str
    edition: str
    variant: str

    def __str__(self) -> str:
        name = f"{self.suite} {self.edition}"
        return name if self.variant == "real" else f"{name}, {self.variant} data"


@dataclass(frozen=True)
class Outcome:
    """One trial, as far as it has come.

    `agent` names one agent with one set of settings: whoever reads the records gives two settings two names.
    """

    task: str
    title: str
    metric: str
    direction: Literal["higher", "lower"]
    agent: str
    seed: int
    edition: str
    variant: str
    status: Status
    cause: Cause | None
    why: str | None
    grade: Grade | None
    elapsed: float
    steps: int
    sealed: bool

    @property
    def rules(self) -> Rules:
        """The suite, edition and variant it was judged by."""
        return Rules(self.task.partition("/")[0], self.edition, self.variant)

    @property
    def inapplicable(self) -> bool:
        """Whether the agent cannot take this kind of task at all, which is no failure."""
        return self.status == "inapplicable"

    @property
    def pending(self) -> bool:
        """Whether the result is still to come: the agent has not ended, or its work is not graded."""
        return self.status in ("waiting", "running", "submitted") or (self.status == "done" and self.grade is None)

    @property
    def ran(self) -> bool:
        """Whether agent code was ever started."""
        return self.status not in ("waiting", "inapplicable")

    @property
    def unsealed(self) -> bool:
        """Whether agent code, or submitted code while it was graded, ran without walls around it."""
        return self.ran and (not self.sealed or (self.grade is not None and self.grade.sealed is False))

    @property
    def valid(self) -> bool:
        """Whether it ended well with a submission that could be scored."""
        return self.score is not None

    @property
    def score(self) -> float | None:
        """The score of a valid trial; the last submission of a crashed one does not count."""
        if self.status != "done" or self.grade is None or not self.grade.valid_submission:
            return None
        return _finite(self.grade.score)

    @property
    def improvement(self) -> float | None:
        """How much better than the starter a valid trial did, as a fraction of the starter's score."""
        return _finite(self.grade.improvement) if self.grade is not None and self.valid else None

    @property
    def success(self) -> bool | None:
        """A medal where there is a leaderboard, else what the task calls success; a failure never is one.

        None while the trial is pending or inapplicable, and where the task does not say what success is.
        """
        if self.failure is not None:
            return False
        if self.grade is None or not self.valid:
            return None
        return self.grade.success

    @property
    def has_leaderboard(self) -> bool:
        """Whether the task was judged against human teams."""
        return self.grade is not None and self.grade.gold_threshold is not None

    @property
    def failure(self) -> Cause | None:
        """Whose fault it is that a finished trial has no valid submission; None if it has one or is not finished."""
        if self.valid or self.pending or self.inapplicable:
            return None
        return self.cause or ("user" if self.status == "stopped" else "agent")

    @property
    def reason(self) -> str | None:
        """Why there is no score, in the words of the record."""
        if self.why is not None or self.grade is None:
            return self.why
        if self.grade.valid_submission and not self.valid:
            return self.grade.why or "the score is not a finite number"
        return self.grade.why


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
