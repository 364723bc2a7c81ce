"""Statistical inference over tasks and seeds: errors, intervals, tests, ranks and power, as pure functions.

A sample holds the values of one agent: `{task: [value of seed 1, value of seed 2, …]}`, a failure counting as 0. Tasks
stand for the tasks an agent will meet later, so the default error clusters by task; trials of one task are not
independent of each other.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from statistics import NormalDist, fmean, stdev, variance
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.core.values import Interval as Interval

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, Floats)
Sample = Mapping[str, Sequence[float]]
Families = Mapping[str, str]
"""The family of each task that has siblings, such as two competitions of one series; they are one observation."""

ErrorKind = Literal["tasks", "seeds", "attempts"]
ERROR_KINDS: Mapping[ErrorKind, str] = {
    "tasks": "clustered by task",
    "seeds": "over the seeds' rates with the tasks as given, as in the published README",
    "attempts": "as if all attempts were independent, as in the published paper",
}

INTERVAL_METHOD = "on tasks like these, by random weights of tasks (of families, if any) and of a further task"
"""How intervals of rates over tasks are computed, for the notes of tables; see `infer_mean`."""

FEWEST_TASKS = 6
"""A sign-flip test over fewer tasks has no p-value below 5%: the smallest is 2 / 2⁵ = 0.0625; see `fewest_tasks`."""
DRAWS = 20_000
_MIDDLE_DRAWS = 1000

_REACH = 0.75
_MAX_SUBSETS = 13
_MAX_ASSIGNMENTS = 1000
_MAX_LATTICE = 1_000_000
_MAX_UNITS = 20_000
_MAX_BINOMIAL = 200
_LARGE_FREEDOM = 1000
_TOLERANCE = 1e-12
_NO_DIFFERENCE = 1e-9


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


def _common_unit(samples: Sequence[Sample], tasks: int) -> int | None:
    """Return the common denominator of all rates; None where values are no successes, or it is too large."""
    sizes = {len(values) for sample in samples for values in sample.values()}
    unit = math.lcm(*sizes)
    if tasks * unit + 1 > _MAX_LATTICE or max(sizes) > _MAX_BINOMIAL:
        return None
    return unit if all(v in (0, 1) for sample in samples for vs in sample.values() for v in vs) else None


def wilson_interval(count: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
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


# Two agents


def holm_allowances(p_values: Sequence[float], total: int, levels: Sequence[float] = ()) -> list[int]:
    """Return for how many comparisons each must allow by Holm's method, if there are `total` of them.

    `levels` are those of the tests, which may differ in how often results were looked at; 5% by default.
    """
    allowances, levels = [total] * len(p_values), levels or [0.05] * len(p_values)
    step = total
    for index in sorted(range(len(p_values)), key=lambda index: p_values[index] / levels[index]):
        allowances[index] = step
        step -= p_values[index] * step <= levels[index] and step > 1
    return allowances


def fewest_tasks(level: float) -> int:
    """Return the fewest tasks over which a sign-flip test can reject at a level: its smallest p-value is 2 / 2ᵀ."""
    return math.ceil(1 - math.log2(level) - _TOLERANCE)


def fewest_seeds(tasks: int, level: float) -> int:
    """Return the fewest trials of each agent and task with which a permutation test can reject at a level.

    With n of them its smallest p-value is 2 / C(2n, n)ᵀ.
    """
    seeds = 1
    while 2 / math.comb(2 * seeds, seeds) ** tasks > level:
        seeds += 1
    return seeds


def improvement_by_task(first: Sample, second: Sample, *, shares: bool = False) -> dict[str, list[float]]:
    """Return, for each task, the probability that a trial of the first beats one of the second, ties half.

    Values that are `shares` of each other's trials that they beat have that probability as their mean.
    """
    binary = shares or all(
        value in (0, 1) for sample in (first, second) for values in sample.values() for value in values
    )

    def on_task(task: str) -> float:
        if binary:
            return (1 + fmean(first[task]) - fmean(second[task])) / 2
        difference = np.subtract.outer(np.asarray(first[task], float), np.asarray(second[task], float))
        return float(((difference > 0) + 0.5 * (difference == 0)).mean())

    return {task: [on_task(task)] for task in first}


def shares_of_wins(first: Sample, second: Sample) -> tuple[Sample, Sample]:
    """Return for each trial the share of the other's trials with a lower value, ties half, on the tasks of both."""
    own, other = dict[str, list[float]](), dict[str, list[float]]()
    for task in filter(second.__contains__, first):
        a, b = np.asarray(first[task])[:, None], np.asarray(second[task])[None]
        above = (a > b) + 0.5 * (a == b)
        own[task], other[task] = above.mean(axis=1).tolist(), (1 - above).mean(axis=0).tolist()
    return own, other


