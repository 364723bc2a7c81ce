"""Where the variance of a trial comes from: agents, families of tasks, tasks, agents on tasks, test rows and seeds.

A trial is modelled as `mean + agent + family + task + agent × task + seed`, all but the mean random. The components are
estimated by the method of moments (analysis of variance) over the tasks that all agents have; for balanced data these
are the REML estimates, unless a component is negative, which counts as 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from assay.core.table import Column, Table
from assay.core.text import plural
from assay.core.values import Interval, format_percent
from assay.results.frame import TrialRow, group_by
from assay.results.inference import Families, Sample
from assay.results.measures import Measure, sample_measure

Source = Literal["agents", "families", "tasks", "agents on tasks", "test rows", "seeds"]
SOURCES: tuple[Source, ...] = get_args(Source)
_RESAMPLES = 400
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Decomposition:
    """The variance of a trial by source, and the share of each with its 95% interval over tasks."""

    measure: Measure
    agents: int
    tasks: int
    seeds: float
    """Trials per agent and task, as a harmonic mean."""
    components: Mapping[Source, float]
    intervals: Mapping[Source, Interval]

    @property
    def total(self) -> float:
        """The variance of a trial of a random agent on a random task."""
        return sum(self.components.values())

    def share(self, source: Source) -> float:
        """Return the share of a source in the variance of a trial."""
        return self.components.get(source, 0.0) / self.total if self.total else 0.0

    def error(self, *, more_tasks: float = 1.0, more_seeds: float = 1.0) -> float:
        """Return the standard error of the difference of two agents, or of one agent's mean, in another design."""
        compared = self.agents > 1
        between: tuple[Source, ...] = ("agents on tasks", "test rows")
        sources = between if compared else ("families", "tasks", *between)
        tasks = sum(self.components.get(source, 0.0) for source in sources)
        seeds = self.components["seeds"] / (self.seeds * more_seeds)
        return math.sqrt((1 + compared) * (tasks + seeds) / (self.tasks * more_tasks))


def decompose_variance(
    rows: Sequence[TrialRow], measure: Measure = "success", families: Families | None = None
) -> Decomposition | None:
    """Return the components of variance of finished trials; None where they cannot be separated.

    That needs two tasks that all agents have, and two seeds of each.
    """
    by_agent = group_by((row for row in rows if row.counts), lambda row: row.agent)
    samples = [sample_measure(trials, measure, rows) for trials in by_agent]
    noise = fmean([value for trials in by_agent for value in _row_noise(trials, measure)] or [0.0])
    return decompose_samples(samples, measure, families, noise)


def decompose_samples(
    samples: Sequence[Sample], measure: Measure = "success", families: Families | None = None, noise: float = 0.0
) -> Decomposition | None:
    """Return the components of variance of the values of some agents; `noise` is the variance by test rows."""
    tasks = [task for task in samples[0] if all(task in sample for sample in samples)] if samples else []
    if len(tasks) < 2 or any(len(sample[task]) < 2 for sample in samples for task in tasks):
        return None
    means = np.array([[fmean(sample[task]) for task in tasks] for sample in samples])
    within = np.array([[variance(sample[task]) for task in tasks] for sample in samples])
    sizes = np.array([[len(sample[task]) for task in tasks] for sample in samples], float)
    names = [(families or {}).get(task, task) for task in tasks]
    components = _components(means, within, sizes, names, noise)
    random = np.random.default_rng(0)
    groups = [[number for number, name in enumerate(names) if name == family] for family in dict.fromkeys(names)]
    resampled: dict[Source, list[float]] = {source: [] for source in components}
    for _ in range(_RESAMPLES):
        drawn = [(copy, task) for copy, group in enumerate(random.integers(0, len(groups), len(groups)))
                 for task in groups[group]]  # fmt: skip
        chosen = [task for _, task in drawn]
        again = _components(means[:, chosen], within[:, chosen], sizes[:, chosen], [str(c) for c, _ in drawn], noise)
        total = sum(again.values())
        for source, value in again.items():
            resampled[source].append(value / total if total else 0.0)
    total = sum(components.values())
    intervals = {
        source: _widen(np.quantile(values, [0.025, 0.975]), components[source] / total if total else 0.0)
        for source, values in resampled.items()
    }
    return Decomposition(measure, len(samples), len(tasks), float(1 / np.mean(1 / sizes)), components, intervals)


def _widen(ends: Floats, value: float) -> Interval:
    return Interval(min(float(ends[0]), value), max(float(ends[1]), value))


