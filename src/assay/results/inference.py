"""Statistical inference over tasks and seeds: errors, intervals, tests, ranks and power, as pure functions.

A sample holds the values of one agent: `{task: [value of seed 1, value of seed 2, …]}`, a failure counting as 0. Tasks
stand for the tasks an agent will meet later, so the default error clusters by task; trials of one task are not
independent of each other.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from statistics import NormalDist, fmean, stdev, variance
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.core.values import Interval as Interval

Floats = NDArray[np.float64]
Sample = Mapping[str, Sequence[float]]
Statistic = Callable[[Floats], Floats]
"""Computes one value per resample from an array of resamples × tasks × seeds, where NaN marks a seed that is absent."""

Lattice = tuple[NDArray[np.intp], Floats]
"""Whole numbers and their probabilities; a number may occur several times."""

ErrorKind = Literal["tasks", "seeds", "attempts"]
ERROR_KINDS: Mapping[ErrorKind, str] = {
    "tasks": "clustered by task",
    "seeds": "over the seeds' rates with the tasks as given, as in the published README",
    "attempts": "as if all attempts were independent, as in the published paper",
}

RESAMPLES = 10_000
INTERVAL_METHOD = f"bootstrap over tasks within splits, then over seeds ({RESAMPLES:,} resamples or their exact limit)"
"""How intervals over several tasks are computed, for the notes of tables; a single task has Wilson's."""

_MAX_ENUMERATED = 18
_MAX_LATTICE = 1_000_000
_MAX_BINOMIAL = 200
_SIGN_DRAWS = 100_000
_LEAST_TIE = 0.05
"""Without a tie that counts, strengths of unbeaten agents have no limit."""
_TOLERANCE = 1e-12


# Errors of a mean over tasks


def mean_over_tasks(sample: Sample) -> float:
    """Return the mean of the tasks' means, so that a task with more seeds does not count more."""
    return fmean(_means(sample))


def task_error(sample: Sample) -> float | None:
    """Return the standard error clustered by task, √(Σ(x̄ₜ − x̄)² / (T(T − 1))); None for a single task."""
    means = _means(sample)
    return stdev(means) / math.sqrt(len(means)) if len(means) > 1 else None


def seed_error(sample: Sample) -> float | None:
    """Return the standard error over the rates of the seeds, as the published README has it; tasks count as fixed.

    None for a single seed, or where tasks have different numbers of seeds. It is 0 whenever all seeds agree.
    """
    counts = {len(values) for values in sample.values()}
    if len(counts) != 1 or counts == {1}:
        return None
    rates = [fmean(seed) for seed in zip(*sample.values(), strict=True)]
    return stdev(rates) / math.sqrt(len(rates))


def attempt_error(sample: Sample) -> float:
    """Return the error of a share as if all trials were independent, √(p(1 − p) / N), as in the published paper."""
    values = [value for seeds in sample.values() for value in seeds]
    share = fmean(values)
    return math.sqrt(max(share * (1 - share), 0.0) / len(values))


def standard_errors(sample: Sample) -> dict[ErrorKind, float | None]:
    """Return the standard error of each kind; None where it cannot be computed."""
    return {"tasks": task_error(sample), "seeds": seed_error(sample), "attempts": attempt_error(sample)}


# Intervals


