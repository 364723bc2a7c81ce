"""Simulations that check the statistics: coverage of intervals, type I errors of tests, and kept promises of power.

`assay study selftest statistics` runs them with a fixed seed, and `docs/statistics.md` prints their table. Agents:
`mle` has success rates by task with the mean and the correlation within tasks of a published row of MLE-bench, `mod`
less extreme ones, and `rare` successes that are rare and concentrated on few tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.table import Column, Table
from assay.results.inference import (
    FEWEST_TASKS,
    DifferenceVariance,
    Floats,
    infer_difference,
    infer_difference_here,
    infer_mean,
    p_of_paired,
    permutation_test,
    rank_trials,
    shares_of_wins,
    test_difference,
    test_difference_here,
)
from assay.results.power import Pilot, find_difference
from assay.results.registration import Registration

LOWEST, HIGHEST, MOST_ERRORS, POWER_TOLERANCE = 0.93, 0.975, 0.055, 0.03
_AGENTS = {"mle": (0.4356, 0.777), "mod": (0.30, 0.30), "rare": (0.10, 0.50)}
_LOOKS = 10
_TASKS, _SEEDS = (4, 13, 22, 75), (1, 3, 16)
_SHORT = {(4, 3), (13, 1), (13, 16), (22, 3)}


@dataclass(frozen=True)
class Check:
    """A simulated property: the share that was observed, and whether it is allowed.

    An interval must cover in 93% of simulations or more. Above 97.5% it is `wide`: wider than it would have to be, as
    is stated for few tasks, for rare successes and for differences.
    """

    kind: str
    case: str
    tasks: int
    seeds: int
    share: float
    passed: bool
    wide: bool = False


def check_statistics(*, short: bool = False, seed: int = 0, simulations: int = 1000) -> list[Check]:
    """Simulate all cases, or with `short` a few of each kind."""
    random = np.random.default_rng(seed)
    designs = [(t, s) for t in _TASKS for s in _SEEDS if not short or (t, s) in _SHORT]
    checks = list(_check_rates(designs, simulations, random))
    checks += _check_differences(designs, simulations, random)
    checks += _check_these_tasks([d for d in designs if d[0] < 75], min(simulations, 400), random)
    checks += _check_looks(designs, min(simulations, 500), random)
    # With fewer, chance alone would often be beyond the tolerance.
    checks += _check_power(designs, max(simulations, 3000), random)
    random = np.random.default_rng(seed + 1)
    checks += _check_scores([d for d in designs if d[1] == 3 and d[0] < 75], max(simulations, 1000), random)
    checks += _check_unequal([d for d in designs if d[0] >= FEWEST_TASKS and d[1] == max(_SEEDS)], simulations, random)
    return checks


def make_table(checks: Sequence[Check]) -> Table:
    """Return the checks as a table."""
    columns = (
        Column("kind"),
        Column("case"),
        Column("design", "tasks × seeds"),
        Column("share", "observed", kind="share", decimals=1),
        Column("result"),
    )
    rows = tuple(
        (check.kind, check.case, f"{check.tasks} × {check.seeds}", check.share, _judge(check)) for check in checks
    )
    return Table("selftest", columns, rows)


def _judge(check: Check) -> str:
    return "wide" if check.wide else "ok" if check.passed else "FAILED"


def _cover(kind: str, case: str, design: tuple[int, int], share: float) -> Check:
    return Check(kind, case, *design, share, share >= LOWEST, share > HIGHEST)


def _reject(kind: str, case: str, design: tuple[int, int], share: float) -> Check:
    return Check(kind, case, *design, share, share <= MOST_ERRORS)


def _rates(agent: str, shape: tuple[int, int], random: np.random.Generator, shift: float = 0.0) -> Floats:
    mean, correlation = _AGENTS[agent]
    size = 1 / correlation - 1
    rates: Floats = random.beta((mean + shift) * size, (1 - mean - shift) * size, shape)
    return rates


def _covers_mean(values: Floats, truth: float, families: Mapping[str, str] | None = None) -> float:
    """Return how often the interval of the mean over tasks like these covers the truth; a row is a simulation."""
    intervals = [
        infer_mean({str(task): [value] for task, value in enumerate(row)}, families=families).interval for row in values
    ]
    return float(np.mean([interval.low <= truth <= interval.high for interval in intervals]))


def _check_rates(designs: Sequence[tuple[int, int]], count: int, random: np.random.Generator) -> Iterator[Check]:
    for agent, (mean, _) in _AGENTS.items():
        for tasks, seeds in designs:
            hits = random.binomial(seeds, _rates(agent, (count, tasks), random)) / seeds
            yield _cover("coverage of a rate", agent, (tasks, seeds), _covers_mean(hits, mean))
    for tasks, seeds in [(t, s) for t, s in designs if t > 4 and s < 16]:
        means = np.array([0.6, 0.4, 0.2])[np.arange(tasks) % 3]
        rates = random.beta(means * 0.287, (1 - means) * 0.287, (count, tasks))
        share = _covers_mean(random.binomial(seeds, rates) / seeds, float(means.mean()))
        yield _cover("coverage of a rate", "three splits", (tasks, seeds), share)
    for size in (2, 3):
        families = {str(task): str(task // size) for task in range(22)}
        rates = np.repeat(_rates("mle", (count, -(-22 // size)), random), size, axis=1)[:, :22]
        share = _covers_mean(random.binomial(3, rates) / 3, _AGENTS["mle"][0], families)
        yield _cover("coverage of a rate", f"families of {size}", (22, 3), share)
    for tasks, seeds in designs:
        scores = random.beta(0.5, 0.5, (count, tasks, 1)) + random.normal(0, 0.1, (count, tasks, seeds))
        share = _covers_mean(scores.clip(0, 1).mean(axis=2), _mean_of_clipped_scores())
        yield _cover("coverage of a mean", "normalized scores", (tasks, seeds), share)
    for tasks, seeds in designs:
        ratios = np.exp(random.normal(0, 1, (count, tasks, 1))) + 0.5 + random.normal(0, 0.3, (count, tasks, seeds))
        share = _covers_mean(_relate(ratios).mean(axis=2), _mean_of_ratios())
        yield _cover("coverage of a mean", "skewed improvements", (tasks, seeds), share)


def _mean_of_clipped_scores() -> float:
    random = np.random.default_rng(99)
    return float((random.beta(0.5, 0.5, 1_000_000) + random.normal(0, 0.1, 1_000_000)).clip(0, 1).mean())


def _mean_of_ratios() -> float:
    random = np.random.default_rng(99)
    ratios = np.exp(random.normal(0, 1, 1_000_000)) + 0.5 + random.normal(0, 0.3, 1_000_000)
    return float(_relate(ratios).mean())


def _relate(ratios: Floats) -> Floats:
    positive = ratios.clip(0)
    related: Floats = positive / (1 + positive)
    return related


def _pairs(case: str, shape: tuple[int, int], random: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Return the success rates of two agents by task, and their true difference."""
    match case:
        case "identical" | "identical, moderate":
            rates = _rates("mle" if case == "identical" else "mod", shape, random)
            return rates, rates, 0.0
        case "good at different tasks":
            rates = _rates("mle", shape, random)
            return rates, np.where(random.random(shape) < 0.5, rates, _rates("mle", shape, random)), 0.0
        case "much better on a tenth":
            rates = random.uniform(0.2, 0.4, shape)
            return np.where(random.random(shape) < 0.1, rates + 0.54, rates - 0.06), rates, 0.0
        case _:
            return _rates("mle", shape, random, 0.075), _rates("mle", shape, random, -0.075), 0.15


