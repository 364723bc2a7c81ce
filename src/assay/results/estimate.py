"""Estimates from the frame: each agent on each task, and each agent over all tasks with the same rules.

Grades of different suites, editions or variants are never combined. A crashed or invalid trial counts as a failure in
every rate; means of scores are over valid trials, and every result says how many of how many those are. Forks and
trials that were rerun are no independent samples and are excluded.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot, sqrt
from statistics import fmean

from assay.core.values import Estimate
from assay.grading.noise import average_noise, difference_error
from assay.grading.result import TestNoise
from assay.records.state import Cause
from assay.results.claims import Claim, Means, Outcomes, Population, claim_attempts, claim_mean, collect_outcomes
from assay.results.frame import Direction, RuleSet, TrialRow, group_by
from assay.results.inference import Families, t_quantile


@dataclass(frozen=True)
class Medals:
    """Number of trials by medal."""

    gold: int
    silver: int
    bronze: int


@dataclass(frozen=True)
class Reason:
    """Why trials have no score, in the words of the record; without a failure where the task does not apply."""

    failure: str | None
    reason: str
    trials: int


@dataclass(frozen=True)
class Summary:
    """The trials of one agent: on one task, or over all tasks with the same rules, where `task` is empty.

    `success` is the claim on its success rate: on one task about that task, over all tasks about tasks like these, and
    `means` has it for these tasks, too. `pass_at` and `pass_all` are the probabilities that one, or all, of k attempts
    at a task succeed, by k.
    """

    rules: RuleSet
    agent: str
    trials: int
    valid: int
    pending: int
    inapplicable: int
    failures: Mapping[Cause, int]
    success: Claim | None
    success_published: Claim | None
    sealed: bool
    # On one task:
    task: str = ""
    title: str = ""
    metric: str = ""
    direction: Direction = "higher"
    kinds_of_failure: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    score: Estimate | None = None
    noise: TestNoise | None = None
    improvement: Estimate | None = None
    rank: Estimate | None = None
    panel_size: int | None = None
    percentile: Estimate | None = None
    medals: Medals | None = None
    best: bool = False
    tied: bool = False
    # Over all tasks:
    tasks: int = 1
    inapplicable_tasks: int = 0
    valid_rate: Claim | None = None
    means: Means | None = None
    pass_at: Mapping[int, Claim] = field(default_factory=dict)
    pass_all: Mapping[int, Claim] = field(default_factory=dict)

    @property
    def finished(self) -> int:
        """Trials that ended, valid or not."""
        return self.valid + sum(self.failures.values())

    @property
    def applies(self) -> bool:
        """Whether the agent can work on the task."""
        return self.inapplicable < self.trials


def summarize_tasks(rows: Sequence[TrialRow]) -> list[Summary]:
    """Return every agent on every task, in the order in which rules, tasks and agents first appear."""
    counted = [row for row in rows if row.counts]
    by_task = [task for group in group_by(counted, lambda row: row.rules) for task in group_by(group, _task_of)]
    return [
        summary
        for task in by_task
        for summary in _mark_best([_summarize_task(trials) for trials in group_by(task, _agent_of)])
    ]


def summarize_agents(rows: Sequence[TrialRow], by_task: Sequence[Summary] | None = None) -> list[Summary]:
    """Return every agent over all its tasks, separately for each set of rules.

    `by_task` is what `summarize_tasks` returns for the rows, if that is known already.
    """
    summaries = summarize_tasks(rows) if by_task is None else by_task
    by_agent = {(group[0].rules, group[0].agent): group for group in group_by(summaries, lambda s: (s.rules, s.agent))}
    return [
        _summarize_agent(trials, by_agent[trials[0].rules, trials[0].agent])
        for group in group_by((row for row in rows if row.counts), lambda row: row.rules)
        for trials in group_by(group, _agent_of)
    ]


def estimate_mean(values: Iterable[float]) -> Estimate | None:
    """Return the mean, standard error (sample standard deviation over √n), minimum and maximum of `values`."""
    numbers = list(values)
    if not numbers:
        return None
    count, mean = len(numbers), fmean(numbers)
    # Many times faster than statistics.stdev, which computes with fractions; `hypot` does not overflow on huge scores.
    error = hypot(*(number - mean for number in numbers)) / sqrt(count * (count - 1)) if count > 1 else None
    return Estimate(count, mean, error, min(numbers), max(numbers))


def reliable_attempts(summary: Summary) -> int:
    """Return the largest k for which pass@k is not noisy: half of the attempts."""
    return max(1, max(summary.pass_at, default=1) // 2)


def _task_of(row: TrialRow) -> str:
    return row.task


def _agent_of(row: TrialRow) -> str:
    return row.agent


def _summarize_task(rows: Sequence[TrialRow]) -> Summary:
    first, valid = rows[0], [row for row in rows if row.valid]
    sizes = {row.panel_size for row in valid if row.panel_size is not None}
    return Summary(
        rules=first.rules,
        agent=first.agent,
        trials=len(rows),
        valid=len(valid),
        pending=sum(row.pending for row in rows),
        inapplicable=sum(row.inapplicable for row in rows),
        failures=_count_failures(rows),
        success=_claim(collect_outcomes(rows, "success"), Population.THESE),
        success_published=_claim(_collect_published(rows), Population.THESE),
        sealed=_are_sealed(rows),
        task=first.task,
        title=first.title,
        metric=first.metric,
        direction=first.direction,
        kinds_of_failure=dict(Counter(name for row in rows if (name := row.failure_name))),
        reasons=_list_reasons(rows),
        score=estimate_mean(row.score for row in valid if row.score is not None),
        noise=average_noise([row.grade.noise if row.grade else None for row in valid]),
        improvement=estimate_mean(row.improvement for row in valid if row.improvement is not None),
        rank=estimate_mean(row.rank for row in valid if row.rank is not None),
        panel_size=sizes.pop() if len(sizes) == 1 else None,
        percentile=estimate_mean(row.percentile for row in valid if row.percentile is not None),
        medals=_count_medals(valid),
    )


def _summarize_agent(rows: Sequence[TrialRow], tasks: Sequence[Summary]) -> Summary:
    families = {row.task: row.family for row in rows if row.family}
    outcomes, published = collect_outcomes(rows, "success"), _collect_published(rows)
    success = _claim(outcomes, Population.LIKE, families)
    here = _claim(outcomes, Population.THESE)
    pass_at, pass_all = claim_attempts(outcomes, families)
    return Summary(
        rules=rows[0].rules,
        agent=rows[0].agent,
        trials=len(rows),
        valid=sum(task.valid for task in tasks),
        pending=sum(task.pending for task in tasks),
        inapplicable=sum(task.inapplicable for task in tasks),
        failures=_count_failures(rows),
        success=success,
        success_published=success if published == outcomes else _claim(published, Population.LIKE, families),
        sealed=_are_sealed(rows),
        tasks=len(tasks),
        inapplicable_tasks=sum(not task.applies for task in tasks),
        valid_rate=_claim(collect_outcomes(rows, "valid"), Population.LIKE, families),
        means=Means(here, success) if here and success else None,
        pass_at=pass_at,
        pass_all=pass_all,
    )


def _claim(outcomes: Outcomes, population: Population, families: Families | None = None) -> Claim | None:
    return claim_mean(outcomes, population, families=families) if outcomes.values else None


def _collect_published(rows: Sequence[TrialRow]) -> Outcomes:
    """Return the successes by the published rule, which ignores noise."""

    def value_of(row: TrialRow) -> float | None:
        return None if row.success_published is None else float(row.success_published)

    return collect_outcomes(rows, "success", value_of=value_of)


def _count_failures(rows: Iterable[TrialRow]) -> dict[Cause, int]:
    return dict(Counter(row.failure for row in rows if row.failure is not None))


def _list_reasons(rows: Iterable[TrialRow]) -> tuple[Reason, ...]:
    without = [row for row in rows if row.failure is not None or row.inapplicable]
    counts = Counter((row.failure_name, row.reason or "no reason recorded") for row in without)
    return tuple(Reason(failure, reason, trials) for (failure, reason), trials in counts.items())


def _count_medals(valid: Sequence[TrialRow]) -> Medals | None:
    medals = [row.medal for row in valid if row.has_leaderboard]
    return Medals(*(medals.count(name) for name in ("gold", "silver", "bronze"))) if medals else None


def _are_sealed(rows: Iterable[TrialRow]) -> bool:
    return not any(row.unsealed for row in rows)


def _mark_best(task: Sequence[Summary]) -> list[Summary]:
    """Mark the best agent of one task; where the data does not show which one is better, mark those that are tied.

    The best mean is better only if it is so beyond the noise of seeds and test rows, and if it fails no more often.
    """
    scored = [summary for summary in task if summary.score is not None]
    if len(scored) < 2:
        return list(task)
    sign = 1 if task[0].direction == "higher" else -1
    first = max(scored, key=lambda summary: sign * summary.score.mean if summary.score else 0.0)
    tied = [summary for summary in scored if summary is not first and not _is_better(first, summary)]
    if not tied:
        return [replace(summary, best=summary is first) for summary in task]
    return [replace(summary, tied=summary is first or summary in tied) for summary in task]


def _is_better(first: Summary, other: Summary) -> bool:
    """Whether the better mean is beyond the other's interval and the noise of test rows, and it fails no more often."""
    assert first.score is not None and other.score is not None
    if first.valid * other.finished < other.valid * first.finished:
        return False
    widths = [interval_half_width(score) for score in (first.score, other.score)]
    if None in widths:
        return False
    if not any(widths) and difference_error(first.noise, other.noise) is None:
        return False  # seeds that agree say nothing about test rows, whose noise is not known
    blocks = len(first.noise.deviations) if first.noise else 0
    rows = t_quantile(max(blocks - 1, 1), 0.95) * (difference_error(first.noise, other.noise) or 0.0)
    return abs(first.score.mean - other.score.mean) > hypot(sum(width for width in widths if width is not None), rows)


def interval_half_width(score: Estimate, confidence: float = 0.95) -> float | None:
    """Return half the width of the Student interval of a mean, which a single value does not have."""
    return None if score.error is None else t_quantile(score.n - 1, confidence) * score.error
