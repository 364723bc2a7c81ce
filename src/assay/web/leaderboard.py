"""The leaderboard: one line per agent over all tasks with the same rules."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import fmean, median_low

from assay.results.claims import Claim, Outcomes, Population, claim_mean, collect_outcomes
from assay.results.frame import TrialRow, group_by
from assay.results.inference import Families
from assay.results.integrity import IntegritySummary, summarize_integrity


@dataclass(frozen=True)
class Line:
    """One agent: the claims on its means over tasks, with failures as 0."""

    agent: str
    models: tuple[str, ...]
    tasks: int
    trials: int
    finished: int
    valid: int
    success: Claim | None
    percentile: Claim | None
    improvement: float | None
    seconds: float | None
    cost: float | None
    tokens: int | None
    sealed: bool
    failures: int
    integrity: IntegritySummary | None = None
    outcomes: Outcomes | None = None
    ranked: Claim | None = None
    """Its success on the tasks that all ranked agents have, where that is another one."""

    @property
    def order(self) -> tuple[float, int, float, str]:
        """What it is ranked by: success, then the number of tasks."""
        success = self.ranked or self.success
        return -(success.value if success else -1.0), -self.tasks, -_or_low(self.improvement), self.agent


def make_lines(rows: Sequence[TrialRow], families: Families) -> list[Line]:
    """Return the agents, the one with the highest success rate first."""
    by_agent = group_by((row for row in rows if row.counts), lambda row: row.agent)
    lines = rank_on_common_tasks([_make_line(trials, families) for trials in by_agent], families)
    return sorted(lines, key=lambda line: line.order)


def rank_on_common_tasks(lines: Sequence[Line], families: Families) -> list[Line]:
    """Return the lines with what they are ranked by: an agent is not ahead because it has easier tasks."""
    known = [line.outcomes for line in lines if line.outcomes]
    common = [task for task in known[0].values if all(task in each.values for each in known)] if known else []
    if not common or all(len(each.values) == len(common) for each in known):
        return [replace(line, ranked=None) for line in lines]
    return [
        replace(line, ranked=claim_mean(line.outcomes.on(common), Population.LIKE, families=families))
        if line.outcomes
        else line
        for line in lines
    ]


def _make_line(trials: Sequence[TrialRow], families: Families) -> Line:
    success, percentile = collect_outcomes(trials, "success"), collect_outcomes(trials, "percentile")
    ranked = any(row.has_leaderboard for row in trials) and bool(percentile.values)
    ended = [row for row in trials if not row.pending and not row.inapplicable]
    costs, tokens = [row.cost for row in ended], _mean(row.tokens for row in ended)
    return Line(
        agent=trials[0].agent,
        models=tuple(dict.fromkeys(row.model for row in trials if row.model)),
        tasks=len({row.task for row in trials if not row.inapplicable}),
        trials=len(trials),
        finished=len(ended),
        valid=sum(row.valid for row in ended),
        success=claim_mean(success, Population.LIKE, families=families) if success.values else None,
        percentile=claim_mean(percentile, Population.LIKE, families=families) if ranked else None,
        improvement=_median_improvement(ended),
        seconds=_mean(row.elapsed for row in ended),
        cost=None if any(cost is None for cost in costs) else _mean(costs),
        tokens=None if tokens is None else round(tokens),
        sealed=not any(row.unsealed for row in trials),
        failures=sum(row.failure is not None for row in trials),
        integrity=summarize_integrity(trials),
        outcomes=success if success.values else None,
    )


def _median_improvement(ended: Sequence[TrialRow]) -> float | None:
    """Return the median over tasks of the median improvement, failed trials being below all; None where it is one."""
    tasks = group_by(ended, lambda row: row.task)
    known = [task for task in tasks if any(row.improvement is not None or row.failure for row in task)]
    medians = [median_low([-inf if row.improvement is None else row.improvement for row in task]) for task in known]
    overall = median_low(medians) if medians else -inf
    return None if overall == -inf else overall


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _or_low(value: float | None) -> float:
    return -1e300 if value is None else value
