"""What a run is to find out, registered in `run.json` before its first trial."""

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from assay.core.errors import UsageError
from assay.core.quantities import Model, Sha256, Timestamp
from assay.core.text import did_you_mean
from assay.records.trial import TrialFile

Measure = Literal["success", "honest", "valid", "percentile", "normalized", "improvement", "wins"]
Text = Annotated[str, Field(max_length=1000)]
MAX_SEEDS = 10_000
MAX_PLANS = 500
"""Plans that a run may register."""
MARGIN = 0.05
"""Agents are equivalent if they are at most five points apart, unless the plan says otherwise."""


class PlannedComparison(Model):
    """How the agents of a run are to be compared: by default each with each, by success.

    The estimand is the difference of the means over tasks, on these tasks and on tasks like these. A `sequential`
    comparison may be extended by seeds or tasks after its results are known.
    """

    measure: Measure | None = None
    margin: float = Field(default=MARGIN, gt=0, le=1)
    baseline: Text | None = None
    sequential: bool = False


class RegisteredPlan(PlannedComparison):
    """A comparison with its agents, tasks, numbers of seeds and trials, when it was registered, and the hash of it."""

    agents: tuple[Text, ...]
    tasks: tuple[Text, ...]
    seeds: int = Field(ge=0, le=MAX_SEEDS)
    trials: int | None = Field(default=None, ge=0, description="number of trials, without forks and reruns")
    digest: Sha256
    registered_at: Timestamp

    @property
    def is_intact(self) -> bool:
        """Whether the hash is that of the plan."""
        left_out = {"digest", "registered_at", *(("trials",) if self.trials is None else ())}
        return self.digest == _hash_plan(self.model_dump(mode="json", exclude=left_out))


def register_plan(comparison: PlannedComparison, files: Iterable[TrialFile], registered_at: str) -> RegisteredPlan:
    """Return the plan of a comparison of these trials; `UsageError` if its baseline is none of their agents."""
    trials = [file for file in files if file.parent is None]
    agents = tuple(dict.fromkeys(file.label for file in trials))
    baseline = comparison.baseline
    if baseline is not None and baseline not in agents:
        labels = tuple(dict.fromkeys(file.label for file in trials if file.agent == baseline))
        if len(labels) != 1:
            raise UsageError(f"baseline: no agent of the plan is called {baseline!r}; {did_you_mean(baseline, agents)}")
        baseline = labels[0]
    content = {
        **comparison.model_dump(mode="json"),
        "baseline": baseline,
        "agents": list(agents),
        "tasks": sorted({file.task for file in trials}),
        "seeds": max((file.seed for file in trials), default=0),
        "trials": len({file.id for file in trials if file.replaces is None}),
    }
    return RegisteredPlan.model_validate({**content, "digest": _hash_plan(content), "registered_at": registered_at})


def _hash_plan(content: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