def rank_trials(first: Sample, second: Sample) -> tuple[Sample, Sample]:
    """Return the ranks of trials among those of both on the task, scaled so that means differ like shares of wins.

    Ranks can be exchanged between agents if these do not differ; shares of the other's trials cannot.
    """
    own, other = dict[str, list[float]](), dict[str, list[float]]()
    for task in filter(second.__contains__, first):
        both = [*first[task], *second[task]]
        _, position, ties = np.unique(both, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(ties) - (ties - 1) / 2)[position] * 2 / len(both) - 1
        own[task], other[task] = np.split(ranks, [len(first[task])])[0].tolist(), ranks[len(first[task]) :].tolist()
    return own, other


# Two populations: tasks like these, of which these are a sample, and these tasks as they are


@dataclass(frozen=True)
class Inference:
    """A mean or a difference, its interval, and the p-value of no difference; interval and test are one method."""

    value: float
    interval: Interval
    p: float = 1.0


def infer_mean(sample: Sample, *, families: Families | None = None, confidence: float = 0.95) -> Inference:
    """Return the mean over tasks like these of values between 0 and 1, from tasks that are a sample of them.

    The limits are quantiles of the mean with random (exponential) weights of the tasks, after a further task with a
    value of 0, for the upper limit of 1, is added with two thirds of a task's weight. With its whole weight and one
    trial per task that is Clopper and Pearson's interval. Tasks of a family have one weight.
    """
    sums, sizes = _sum_families({task: fmean(values) for task, values in sample.items()}, families)
    return _invert(float(sums.sum() / sizes.sum()), *_weighted_means(sums, sizes, 2 / 3), confidence)


def infer_middle(sample: Sample, *, families: Families | None = None, confidence: float = 0.95) -> Inference:
    """Return the interquartile mean over all trials, with limits by random weights of tasks as in `infer_mean`.

    The further task is not among those that are trimmed, else trials that agree would leave no uncertainty.
    """
    names = [(families or {}).get(task, task) for task, values in sample.items() for _ in values]
    values = np.array([value for values in sample.values() for value in values])
    order = np.argsort(values, kind="stable")
    position = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups = np.array([position[name] for name in names])[order]
    weights, extra = random_weights(len(position), 2 / 3)
    weights, extra = weights[:_MIDDLE_DRAWS], extra[:_MIDDLE_DRAWS]
    share = extra / (weights.sum(axis=1) + extra)
    middle = (1 - share) * _weighted_middle(values[order], weights[:, groups])
    return _invert(sample_iqm(sample), middle, middle + share, confidence)


def _weighted_middle(values: Floats, weights: Floats) -> Floats:
    """Return the mean of the middle half of the weight of ascending values, for each row of weights."""
    reached = np.cumsum(weights, axis=1)
    total = reached[:, -1:]
    inside = np.clip(reached, total / 4, 3 * total / 4) - np.clip(reached - weights, total / 4, 3 * total / 4)
    means: Floats = inside @ values / (total[:, 0] / 2)
    return means


def infer_difference(
    first: Sample, second: Sample, *, families: Families | None = None, confidence: float = 0.95
) -> Inference:
    """Return the difference of two means over tasks like these, paired by task; see `infer_paired`."""
    return _pair_up(first, second, families).infer(confidence)


def test_difference(first: Sample, second: Sample, families: Families | None = None) -> float:
    """Return the p-value of `infer_difference`."""
    return _pair_up(first, second, families).p