def bootstrap_interval(
    sample: Sample,
    *,
    strata: Mapping[str, str] | None = None,
    statistic: Statistic | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Return the percentile bootstrap interval: tasks are drawn within their stratum, then seeds within each task.

    Where that shows no variation at all, tasks are drawn regardless of strata.
    """
    values = _matrix(sample)
    statistic = statistic or mean_of_means

    def draw(strata: Mapping[str, str] | None) -> Interval:
        random = np.random.default_rng(seed)
        groups = _strata(list(sample), strata)
        resampled: list[Floats] = []
        for start in range(0, resamples, 500):  # in parts, because of memory
            size = min(500, resamples - start)
            resampled.append(statistic(_draw_seeds(values, _draw_tasks(groups, size, random), random)))
        return _percentiles(np.concatenate(resampled), confidence)

    return _with_variation(draw, strata)


def _with_variation(
    compute: Callable[[Mapping[str, str] | None], Interval], strata: Mapping[str, str] | None
) -> Interval:
    """Return the interval within strata; without them where all tasks of each stratum agree, which proves little."""
    interval = compute(strata)
    return compute(None) if strata and interval.is_point else interval


def difference_intervals(
    samples: Sequence[Sample],
    pairs: Sequence[tuple[int, int]],
    *,
    strata: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Interval]:
    """Return the bootstrap interval of the paired mean difference between two samples, for each of some pairs of them.

    The same tasks are drawn for all samples, then seeds for each. Where all values are successes, it is the interval
    that this tends to with ever more resamples; where these show no variation, it is Tango's.
    """
    exact = [_rate_difference_interval(samples[first], samples[second], strata, confidence) for first, second in pairs]
    intervals = {pair: known for pair, known in enumerate(exact) if known is not None}
    for within in (strata, None):
        unknown = [pair for pair in range(len(pairs)) if pair not in intervals or intervals[pair].is_point]
        drawn = sorted({index for pair in unknown for index in pairs[pair]})
        means = _resample_means({index: samples[index] for index in drawn}, within, resamples, seed)
        for pair in unknown:
            first, second = pairs[pair]
            intervals[pair] = _percentiles(means[first] - means[second], confidence)
    return [intervals[pair] for pair in range(len(pairs))]


def _resample_means(
    samples: Mapping[int, Sample], strata: Mapping[str, str] | None, resamples: int, seed: int
) -> dict[int, Floats]:
    """Return the means over tasks of each sample, in resamples that draw the same tasks for all of them."""
    if not samples:
        return {}
    tasks = list(next(iter(samples.values())))
    values = {index: _matrix({task: sample[task] for task in tasks}) for index, sample in samples.items()}
    random = np.random.default_rng(seed)
    groups = _strata(tasks, strata)
    resampled: dict[int, list[Floats]] = {index: [] for index in samples}
    for start in range(0, resamples, 500):  # in parts, because of memory
        drawn = _draw_tasks(groups, min(500, resamples - start), random)
        for index, matrix in values.items():
            resampled[index].append(mean_of_means(_draw_seeds(matrix, drawn, random)))
    return {index: np.concatenate(parts) for index, parts in resampled.items()}


def rate_interval(sample: Sample, *, strata: Mapping[str, str] | None = None) -> Interval:
    """Return the interval of a rate: the bootstrap's, or Wilson's where that would be too narrow to be true.

    With a single task the trials are the sample. Where all trials succeed or all fail, resampling shows no variation,
    and the tasks are counted, each as one observation. Where each stratum agrees in itself, strata are ignored.
    """
    rate = mean_over_tasks(sample)
    if len(sample) == 1:
        (values,) = sample.values()
        return Interval(*wilson_interval(round(sum(values)), len(values)))
    if rate in (0, 1):
        return Interval(*wilson_interval(round(rate * len(sample)), len(sample)))
    return _exact_rate_interval(sample, strata) or bootstrap_interval(sample, strata=strata)


def tango_interval(difference: int, tasks: int, confidence: float = 0.95) -> Interval:
    """Return Tango's score interval of a paired difference that is the same, −1, 0 or 1, on every task.

    With z the normal quantile and T tasks, the score test does not reject differences of up to z²/(T + z²) where all
    are 0, and of at least (T − z²)/(T + z²) where all are 1.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    if difference == 0:
        reach = z * z / (tasks + z * z)
        return Interval(-reach, reach)
    nearest = (tasks - z * z) / (tasks + z * z)
    return Interval(nearest, 1.0) if difference > 0 else Interval(-1.0, -nearest)


def _exact_rate_interval(sample: Sample, strata: Mapping[str, str] | None, confidence: float = 0.95) -> Interval | None:
    """Return what `bootstrap_interval` tends to with ever more resamples, for successes: much faster than drawing them.

    The rate of a drawn task is k/n with the probabilities of a binomial distribution, so the distribution of a sum of
    rates is a convolution. None where seeds differ so much between tasks that there is no small common denominator.
    """
    unit = _common_unit([sample], len(sample))
    if unit is None:
        return None

    def rate(task: str) -> Lattice:
        values = sample[task]
        return np.arange(len(values) + 1) * (unit // len(values)), _binomial(len(values), fmean(values))

    return _with_variation(lambda within: _exact_interval(list(sample), rate, unit, within, confidence), strata)


def _rate_difference_interval(
    first: Sample, second: Sample, strata: Mapping[str, str] | None, confidence: float
) -> Interval | None:
    """Return the same for the paired difference of two rates: that of a drawn task is a difference of binomials.

    Where it is the same for every seed of every task, resampling shows no variation, and it is Tango's.
    """
    unit = _common_unit([first, second], 2 * len(first))
    if unit is None:
        return None

    def shifted_difference(task: str) -> Lattice:
        own, other = first[task], second[task]
        steps = np.subtract.outer(
            np.arange(len(own) + 1) * (unit // len(own)), np.arange(len(other) + 1) * (unit // len(other))
        )
        weights = np.multiply.outer(_binomial(len(own), fmean(own)), _binomial(len(other), fmean(other)))
        return steps.ravel() + unit, weights.ravel()  # differences of −1 to 1 become 0 to 2

    tasks = list(first)
    interval = _with_variation(
        lambda within: _exact_interval(tasks, shifted_difference, 2 * unit, within, confidence), strata
    )
    if interval.is_point:
        return tango_interval(round(2 * interval.low - 1), len(tasks), confidence)
    return Interval(2 * interval.low - 1, 2 * interval.high - 1)


def _common_unit(samples: Sequence[Sample], tasks: int) -> int | None:
    """Return the common denominator of all rates; None where values are no successes, or it is too large."""
    sizes = {len(values) for sample in samples for values in sample.values()}
    unit = math.lcm(*sizes)
    if tasks * unit + 1 > _MAX_LATTICE or max(sizes) > _MAX_BINOMIAL:
        return None
    return unit if all(v in (0, 1) for sample in samples for vs in sample.values() for v in vs) else None


def _exact_interval(
    tasks: Sequence[str],
    distribution: Callable[[str], Lattice],
    highest: int,
    strata: Mapping[str, str] | None,
    confidence: float,
) -> Interval:
    """Return the interval of the mean of drawn tasks as a share of `highest`, the largest value a task can have."""
    top = len(tasks) * highest
    length = 1 << top.bit_length()  # transforms of a power of two are the fastest
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for group in _strata(tasks, strata):
        steps, weights = zip(*(distribution(tasks[row]) for row in group), strict=True)
        drawn = np.bincount(np.concatenate(steps), np.concatenate(weights), highest + 1)
        spectrum *= np.fft.rfft(drawn / len(group), length) ** len(group)
    cumulated = np.cumsum(np.fft.irfft(spectrum, length)[: top + 1])
    low, high = np.searchsorted(cumulated, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low) / top, float(min(high, top)) / top)


@cache
def _binomial(trials: int, share: float) -> Floats:
    """Return the probabilities of 0 to `trials` successes; computed once, because many tasks have the same share."""
    hits = range(trials + 1)
    return np.array([math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in hits])


def wilson_interval(count: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a share, which stays within 0 and 1 and has a width even at 0 of n.

    With p = count / n and z the normal quantile:  (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n).
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, shrink = count / trials, 1 + z * z / trials
    center = (share + z * z / (2 * trials)) / shrink
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / shrink
    low = 0.0 if count == 0 else center - half
    high = 1.0 if count == trials else center + half
    return low, high


def mean_of_means(resampled: Floats) -> Floats:
    """Return the mean over tasks of the mean over seeds, for each resample."""
    means: Floats = np.nanmean(resampled, axis=2).mean(axis=1)
    return means


def interquartile_mean(values: Floats) -> Floats:
    """Return the mean of the middle half of all values, for each resample: robust to a few extreme trials."""
    flat = np.sort(values.reshape(len(values), -1), axis=1)  # NaN comes last
    counts = (~np.isnan(flat)).sum(axis=1)
    cut = counts // 4
    position = np.arange(flat.shape[1])
    kept = (position >= cut[:, None]) & (position < (counts - cut)[:, None])
    means: Floats = np.where(kept, flat, 0.0).sum(axis=1) / kept.sum(axis=1)
    return means


def sample_iqm(sample: Sample) -> float:
    """Return the interquartile mean over all trials of a sample."""
    return float(interquartile_mean(_matrix(sample)[None])[0])


def performance_profile(sample: Sample, thresholds: Sequence[float]) -> list[float]:
    """Return, for each threshold, the mean over tasks of the share of trials above it."""
    return [
        fmean(fmean(value > threshold for value in values) for values in sample.values()) for threshold in thresholds
    ]


# Two agents


@dataclass(frozen=True)
class SignFlipTest:
    """A paired permutation test: the two-sided p-value, and whether all sign patterns were counted."""

    p: float
    exact: bool


def sign_flip_test(differences: Sequence[float], *, seed: int = 0) -> SignFlipTest:
    """Test whether paired differences have mean 0, by flipping their signs in every possible way.

    Differences of rates are multiples of one small number, so that the distribution of their sum is counted exactly for
    any number of tasks. Other values are enumerated up to 18 of them, and drawn at random beyond.
    """
    nonzero = [abs(difference) for difference in differences if difference]
    observed = abs(sum(differences))
    if not nonzero:
        return SignFlipTest(1.0, True)
    if steps := _as_integers(nonzero):
        unit = nonzero[0] / steps[0]
        return SignFlipTest(_lattice_p(steps, round(observed / unit)), True)
    values = np.array(nonzero)
    limit = observed - _TOLERANCE * values.sum()
    if len(values) <= _MAX_ENUMERATED:
        sums = reduce(lambda sums, value: np.concatenate([sums + value, sums - value]), values, np.zeros(1))
        return SignFlipTest(float(np.mean(np.abs(sums) >= limit)), True)
    random = np.random.default_rng(seed)
    hits = sum(
        int((np.abs(random.choice((-1.0, 1.0), (10_000, len(values))) @ values) >= limit).sum())
        for _ in range(_SIGN_DRAWS // 10_000)
    )
    return SignFlipTest((hits + 1) / (_SIGN_DRAWS + 1), False)


def mcnemar_test(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value of McNemar's test: pairs in which exactly one of the two succeeded."""
    pairs = only_first + only_second
    tail = sum(math.comb(pairs, count) for count in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * tail / 2**pairs))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for several comparisons by Holm's method."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def probability_of_improvement(first: Sample, second: Sample) -> float:
    """Return the mean over tasks of the probability that a trial of the first beats one of the second, ties half."""

    def on_task(task: str) -> float:
        difference = np.subtract.outer(np.asarray(first[task], float), np.asarray(second[task], float))
        return float(((difference > 0) + 0.5 * (difference == 0)).mean())

    return fmean(on_task(task) for task in first)


# Ranks


def bradley_terry(wins: Floats, ties: Floats | float = 1.0) -> Floats:
    """Return the strengths (logarithms with mean 0) that make a matrix of wins most likely; a tie is half a win each.

    Every pair is given one tie more than it had: without it an agent that never lost would be infinitely strong.
    Several matrices at once (… × agents × agents) give strengths for each. `ties` is how much the added tie counts.
    """
    count = wins.shape[-1]
    wins = wins + 0.5 * ties * (1 - np.eye(count))
    games = wins + np.swapaxes(wins, -1, -2)
    strengths: Floats = np.zeros(wins.shape[:-1])
    for _ in range(200):  # Newton's method, whose steps are limited far from the maximum
        share = 1 / (1 + np.exp(strengths[..., None, :] - strengths[..., :, None]))
        gradient = (wins - games * share).sum(axis=-1)
        weight = games * share * (1 - share)
        # Only differences of strengths matter; adding a constant matrix keeps their mean at 0.
        curvature = weight.sum(axis=-1)[..., None] * np.eye(count) - weight + 1 / count
        step = np.clip(np.linalg.solve(curvature, gradient[..., None])[..., 0], -1, 1)
        strengths = strengths + step
        if np.abs(step).max() < 1e-10:
            break
    centered: Floats = strengths - strengths.mean(axis=-1, keepdims=True)
    return centered


def count_wins(samples: Sequence[Sample], tasks: Sequence[str]) -> Floats:
    """Return how many tasks each agent wins against each other agent, by its mean on the task; a tie is half a win."""
    wins: Floats = _wins_by_task(samples, tasks).sum(axis=0)
    return wins


def _wins_by_task(samples: Sequence[Sample], tasks: Sequence[str]) -> Floats:
    """Return who wins against whom on each task: tasks × agents × agents."""
    means = np.array([[fmean(sample[task]) for sample in samples] for task in tasks])
    above = means[:, :, None] - means[:, None, :]
    wins: Floats = (above > _TOLERANCE) + 0.5 * (np.abs(above) <= _TOLERANCE)
    return wins * (1 - np.eye(len(samples)))


def bradley_terry_intervals(
    samples: Sequence[Sample], tasks: Sequence[str], *, resamples: int = 1_000, seed: int = 0, confidence: float = 0.95
) -> list[Interval]:
    """Return an interval for the strength of each agent, by a Bayesian bootstrap over tasks.

    Tasks have exponentially distributed weights instead of being drawn or not, and so has the added tie: if it always
    counted the same, the strength of an agent that wins everywhere would seem to be certain.
    """
    random = np.random.default_rng(seed)
    weights = random.exponential(size=(resamples, len(tasks)))
    ties = np.maximum(random.exponential(size=(resamples, 1, 1)), _LEAST_TIE)
    strengths = bradley_terry(np.tensordot(weights, _wins_by_task(samples, tasks), axes=1), ties)
    return [_percentiles(strengths[:, agent], confidence) for agent in range(len(samples))]


# Power, and success in several attempts


@dataclass(frozen=True)
class DifferenceVariance:
    """The variance of the difference between two agents on a task, by its sources."""

    tasks: float
    """Variance over tasks of the difference that infinitely many seeds would show."""

    trials: float
    """Variance by chance when each agent has one trial on the task."""

    def spread(self, seeds: int) -> float:
        """Return the standard deviation of the differences by task with this many seeds for each agent."""
        return math.sqrt(self.tasks + self.trials / seeds)


def estimate_difference_variance(first: Sample, second: Sample | None = None) -> DifferenceVariance | None:
    """Return the components of variance, estimated by the method of moments; None where they cannot be separated.

    The variance of the observed differences is that over tasks and the noise of the seeds, which the spread of trials
    of the same task shows. A single agent is compared with an independent one that varies as much.
    """
    samples = [first] if second is None else [first, second]
    tasks = [task for task in first if all(task in sample for sample in samples)]
    if len(tasks) < 2 or any(len(sample[task]) < 2 for sample in samples for task in tasks):
        return None
    means = [fmean(first[task]) - (fmean(second[task]) if second else 0.0) for task in tasks]
    within = [sum(variance(sample[task]) for sample in samples) for task in tasks]
    noise = fmean(sum(variance(sample[task]) / len(sample[task]) for sample in samples) for task in tasks)
    agents = 2 if second is None else 1
    return DifferenceVariance(tasks=agents * max(variance(means) - noise, 0.0), trials=agents * fmean(within))


def detectable_difference(spread: float, tasks: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the smallest mean difference a paired comparison finds with this power, by the normal approximation.

    `spread` is the standard deviation of the differences by task.
    """
    return _quantiles(power, alpha) * spread / math.sqrt(tasks)


def tasks_needed(difference: float, spread: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return how many tasks a paired comparison needs to find this mean difference with this power."""
    return max(2, math.ceil((_quantiles(power, alpha) * spread / difference) ** 2))


def pass_curves(sample: Sample) -> tuple[dict[int, float], dict[int, float]]:
    """Return pass@k and pass^k as means over tasks, for every k up to the attempts of the task that has fewest."""
    counts = [(len(values), round(sum(values))) for values in sample.values()]
    possible = range(1, min(attempts for attempts, _ in counts) + 1)
    return (
        {k: fmean(pass_at_k(attempts, successes, k) for attempts, successes in counts) for k in possible},
        {k: fmean(pass_all_k(attempts, successes, k) for attempts, successes in counts) for k in possible},
    )


def pass_at_k(attempts: int, successes: int, k: int) -> float:
    """Return the probability that one of k attempts drawn without replacement succeeds: `1 - C(n - c, k) / C(n, k)`."""
    return 1.0 - math.comb(attempts - successes, k) / math.comb(attempts, k)


def expected_best(values: Sequence[float], k: int) -> float:
    """Return the expected best of k values drawn without replacement: `Σ v₍ᵢ₎ C(i − 1, k − 1) / C(n, k)`, v ascending.

    For values of 0 and 1 it is `pass_at_k`.
    """
    ordered = sorted(values)
    total = sum(value * math.comb(position, k - 1) for position, value in enumerate(ordered))
    return total / math.comb(len(ordered), k)


def pass_all_k(attempts: int, successes: int, k: int) -> float:
    """Return the probability that all of k attempts drawn without replacement succeed (pass^k): `C(c, k) / C(n, k)`."""
    return math.comb(successes, k) / math.comb(attempts, k)


# Helpers


def _means(sample: Sample) -> list[float]:
    return [fmean(values) for values in sample.values()]


def _matrix(sample: Sample) -> Floats:
    """Return tasks × seeds, filled up with NaN where a task has fewer seeds."""
    values = np.full((len(sample), max(map(len, sample.values()))), np.nan)
    for row, seeds in enumerate(sample.values()):
        values[row, : len(seeds)] = seeds
    return values


def _strata(tasks: Sequence[str], strata: Mapping[str, str] | None) -> list[NDArray[np.intp]]:
    """Return the places of the tasks of each stratum.

    A task alone in its stratum would be drawn every time, as if it were known that there are no others like it: such
    tasks form one stratum together, and a single one joins the smallest other.
    """
    groups: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        groups.setdefault(strata.get(task, "") if strata else "", []).append(index)
    alone = [group for group in groups.values() if len(group) == 1]
    others = sorted((group for group in groups.values() if len(group) > 1), key=len)
    pooled = [index for group in alone for index in group]
    if len(alone) == 1 and others:
        pooled += others.pop(0)
    return [np.array(group) for group in (pooled, *others) if group]


def _draw_tasks(groups: Sequence[NDArray[np.intp]], size: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return resamples of the tasks, drawn with replacement within each stratum."""
    return np.concatenate([group[random.integers(0, len(group), (size, len(group)))] for group in groups], axis=1)


def _draw_seeds(values: Floats, tasks: NDArray[np.intp], random: np.random.Generator) -> Floats:
    """Return, for the drawn tasks, as many seeds as each has, drawn with replacement."""
    counts = (~np.isnan(values)).sum(axis=1)[tasks]
    width = values.shape[1]
    seeds = (random.random((*tasks.shape, width)) * counts[..., None]).astype(np.intp)
    drawn: Floats = values[tasks[..., None], seeds]
    drawn[np.arange(width) >= counts[..., None]] = np.nan
    return drawn


def _percentiles(resampled: Floats, confidence: float) -> Interval:
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _as_integers(values: Sequence[float]) -> list[int] | None:
    """Return values as whole multiples of a common unit, None if they have none that is worth counting by."""
    for denominator in range(1, 721):
        scaled = np.asarray(values) * denominator
        whole = np.rint(scaled)
        if whole.all() and (np.abs(whole - scaled) < 1e-7).all():
            steps = [int(step) for step in whole]
            shared = reduce(math.gcd, steps)
            steps = [step // shared for step in steps]
            return steps if sum(steps) <= _MAX_LATTICE else None
    return None


def _lattice_p(steps: Sequence[int], observed: int) -> float:
    """Return the share of sign patterns whose sum is at least as far from 0 as the observed one."""
    total = sum(steps)
    shares = np.zeros(2 * total + 1)
    shares[total] = 1.0
    for step in steps:
        shares = 0.5 * (np.roll(shares, step) + np.roll(shares, -step))
    distance = np.abs(np.arange(-total, total + 1))
    return float(min(1.0, shares[distance >= observed].sum()))


def _quantiles(power: float, alpha: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
