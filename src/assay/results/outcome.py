"""The outcome of one trial, and whether it counts as valid, failed or neither."""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

from assay.grading.result import Grade
from assay.lab.machine_load import BUSY_LOAD
from assay.records.state import Cause, Failure, Status
from assay.results.sample_scores import normalize_score

Direction = Literal["higher", "lower"]


@dataclass(frozen=True, order=True)
class RuleSet:
    """What two grades must have in common before they may be aggregated."""

    suite: str
    edition: str
    variant: str

    def __str__(self) -> str:
        name = f"{self.suite} {self.edition}"
        return name if self.variant == "real" else f"{name}, {self.variant} data"


@dataclass(frozen=True)
class Outcome:
    """One trial, finished or not.

    `agent` names one agent with one set of settings; different settings have different names. A fork shares the past of
    its `parent`, and a trial that was rerun is `replaced`: neither is an independent sample, so neither `counts`.
    `split` is the smallest split of the suite that the task belongs to, `sample_score` the known score of its sample
    submission. `ignores_noise` says that its edition defines success by the published rule. What follows from these
    fields is computed once, because tables ask for it again and again.
    """

    task: str
    title: str
    metric: str
    direction: Direction
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
    trial: str = ""
    model: str | None = None
    tokens: int = 0
    cost: float | None = 0.0
    kind_of_failure: Failure | None = None
    parent: str | None = None
    parent_step: int | None = None
    replaced: bool = False
    load: float | None = None
    split: str = ""
    sample_score: float | None = None
    ignores_noise: bool = False

    @property
    def counts(self) -> bool:
        """Whether it is an independent sample, which means and rates are computed from."""
        return self.parent is None and not self.replaced

    @property
    def busy(self) -> bool:
        """Whether the machine was too busy for its time limit and measured times to be reliable."""
        return self.load is not None and self.load > BUSY_LOAD

    @cached_property
    def rules(self) -> RuleSet:
        """The suite, edition and variant it was graded by."""
        return _make_rules(self.task.partition("/")[0], self.edition, self.variant)

    @property
    def inapplicable(self) -> bool:
        """Whether the agent cannot work on this kind of task, which is not a failure."""
        return self.status == "inapplicable"

    @property
    def pending(self) -> bool:
        """Whether there is no result yet: the agent has not ended, or its submission is not graded."""
        return self.status in ("waiting", "running", "submitted") or (self.status == "done" and self.grade is None)

    @property
    def ran(self) -> bool:
        """Whether the agent was started."""
        return self.status not in ("waiting", "inapplicable")

    @property
    def unsealed(self) -> bool:
        """Whether agent code, or submitted code while it was graded, ran outside of a sandbox."""
        return self.ran and (not self.sealed or (self.grade is not None and self.grade.sealed is False))

    @property
    def valid(self) -> bool:
        """Whether it finished with a submission that has a score."""
        return self.score is not None

    @cached_property
    def score(self) -> float | None:
        """The score of a valid trial; the last submission of a crashed trial does not count."""
        if self.status != "done" or self.grade is None or not self.grade.valid_submission:
            return None
        return _finite(self.grade.score)

    @property
    def improvement(self) -> float | None:
        """The improvement of a valid trial over the starter, as a fraction of the starter's score."""
        return _finite(self.grade.improvement) if self.grade is not None and self.valid else None

    @property
    def normalized(self) -> float | None:
        """The score of a valid trial between that of the sample submission (0) and that of the gold medal (1)."""
        gold = self.grade.gold_threshold if self.grade else None
        if self.score is None or self.sample_score is None or gold is None:
            return None
        return normalize_score(self.score, self.sample_score, gold)

    @cached_property
    def success(self) -> bool | None:
        """Whether the trial succeeded, as its grade says; a failed trial never does.

        None while the trial is pending or inapplicable, and where the task does not define success on its data.
        """
        if self.grade is not None and self.grade.success is None:
            return None
        if self.failure is not None:
            return False
        return self.grade.success if self.grade is not None and self.valid else None

    @property
    def success_published(self) -> bool | None:
        """Whether the trial succeeded by the published rule, which ignores noise."""
        if self.failure is not None or self.grade is None or not self.valid:
            return self.success
        return self.grade.success_published

    @property
    def success_beyond_noise(self) -> bool | None:
        """Whether the trial succeeded beyond noise, whatever its edition requires."""
        if self.ignores_noise and self.success and self.grade is not None:
            return self.grade.beyond_spread
        return self.success

    @property
    def has_leaderboard(self) -> bool:
        """Whether the task has a leaderboard of human teams."""
        return self.grade is not None and self.grade.gold_threshold is not None

    @cached_property
    def failure(self) -> Cause | None:
        """The cause why a finished trial has no valid submission; None if it has one or is not finished."""
        if self.valid or self.pending or self.inapplicable:
            return None
        return self.cause or ("user" if self.status == "stopped" else "agent")

    @property
    def failure_name(self) -> str | None:
        """What a failed trial failed by: `out of time`, `no submission`, `infrastructure`, …."""
        if self.failure == "agent" and self.kind_of_failure:
            return self.kind_of_failure
        return self.failure

    @property
    def reason(self) -> str | None:
        """Why there is no score, in the words of the record."""
        if self.why is not None or self.grade is None:
            return self.why
        if self.grade.valid_submission and not self.valid:
            return self.grade.why or "the score is not a finite number"
        return self.grade.why


@cache
def _make_rules(suite: str, edition: str, variant: str) -> RuleSet:
    """Return the same object for all trials with the same rules: thousands of trials are grouped by it."""
    return RuleSet(suite, edition, variant)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