def _pair_up(first: Sample, second: Sample, families: Families | None) -> "_SignFlip":
    own, sizes = _sum_families({task: fmean(values) for task, values in first.items()}, families)
    other, _ = _sum_families({task: fmean(second[task]) for task in first}, families)
    counts = [sorted((len(first[task]), len(second[task]))) for task in first]
    fewer = fmean(1 / low if high >= 2 * low else 0.0 for low, high in counts)
    return _SignFlip(own - other, sizes, (own, other), fewer)


def infer_paired(
    differences: Mapping[str, float], *, families: Families | None = None, confidence: float = 0.95
) -> Inference:
    """Return the mean over tasks like these of differences by task, each between −1 and 1.

    It is the sign-flip test over tasks, inverted: a mean is rejected if few random subsets of tasks have theirs on its
    other side. A sign-flip test assumes that differences are symmetric. Against skewed ones, a further task joins half
    of the subsets on that other side: three quarters as far as the farthest task, or ten times as far as no difference,
    but no farther than the largest difference possible. Where one agent has half of the other's trials or fewer,
    differences are skewed by chance alone, and it is at least as far as one trial of that agent counts. If no task
    shows any difference, the limits are those of a
    share of tasks with the largest one, of which so many tasks would include none with a probability of 2.5%.
    Fewer than six families can reject nothing, and have the limits of `infer_mean` with a whole further task.
    """
    return _SignFlip(*_sum_families(differences, families)).infer(confidence)


class _SignFlip:
    """The test of `infer_paired`, from the sums of differences and the sizes of families.

    `parts` are two terms whose difference the sums are: agents are compared with many others, and their sums over
    random subsets are computed once. `fewer` is the mean of what a trial of an agent with far fewer of them counts.
    """

    def __init__(
        self, sums: Floats, sizes: Floats, parts: tuple[Floats, Floats] | None = None, fewer: float = 0.0
    ) -> None:
        self.sums, self.sizes, self.fewer, self.few = sums, sizes, fewer, len(sums) < FEWEST_TASKS
        self.value = float(sums.sum() / sizes.sum())
        if not self.few:
            self.total = _sum_subsets(parts[0]) - _sum_subsets(parts[1]) if parts else _sum_subsets(sums)
            self.size = _sum_subsets(sizes)
            self.ends = float((sums / sizes).min()), float((sums / sizes).max())

    @property
    def p(self) -> float:
        """The p-value of no difference."""
        return self.infer(0.95).p if self.few else min(1.0, 2 * min(self._tail(0.0, 1), self._tail(0.0, -1)))

    def infer(self, confidence: float) -> Inference:
        """Return the mean with the interval of all means that are not rejected."""
        value = self.value
        if self.few:
            low, high = _weighted_means((self.sums + self.sizes) / 2, self.sizes, 1.0)
            return _invert(value, 2 * low - 1, 2 * high - 1, confidence)
        if max(map(abs, self.ends)) < _NO_DIFFERENCE:
            unseen = 1 - ((1 - confidence) / 2) ** (1 / len(self.sums))
            return Inference(value, Interval(-unseen, unseen))
        p = self.p
        limit, differs = (1 - confidence) / 2 + _TOLERANCE, p <= 1 - confidence
        lower = _bisect(lambda mean: self._tail(mean, 1) > limit, value, 0.0 if differs and value > 0 else -1.0)
        upper = _bisect(lambda mean: self._tail(mean, -1) > limit, value, 0.0 if differs and value < 0 else 1.0)
        if not differs:  # ties with no difference make 0 itself a limit, which no bisection reaches
            lower, upper = min(lower, 0.0), max(upper, 0.0)
        return Inference(value, Interval(lower, upper), p)

    def _tail(self, mean: float, sign: int) -> float:
        distance = sign * (self.total - self.size * mean)
        farthest = max(abs(self.ends[0] - mean), abs(self.ends[1] - mean))
        reach = max(_reach(farthest, mean, sign), min(self.fewer, 1 + sign * mean))
        beyond = float(self.sizes.mean()) * reach
        hits = np.count_nonzero(distance <= _TOLERANCE) + np.count_nonzero(distance <= beyond + _TOLERANCE)
        return hits / (2 * len(distance))


def _sum_subsets(values: Floats) -> Floats:
    """Return the sums of some values over the subsets of families."""
    return _sum_subsets_of(values.tobytes())