def _check_differences(designs: Sequence[tuple[int, int]], count: int, random: np.random.Generator) -> Iterator[Check]:
    cases = ("identical", "identical, moderate", "good at different tasks", "much better on a tenth", "15 points apart")
    for case in cases:
        for tasks, seeds in designs:
            first, second, truth = _pairs(case, (count, tasks), random)
            differences = (random.binomial(seeds, first) - random.binomial(seeds, second)) / seeds
            if truth == 0:
                share = float((p_of_paired(differences) <= 0.05).mean())
                yield _reject("type I error, tasks like these", case, (tasks, seeds), share)
            rows = differences[: count // 2]
            samples = [{str(task): [value] for task, value in enumerate(row)} for row in rows]
            zeros = {str(task): [0.0] for task in range(tasks)}
            intervals = [infer_difference(sample, zeros).interval for sample in samples]
            covered = float(np.mean([interval.low <= truth <= interval.high for interval in intervals]))
            yield _cover("coverage of a difference", case, (tasks, seeds), covered)


def _check_these_tasks(designs: Sequence[tuple[int, int]], count: int, random: np.random.Generator) -> Iterator[Check]:
    for agent in ("mle", "mod"):
        for tasks, seeds in designs:
            rates = _rates(agent, (count, tasks), random)
            hits = [random.random((count, tasks, seeds)) < rates[..., None] for _ in range(2)]
            samples = [[_sample(row) for row in each] for each in hits]
            rejected = [permutation_test(a, b) <= 0.05 for a, b in zip(*samples, strict=True)]
            yield _reject("type I error, these tasks", agent, (tasks, seeds), float(np.mean(rejected)))
            truth = (0.9 * rates).mean(axis=1) - rates.mean(axis=1)
            less = random.random((count, tasks, seeds)) < 0.9 * rates[..., None]
            covered = [
                interval.low <= difference <= interval.high
                for a, b, difference in zip(map(_sample, less), samples[1], truth, strict=True)
                for interval in (infer_difference_here(a, b).interval,)
            ]
            yield _cover("coverage on these tasks", agent, (tasks, seeds), float(np.mean(covered)))


def _sample(values: Floats) -> dict[str, list[float]]:
    return {str(task): [float(value) for value in row] for task, row in enumerate(values)}


def _check_looks(designs: Sequence[tuple[int, int]], count: int, random: np.random.Generator) -> Iterator[Check]:
    """Look ten times at two equally good agents: after each seed, and after each tenth of 75 tasks."""
    for case in ("identical, moderate", "good at different tasks", "much better on a tenth"):
        for tasks in sorted({tasks for tasks, _ in designs if tasks >= FEWEST_TASKS}):
            first, second, _ = _pairs(case, (count, tasks), random)
            hits = [np.cumsum(random.random((_LOOKS, *rates.shape)) < rates, axis=0) for rates in (first, second)]
            looks = [(hits[0][seed] - hits[1][seed]) / (seed + 1) for seed in range(_LOOKS)]
            yield from _reject_looks(f"{case}, adding seeds", (tasks, _LOOKS), looks)
        first, second, _ = _pairs(case, (count, 75), random)
        differences = (random.binomial(3, first) - random.binomial(3, second)) / 3
        looks = [differences[:, :tasks] for tasks in np.linspace(FEWEST_TASKS, 75, _LOOKS).astype(int)]
        yield from _reject_looks(f"{case}, adding tasks", (75, 3), looks)


def _reject_looks(case: str, design: tuple[int, int], looks: Sequence[Floats]) -> Iterator[Check]:
    p_values = [p_of_paired(differences, draws=10_000) for differences in looks]
    for sequential, kind in ((True, "type I error, 10 planned looks"), (False, "type I error, 10 unplanned looks")):
        levels = [0.05 / Registration(look=number, sequential=sequential).allowance for number in range(1, _LOOKS + 1)]
        rejected = np.any([p <= level for p, level in zip(p_values, levels, strict=True)], axis=0)
        yield _reject(kind, case, design, float(rejected.mean()))


def _check_power(designs: Sequence[tuple[int, int]], count: int, random: np.random.Generator) -> Iterator[Check]:
    mean, correlation = _AGENTS["mle"]
    full = mean * (1 - mean)
    pilot = Pilot(mean, DifferenceVariance(2 * correlation * full, 2 * (1 - correlation) * full))
    for tasks, seeds in designs:
        difference = find_difference(pilot, tasks, seeds)
        if difference is None:
            continue
        first, second = (
            _rates("mle", (2 * count, tasks), random, shift) for shift in (difference / 2, -difference / 2)
        )
        hits = (random.binomial(seeds, first) - random.binomial(seeds, second)) / seeds
        share = float((p_of_paired(hits) <= 0.05).mean())
        passed = abs(share - 0.8) <= POWER_TOLERANCE
        yield Check("power, 80% promised", f"{100 * difference:.0f} points apart", tasks, seeds, share, passed)


def _check_scores(designs: Sequence[tuple[int, int]], count: int, random: np.random.Generator) -> Iterator[Check]:
    """Compare agents by who has the better score: equally good ones, of which the second may always score the same."""
    for case, spread in (("equal scores", 1.0), ("equal scores, one deterministic", 0.0)):
        for tasks, seeds in designs:
            scores = random.normal(0, 1, (count, tasks, seeds)), spread * random.normal(0, 1, (count, tasks, seeds))
            samples = [(_sample(first), _sample(second)) for first, second in zip(*scores, strict=True)]
            rejected = [test_difference_here(*shares_of_wins(*pair), rank_trials(*pair)) <= 0.05 for pair in samples]
            yield _reject("type I error of wins, these tasks", case, (tasks, seeds), float(np.mean(rejected)))


def _check_unequal(designs: Sequence[tuple[int, int]], count: int, random: np.random.Generator) -> Iterator[Check]:
    """Compare an agent with a single trial of each task with an equally good one that has many; both seldom succeed."""
    for tasks, seeds in designs:
        shapes = (count, tasks, 1), (count, tasks, seeds)
        samples = [[_sample(hits) for hits in (random.random(shape) < 0.1).astype(float)] for shape in shapes]
        for kind, test in (("tasks like these", test_difference), ("these tasks", test_difference_here)):
            rejected = [test(first, second) <= 0.05 for first, second in zip(*samples, strict=True)]
            yield _reject(f"type I error, {kind}", f"1 trial against {seeds}", (tasks, seeds), float(np.mean(rejected)))
