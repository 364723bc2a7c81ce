"""How many tasks and seeds a comparison of two agents needs, from the variance of results that exist."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from assay.core.errors import UsageError
from assay.results.frame import TrialRow, group_by
from assay.results.inference import DifferenceVariance, Sample, estimate_difference_variance, tasks_needed

SEEDS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class Design:
    """A number of seeds for each agent and task, and the number of tasks that it takes with them."""

    seeds: int
    tasks: int


def find_designs(variance: DifferenceVariance, difference: float) -> list[Design]:
    """Return designs that detect a difference of two success rates with 80% power, for several numbers of seeds."""
    return [Design(seeds, tasks_needed(difference, variance.spread(seeds))) for seeds in SEEDS]


def variance_of_sample(sample: Sample) -> DifferenceVariance:
    """Return the variance of the difference to an independent agent whose results vary as much as these."""
    return _require(estimate_difference_variance(sample))


def variance_of_trials(rows: Sequence[TrialRow]) -> DifferenceVariance:
    """Return the variance of differences in success: the median over the pairs of agents, or that of a single agent."""
    counted = [row for row in rows if row.counts and row.success is not None]
    samples = [_sample(trials) for trials in group_by(counted, lambda row: (row.rules, row.agent))]
    if not samples:
        raise UsageError("The run has no finished trial of a task that defines success")
    if len(samples) == 1:
        return variance_of_sample(samples[0])
    pairs = [estimate_difference_variance(first, second) for first, second in combinations(samples, 2)]
    variances = [_require(pair) for pair in pairs if pair is not None] or [_require(None)]
    return DifferenceVariance(median(each.tasks for each in variances), median(each.trials for each in variances))


def _sample(rows: Sequence[TrialRow]) -> Sample:
    by_task = group_by(rows, lambda row: row.task)
    return {trials[0].task: [float(bool(row.success)) for row in trials] for trials in by_task}


def _require(variance: DifferenceVariance | None) -> DifferenceVariance:
    if variance is None:
        raise UsageError("Estimating the variance needs at least two tasks with two seeds each of an agent")
    return variance