@lru_cache(maxsize=64)
def _sum_subsets_of(content: bytes) -> Floats:
    values = np.frombuffer(content)
    sums: Floats = _subsets(len(values)) @ values
    return sums


def _reach(farthest: Number, mean: float, sign: int) -> Number:
    """Return how far from a mean the further task is, if the farthest of the others is so far away."""
    return cast("Number", np.minimum(np.maximum(_REACH * farthest, 10 * abs(mean)), 1 + sign * mean))


def infer_mean_here(sample: Sample, confidence: float = 0.95, rivals: Mapping[str, int] | None = None) -> Inference:
    """Return the mean over these tasks of values between 0 and 1, from trials that are a sample of all trials of them.

    The limits are Wilson's with as many trials as an equal number for each task would have to be. Trials of different
    tasks differ less by chance than trials of one rate, so they are wider than they would have to be. A share of
    `rivals` that are beaten varies by theirs, too: its variance is at most θ(1 − θ) over the trials of whom has fewer.
    """
    value = mean_over_tasks(sample)
    sizes = [min(len(values), (rivals or {}).get(task, len(values))) for task, values in sample.items()]
    trials = len(sample) ** 2 / sum(1 / size for size in sizes)
    trials /= 1.0 if rivals else _dispersion(sample)
    return Inference(value, Interval(*wilson_interval(value * trials, trials, confidence)))


def infer_difference_here(
    first: Sample,
    second: Sample,
    confidence: float = 0.95,
    p: float | None = None,
    ranks: tuple[Sample, Sample] | None = None,
) -> Inference:
    """Return the difference of two means over these tasks, with trials permuted within tasks.

    For values of 0 and 1 of as many trials of both agents, the p-value is exact. The limits invert a score test whose
    variance at a difference δ is that of two shares δ apart with the mean of the task; it is scaled so that it has the
    p-value of `test_difference_here` where δ is 0. `p` is that p-value, if it is known. Of shares of wins, `ranks` are
    exchanged, and the variance at a difference δ is 1 − δ² over the trials of whom has fewer, which is its maximum.
    """
    tasks = list(first)
    sizes = np.array([[len(first[task]), len(second[task])] for task in tasks], dtype=float)
    means = np.array([[fmean(first[task]), fmean(second[task])] for task in tasks])
    value = float((means[:, 0] - means[:, 1]).mean())
    pooled = (means * sizes).sum(axis=1) / sizes.sum(axis=1)
    noise = _dispersion(first, second) * sizes.sum(axis=1) / (sizes.sum(axis=1) - 1)

    def score(difference: float) -> float:
        if ranks:
            variances = (1 - difference**2) / sizes.min(axis=1)
        else:
            center = np.clip(pooled, abs(difference) / 2, 1 - abs(difference) / 2)
            upper, lower = center + difference / 2, center - difference / 2
            variances = noise * (upper * (1 - upper) / sizes[:, 0] + lower * (1 - lower) / sizes[:, 1])
        error = math.sqrt(max(variances.sum(), 0.0)) / len(tasks)
        distance = abs(value - difference)
        return distance / error if error > _TOLERANCE else math.inf if distance > _TOLERANCE else 0.0

    p = test_difference_here(first, second, ranks) if p is None else p
    normal = NormalDist()
    expected = normal.inv_cdf(1 - max(p, 1e-12) / 2)
    scale = score(0.0) / expected if expected > _TOLERANCE and 0 < score(0.0) < math.inf else 1.0
    limit = normal.inv_cdf((1 + confidence) / 2) * scale
    lower, upper = (_bisect(lambda d: score(d) <= limit, value, end) for end in (-1.0, 1.0))
    if p > 1 - confidence:
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    elif value > 0:  # where p is exactly the level, 0 itself would be the limit
        lower = max(lower, _NO_DIFFERENCE)
    else:
        upper = min(upper, -_NO_DIFFERENCE)
    return Inference(value, Interval(lower, upper), p)


