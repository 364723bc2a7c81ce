"""How many tasks and seeds a comparison needs, by simulating the test that is used on agents like those of a pilot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, sqrt
from statistics import NormalDist, fmean, median

import numpy as np

from assay.core.errors import UsageError
from assay.results.frame import TrialRow, group_by
from assay.results.inference import (
    FEWEST_TASKS,
    DifferenceVariance,
    Floats,
    Sample,
    estimate_difference_variance,
    mean_over_tasks,
    p_of_paired,
)

SEEDS = (1, 2, 3, 5, 10)
POWER = 0.8
_MOST_TASKS = 5000
_LARGE = 150
"""With more tasks than that, the test is as good as one by the normal distribution."""


@dataclass(frozen=True)
class Pilot:
    """What is known of the agents: their mean success rate, and how much differences between them vary."""

    mean: float
    variance: DifferenceVariance

    def bounded(self, tasks: int) -> "Pilot":
        """Return it with the upper 80% limit of the variance between tasks, by Wilson and Hilferty's approximation."""
        freedom = tasks - 1
        quantile = freedom * (1 - 2 / (9 * freedom) - 0.8416 * sqrt(2 / (9 * freedom))) ** 3
        variance = DifferenceVariance(self.variance.tasks * freedom / max(quantile, 0.1), self.variance.trials)
        return replace(self, variance=variance)


@dataclass(frozen=True)
class Design:
    """A number of seeds for each agent and task, and the number of tasks that it takes; None beyond 5,000."""

    seeds: int
    tasks: int | None


def find_designs(pilot: Pilot, difference: float, comparisons: int = 1) -> list[Design]:
    """Return designs that detect a difference of two success rates with 80% power, for several numbers of seeds."""
    return [Design(seeds, find_tasks(pilot, difference, seeds, comparisons)) for seeds in SEEDS]


def find_tasks(pilot: Pilot, difference: float, seeds: int, comparisons: int = 1) -> int | None:
    """Return the fewest tasks with which the test has 80% power; None beyond 5,000."""
    normal = NormalDist()
    level = normal.inv_cdf(1 - 0.025 / comparisons)
    guess = ((level + normal.inv_cdf(POWER)) * pilot.variance.spread(seeds) / difference) ** 2
    tasks = max(FEWEST_TASKS, ceil(guess))
    for _ in range(6):
        if tasks > _MOST_TASKS:
            return None
        reached = min(max(simulate_power(pilot, difference, tasks, seeds, comparisons), 0.02), 0.995)
        # The sum of both quantiles grows with the square root of the number of tasks.
        factor = ((level + normal.inv_cdf(POWER)) / (level + normal.inv_cdf(reached))) ** 2
        following = max(FEWEST_TASKS, ceil(tasks * factor))
        if abs(following - tasks) <= max(1, tasks // 50):
            return max(tasks, following)
        tasks = following
    return tasks


def find_difference(pilot: Pilot, tasks: int, seeds: int, comparisons: int = 1) -> float | None:
    """Return the smallest difference in points of a hundredth that the test detects with 80% power; None if none."""
    low, high = 0.0, min(pilot.mean, 1 - pilot.mean) * 1.98
    if simulate_power(pilot, high, tasks, seeds, comparisons) < POWER:
        return None
    while high - low > 0.005:
        middle = (low + high) / 2
        enough = simulate_power(pilot, middle, tasks, seeds, comparisons) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high


def simulate_power(
    pilot: Pilot, difference: float, tasks: int, seeds: int, comparisons: int = 1, simulations: int = 3000
) -> float:
    """Return how often the test over tasks like these finds a difference between two agents.

    Their success rates by task have Beta distributions with means that differ by `difference`. On some tasks the two
    are independent, on the others alike, so that the differences vary as much between tasks as those of the pilot.
    """
    if tasks < FEWEST_TASKS:
        return 0.0
    differences = _simulate(pilot, difference, (simulations, tasks), seeds, np.random.default_rng(tasks * 1000 + seeds))
    level = 0.05 / comparisons
    if tasks > _LARGE:
        spread = np.sqrt((differences**2).mean(axis=1)).clip(1e-9)
        z = np.abs(differences.mean(axis=1)) / spread * sqrt(tasks)
        return float((z >= NormalDist().inv_cdf(1 - level / 2)).mean())
    return float((p_of_paired(differences, draws=4000) <= level).mean())


def _simulate(
    pilot: Pilot, difference: float, shape: tuple[int, int], seeds: int, random: np.random.Generator
) -> Floats:
    full = pilot.mean * (1 - pilot.mean)
    noise = min(max(pilot.variance.trials / 2, 0.02 * full), 0.98 * full)  # of a trial of one agent around its rate
    size = noise / (full - noise)
    independent = min(1.0, pilot.variance.tasks / (2 * (full - noise)))
    means = [min(max(pilot.mean + shift, 0.005), 0.995) for shift in (difference / 2, -difference / 2)]
    pools = [np.sort(random.beta(mean * size, (1 - mean) * size, 20_000)) for mean in means]
    first = random.integers(0, 20_000, shape)
    second = np.where(random.random(shape) < independent, random.integers(0, 20_000, shape), first)
    hits = [random.binomial(seeds, pool[index]) for pool, index in zip(pools, (first, second), strict=True)]
    differences: Floats = (hits[0] - hits[1]) / seeds
    return differences


def pilot_of_sample(sample: Sample) -> Pilot:
    """Return the pilot of agents that are independent of each other and vary as much as this one."""
    return Pilot(mean_over_tasks(sample), _require(estimate_difference_variance(sample)))


def pilot_of_trials(rows: Sequence[TrialRow]) -> Pilot:
    """Return the pilot of a run: the median over the pairs of agents, or that of a single agent, as an upper limit."""
    counted = [row for row in rows if row.counts and row.success is not None]
    samples = [_sample(trials) for trials in group_by(counted, lambda row: (row.rules, row.agent))]
    if not samples:
        raise UsageError("The run has no finished trial of a task that defines success")
    tasks = max(map(len, samples))
    if len(samples) == 1:
        return pilot_of_sample(samples[0]).bounded(tasks)
    pairs = [estimate_difference_variance(first, second) for first, second in combinations(samples, 2)]
    variances = [_require(pair) for pair in pairs if pair is not None] or [_require(None)]
    variance = DifferenceVariance(median(each.tasks for each in variances), median(each.trials for each in variances))
    return Pilot(fmean(map(mean_over_tasks, samples)), variance).bounded(tasks)


def _sample(rows: Sequence[TrialRow]) -> Sample:
    by_task = group_by(rows, lambda row: row.task)
    return {trials[0].task: [float(bool(row.success)) for row in trials] for trials in by_task}


def _require(variance: DifferenceVariance | None) -> DifferenceVariance:
    if variance is None:
        raise UsageError("Estimating the variance needs at least two tasks with two seeds each of an agent")
    return variance