def _components(
    means: Floats, within: Floats, sizes: Floats, families: Sequence[str], noise: float
) -> dict[Source, float]:
    """Return the components from the mean, variance and number of trials of each agent (row) on each task (column)."""
    agents, tasks = means.shape
    seeds = float((within * (sizes - 1)).sum() / (sizes - 1).sum())
    chance = seeds * float((1 / sizes).mean())
    by_task = means.mean(axis=0)
    between_tasks = float(by_task.var(ddof=1))
    components: dict[Source, float] = {"seeds": seeds}
    both = 0.0
    if agents > 1:
        residual = means - by_task - means.mean(axis=1, keepdims=True) + means.mean()
        both = float((residual**2).sum() / ((agents - 1) * (tasks - 1)))
        components["agents"] = max(float(means.mean(axis=1).var(ddof=1)) - both / tasks, 0.0)
        interaction = max(both - chance, 0.0)
        components["test rows"] = min(noise, interaction)
        components["agents on tasks"] = interaction - components["test rows"]
        error = both / agents
    else:
        error = chance
    between = max(between_tasks - error, 0.0)
    if agents == 1:
        components["test rows"] = min(noise, between)
        between -= components["test rows"]
    family = min(_between_families(by_task, families), between)
    components |= {"families": family, "tasks": between - family}
    return {source: components[source] for source in SOURCES if source in components}


def _between_families(values: Floats, families: Sequence[str]) -> float:
    """Return the variance between families of task means, by a one-way analysis of variance with unequal sizes."""
    count, total = len(set(families)), len(values)
    if count < 2 or count == total:
        return 0.0
    groups = [values[[name == family for name in families]] for family in dict.fromkeys(families)]
    inside = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / (total - count)
    outside = sum(len(group) * float((group.mean() - values.mean()) ** 2) for group in groups) / (count - 1)
    size = (total - sum(len(group) ** 2 for group in groups) / total) / (count - 1)
    return max((outside - inside) / size, 0.0)


def _row_noise(rows: Sequence[TrialRow], measure: Measure) -> list[float]:
    """Return the variance that test rows give to a measure with a slope in the score, of each trial that has it."""
    scales = []
    for row in rows:
        if row.score_error is None or row.grade is None:
            continue
        starter = row.grade.baseline
        if measure == "improvement" and starter and row.score is not None:
            scales.append((row.score_error * starter / (row.score + starter) ** 2) ** 2)  # the slope of s / (s + b)
        gold = row.grade.gold_threshold
        if measure == "normalized" and row.sample_score is not None and gold is not None and gold != row.sample_score:
            scales.append((row.score_error / (gold - row.sample_score)) ** 2)
    return scales


def describe_variance(parts: Decomposition) -> str:
    """Return the largest source, and what more tasks and more seeds would do, in one sentence."""
    largest = max(parts.components, key=lambda source: parts.components[source])
    interval = parts.intervals[largest]
    if not parts.total:
        return f"the trials of these tasks do not vary in {parts.measure}."
    limits = "" if interval.is_point else f"{format_percent(interval.low)} to {format_percent(interval.high)}, "
    source = (
        f"{format_percent(parts.share(largest))} of the variance of {parts.measure} is {largest} "
        f"({limits}{plural(parts.tasks, 'task')})"
    )
    now = parts.error()
    if not now:
        return f"{source}; the agents do not differ on any task, nor do seeds."
    tasks, seeds = (1 - parts.error(**more) / now for more in ({"more_tasks": 2.0}, {"more_seeds": 2.0}))
    what = "a comparison" if parts.agents > 1 else "the mean"
    advice = "add tasks, not seeds" if tasks > 1.5 * seeds else "tasks and seeds help alike"
    return (
        f"{source}: twice the tasks lower the error of {what} by {format_percent(tasks)}, twice the seeds by "
        f"{format_percent(seeds)}; {advice}."
    )


def variance_table(parts: Decomposition) -> Table:
    """Return the components with their shares."""
    columns = (
        Column("source"),
        Column("variance", kind="number"),
        Column("share", kind="share"),
        Column("interval", "95% interval", "interval"),
    )
    known = {source: None if ends.is_point else ends for source, ends in parts.intervals.items()}
    rows = [(source, value, parts.share(source), known[source]) for source, value in parts.components.items()]
    sample = f"{plural(parts.agents, 'agent')}, {plural(parts.tasks, 'task')}, {parts.seeds:.3g} seeds"
    notes = (f"Analysis of variance of {parts.measure} over {sample}; intervals by resampling families of tasks.",)
    return Table("variance", columns, tuple(rows), title="Where the variance comes from", notes=notes)