def test_difference_here(first: Sample, second: Sample, ranks: tuple[Sample, Sample] | None = None) -> float:
    """Return the p-value of `infer_difference_here`: of a permutation of trials, or of `ranks` for shares of wins.

    Agents with one mean may vary differently. Where they have different numbers of trials, or are compared by wins,
    trials of the one then do not stand for those of the other, and the p-value is no smaller than by their own
    variances, each with a trial more, and Student's distribution.
    """
    p = permutation_test(*(ranks or (first, second)))
    if ranks is None and all(len(values) == len(second[task]) for task, values in first.items()):
        return p
    shares = (2 / 3, 2 / 3) if ranks else (_dispersion(first), _dispersion(second))
    variance_of_sum = sum(
        _variance_of_mean(sample[task], share)
        for sample, share in zip((first, second), shares, strict=True)
        for task in first
    )
    if ranks:  # a share of wins and that of the other agent are one number
        variance_of_sum *= 4
    distance = abs(sum(fmean(values) - fmean(second[task]) for task, values in first.items()))
    freedom = sum(min(len(values), len(second[task])) for task, values in first.items())
    return max(p, 1 - t_probability(distance / math.sqrt(variance_of_sum), min(freedom, _LARGE_FREEDOM)))


def _variance_of_mean(values: Sequence[float], share: float) -> float:
    """Return the variance of the mean of trials; a further trial has that `share` of the variance of a success.

    A single trial shows nothing of its variance, so the further one has all of it.
    """
    count, mean = len(values), fmean(values)
    share = share if count > 1 else 1.0
    likely = (count * mean + 1) / (count + 2)
    return (sum((value - mean) ** 2 for value in values) + share * likely * (1 - likely)) / count**2


def permutation_test(first: Sample, second: Sample, seed: int = 0) -> float:
    """Return the two-sided p-value of the difference of means over tasks if trials are exchanged within tasks.

    For values of 0 and 1, and for ranks of few trials, the distribution of the difference is counted; else assignments
    of trials are drawn.
    """
    observed = abs(sum(fmean(values) - fmean(second[task]) for task, values in first.items()))
    if (unit := _common_unit([first, second], 2 * len(first))) is not None:
        spread = np.ones(1)
        for task, values in first.items():
            spread = np.convolve(spread, _hypergeometric(values, second[task], unit))
        distance = np.abs(np.arange(len(spread)) - len(first) * unit)
        return float(min(1.0, spread[distance >= observed * unit - 1e-6].sum()))
    random = np.random.default_rng(seed)
    total: Floats = np.zeros(DRAWS)
    differences = [
        _assignments(len(values), len(second[task])) @ np.array([*values, *second[task]])
        for task, values in first.items()
    ]
    if counted := _count_differences(differences, [len(values) * len(second[task]) for task, values in first.items()]):
        possible, shares = counted
        return float(min(1.0, shares[np.abs(possible) >= observed - 1e-6].sum()))
    for each in differences:
        total += each[random.integers(0, len(each), DRAWS)]
    return float((np.count_nonzero(np.abs(total) >= observed - 1e-9) + 1) / (DRAWS + 1))


def _count_differences(by_task: Sequence[Floats], sizes: Sequence[int]) -> tuple[Floats, Floats] | None:
    """Return the possible sums of differences and how likely each is; None if they are not multiples of 1/size."""
    unit = math.lcm(*set(sizes))
    few = all(len(each) < _MAX_ASSIGNMENTS for each in by_task) and 2 * unit * len(by_task) < _MAX_UNITS
    steps = [each * unit for each in by_task] if few else []
    if not few or any(np.abs(each - each.round()).max() > 1e-6 for each in steps):
        return None
    spread = np.ones(1)
    for each in steps:
        counts = np.bincount(each.round().astype(int) + unit, minlength=2 * unit + 1)
        spread = np.convolve(spread, counts / len(each))
    reach = unit * len(steps)
    return np.arange(-reach, reach + 1) / unit, spread


def p_of_paired(differences: Floats, null: float = 0.0, draws: int = DRAWS) -> Floats:
    """Return the p-values of `infer_paired` for many sets of differences at once (sets × tasks), each task a family."""
    shifted = differences - null
    count = shifted.shape[1]
    if count < FEWEST_TASKS:
        return np.array([infer_paired(dict(zip(map(str, range(count)), row, strict=True))).p for row in shifted])
    subsets = _subsets(count, draws)
    farthest = np.abs(shifted).max(axis=1)
    tails = np.zeros((2, len(shifted)))
    for start in range(0, len(shifted), 200):  # in parts, because of memory
        rows = slice(start, start + 200)
        sums = shifted[rows] @ subsets.T
        for tail, sign in enumerate((1, -1)):
            for further in (0.0, _reach(farthest[rows, None], null, sign)):
                tails[tail, rows] += np.count_nonzero(sign * sums - further <= _TOLERANCE, axis=1)
    p: Floats = np.minimum(1.0, tails.min(axis=0) / len(subsets))
    return p


def _invert(value: float, low: Floats, high: Floats, confidence: float) -> Inference:
    """Return the interval between two quantiles, and the smallest level at which it would exclude 0."""
    low, high = np.sort(low), np.sort(high)
    cut = math.floor((1 - confidence) / 2 * len(low) + _TOLERANCE)
    lower, upper = float(low[cut]), float(high[-1 - cut])
    below = np.searchsorted(low, _TOLERANCE, "right")
    above = len(high) - np.searchsorted(high, -_TOLERANCE, "left")
    p = min(1.0, 2 * float(min(below, above)) / len(low))
    return Inference(value, Interval(min(lower, value), max(upper, value)), p)


def _sum_families(values: Mapping[str, float], families: Families | None) -> tuple[Floats, Floats]:
    """Return the sum and the number of the tasks of each family; a task without one is a family of its own."""
    groups: dict[str, list[float]] = {}
    for task, value in values.items():
        groups.setdefault((families or {}).get(task, task), []).append(value)
    return np.array([sum(group) for group in groups.values()]), np.array([float(len(g)) for g in groups.values()])


def _weighted_means(sums: Floats, sizes: Floats, further: float) -> tuple[Floats, Floats]:
    """Return means with random weights, after a further family with the value 0, and after one with the value 1."""
    extra = _further_weights(len(sums), further) * sizes.mean()
    total, size = (_weigh(values.tobytes()) for values in (sums, sizes))
    return total / (size + extra), (total + extra) / (size + extra)


@lru_cache(maxsize=64)
def _weigh(content: bytes) -> Floats:
    """Return the sums of some values with random weights; the sizes of families are the same for all agents."""
    values = np.frombuffer(content)
    weighed: Floats = _task_weights(len(values))[0] @ values
    return weighed


def random_weights(families: int, further: float) -> tuple[Floats, Floats]:
    """Return exponential weights of families (columns), and of a further one with a part of a family's weight."""
    return _task_weights(families)[0], _further_weights(families, further)


@cache
def _task_weights(families: int) -> tuple[Floats, Mapping[str, Any]]:
    """Return exponential weights, and the state of the random numbers after them."""
    random = np.random.default_rng(0)
    return random.exponential(size=(DRAWS, families)), random.bit_generator.state


@cache
def _further_weights(families: int, further: float) -> Floats:
    random = np.random.default_rng(0)
    random.bit_generator.state = dict(_task_weights(families)[1])
    return random.gamma(further, size=DRAWS)


@cache
def _subsets(families: int, draws: int = DRAWS) -> Floats:
    """Return all subsets of so many families as rows of 0 and 1; beyond 13 families, random ones."""
    if families <= _MAX_SUBSETS:
        members = (np.arange(1 << families)[:, None] >> np.arange(families)) & 1
    else:
        members = np.random.default_rng(0).integers(0, 2, (draws, families))
    return members.astype(np.float64)


@cache
def _assignments(first: int, second: int) -> Floats:
    """Return how trials of a task may be assigned to two agents, as weights that give the difference of their means."""
    share = np.array([1 / first] * first + [-1 / second] * second)
    if math.comb(first + second, first) <= _MAX_ASSIGNMENTS:
        chosen = np.array(list(combinations(range(first + second), first)))
        weights = np.full((len(chosen), first + second), -1 / second)
        weights[np.arange(len(chosen))[:, None], chosen] = 1 / first
        return weights
    random = np.random.default_rng(0)
    return np.array([random.permutation(share) for _ in range(_MAX_ASSIGNMENTS)])


def _hypergeometric(first: Sequence[float], second: Sequence[float], unit: int) -> Floats:
    """Return the probabilities of the differences −1 to 1 of two shares, in steps of 1/unit, under permutation."""
    own, other, hits = len(first), len(second), round(sum(first) + sum(second))
    spread: Floats = np.zeros(2 * unit + 1)
    for count in range(max(0, hits - other), min(own, hits) + 1):
        share = math.comb(own, count) * math.comb(other, hits - count) / math.comb(own + other, hits)
        spread[unit + count * (unit // own) - (hits - count) * (unit // other)] += share
    return spread


def _dispersion(*samples: Sample) -> float:
    """Return the variance of trials within tasks as a share of that of successes with the same means; 1 for successes.

    A single trial with the full variance is added, so that trials that all agree do not seem to be certain.
    """
    if all(value in (0, 1) for sample in samples for values in sample.values() for value in values):
        return 1.0
    groups = [np.asarray(values) for sample in samples for values in sample.values()]
    freedom = sum(len(group) - 1 for group in groups)
    full = fmean(float(group.mean() * (1 - group.mean())) for group in groups) or 0.25
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return min(1.0, (within + full) / ((freedom + 1) * full))


def _bisect(accepts: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the last accepted value on the way from one that is accepted to one that may not be."""
    if accepts(outside):
        return outside
    for _ in range(40):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if accepts(middle) else (inside, middle)
    return inside


# Ranks


def probability_of_best(samples: Sequence[Sample]) -> list[float]:
    """Return the probability of each agent to have the highest mean on tasks like these; ties are shared.

    Tasks have random weights, the same for all agents, and on a further task each agent has a random value.
    """
    tasks = list(samples[0])
    means = np.array([[fmean(sample[task]) for sample in samples] for task in tasks])
    weights, extra = random_weights(len(tasks), 1.0)
    totals = weights @ means + extra[:, None] * np.random.default_rng(1).random((DRAWS, len(samples)))
    best = np.bincount(totals.argmax(axis=1), minlength=len(samples)) / DRAWS
    return [float(share) for share in best]


def shrink_means(samples: Sequence[Sample]) -> list[float]:
    """Return the means of agents, drawn towards their common mean by what chance contributes to their spread.

    That is Lindley's estimate, 1 − (K − 3)s²/Σ(x̄ᵢ − x̄)² of the way, for four agents or more, where s² is the variance
    of an agent's mean around the task's: the best of many agents owes its rank to luck in part.
    """
    means = np.array([[fmean(sample[task]) for task in samples[0]] for sample in samples])
    own, center = means.mean(axis=1), means.mean()
    spread = float(((own - center) ** 2).sum())
    if len(samples) < 4 or means.shape[1] < 2 or spread < _TOLERANCE:
        return [float(mean) for mean in own]
    residuals = means - means.mean(axis=0) - own[:, None] + center
    agents, tasks = means.shape
    chance = float((residuals**2).sum()) / ((agents - 1) * (tasks - 1)) / tasks
    kept = max(0.0, 1 - (agents - 3) * chance / spread)
    return [float(center + kept * (mean - center)) for mean in own]


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


# Student's distribution


@cache
def t_quantile(freedom: int, confidence: float) -> float:
    """Return the t with P(|T| ≤ t) = `confidence` for Student's distribution with `freedom` degrees of freedom.

    The probability is a finite sum of powers of cos θ with θ = atan(t / √freedom), which is inverted by bisection.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _t_probability(angle, freedom) < confidence else (low, angle)
    return math.tan(low) * math.sqrt(freedom)


def t_probability(t: float, freedom: int) -> float:
    """Return P(|T| ≤ t) for Student's distribution with `freedom` degrees of freedom."""
    return _t_probability(math.atan(t / math.sqrt(freedom)), freedom)


def _t_probability(angle: float, freedom: int) -> float:
    odd = freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (power + 1) / (power + 2)
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


# Helpers


def _means(sample: Sample) -> list[float]:
    return [fmean(values) for values in sample.values()]


def _matrix(sample: Sample) -> Floats:
    """Return tasks × seeds, filled up with NaN where a task has fewer seeds."""
    values = np.full((len(sample), max(map(len, sample.values()))), np.nan)
    for row, seeds in enumerate(sample.values()):
        values[row, : len(seeds)] = seeds
    return values
