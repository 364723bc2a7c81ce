"""Whether agents do better on competitions that their model can have read about: closed before against after a date.

Tasks of both sides differ in more than their date, so each task that closed after the knowledge cutoff is matched with
one that closed before it: the same modality, and as close as possible in size, number of teams and metric.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from pydantic import FilePath

from assay.core.claim import ALPHA, Claim, format_limits
from assay.core.errors import UsageError
from assay.core.table import Column, Table
from assay.core.text import plural
from assay.core.values import format_p, format_points
from assay.results import inference
from assay.results.claims import claim_change, claim_sample
from assay.results.frame import TrialRow
from assay.results.inference import Inference, Interval, Sample, t_probability, t_quantile
from assay.results.measures import Measure, measure_trial
from assay.results.paired import Experiment, PairedDifference, compare_arms
from assay.studies.paired import describe_difference, draw_differences, make_difference_tables
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.studies.trials import find_rules, group_by_agent, read_study_trials, record_of
from assay.tasks import Registry, Task, load_task
from assay.tasks.facts import read_facts
from assay.tasks.registry import task_of

_MISSING = 1.0
"""Distance where one of two tasks does not say how large it is, or how many teams it had: a factor of ten."""
_OTHER_METRIC = 0.5


class CutoffSettings(StudySettings):
    """The date, and what is compared."""

    day: date = option(
        ..., "The model's knowledge cutoff: the last day it can have read about.", metavar="YYYY-MM-DD", flag="--date"
    )
    dates: FilePath | None = option(
        None, "Closing dates of other tasks: columns task and closed.  [default: those of mlebench]", metavar="FILE.csv"
    )
    measure: Measure = option("success", "What is compared; see assay compare.")


@dataclass(frozen=True)
class CutoffSide:
    """The tasks on one side of the date, unmatched."""

    tasks: int
    trials: int
    mean: Claim


@dataclass(frozen=True)
class TaskMatch:
    """Two tasks that are compared; `distance` is 0 for tasks alike in size, teams and metric."""

    before: str
    after: str
    distance: float


@dataclass(frozen=True)
class CutoffResult:
    """One agent: both sides as they are, and the difference (before − after) over matched tasks, if there are any."""

    agent: str
    before: CutoffSide
    after: CutoffSide
    matches: tuple[TaskMatch, ...]
    difference: PairedDifference | None = None


@dataclass(frozen=True)
class Trend:
    """How the results of an agent change with the closing date, over all dated tasks, not only matched ones.

    `slope` is per year, of the difference from the mean of the other agents on the task, if there are any: a task that
    is difficult for all of them is no effect of its date. `contrast` is the difference in differences: how much more
    the agent loses after the date than the others.
    """

    agent: str
    tasks: int
    others: int
    slope: Claim
    contrast: Claim | None = None


@dataclass(frozen=True)
class Cutoff:
    """All agents, the tasks whose date is not known, and those that do not define the measure."""

    results: tuple[CutoffResult, ...]
    trends: tuple[Trend, ...]
    undated: tuple[str, ...]
    undefined: tuple[str, ...]


def run(source: StudyInput, settings: CutoffSettings) -> StudyResult:
    """Compare tasks that closed up to the date with tasks that closed after it."""
    trials = read_study_trials(source.runs)
    study = study_cutoff(trials, settings.day, settings.measure, load_dates(source.registry, settings.dates))
    sides = [
        (result.agent, closed, side.tasks, side.trials, side.mean)
        for result in study.results
        for closed, side in (("before", result.before), ("after", result.after))
    ]
    columns = (
        Column("agent", heading=True),
        Column("closed"),
        Column("tasks", kind="integer"),
        Column("trials", kind="integer"),
        Column("mean", f"{settings.measure} (95%)", "rate", decimals=1),
    )
    matches = [
        (result.agent, pair.before, pair.after, pair.distance) for result in study.results for pair in result.matches
    ]
    match_columns = (
        Column("agent", heading=True),
        Column("before"),
        Column("after", "matched with"),
        Column("distance", kind="number"),
    )
    differences = [(result.agent, result.difference) for result in study.results if result.difference]
    sentences = [f"{find_rules(trials)}: {settings.measure} on tasks that closed up to {settings.day} and after"]
    sentences += [f"{agent}: {line}" for agent, pair in differences for line in describe_difference(pair)]
    sentences += [
        f"{result.agent}: no task after the date has one of the same modality before it."
        for result in study.results
        if result.difference is None
    ]
    sentences += [_describe_trend(trend, settings.measure) for trend in study.trends]
    sentences.append("A date or an agent that was chosen after seeing results makes these differences exploratory.")
    if study.undefined:
        sentences.append(f"Excluded, because they do not define {settings.measure}: {', '.join(study.undefined)}.")
    if study.undated:
        sentences.append(f"Excluded, because their date is not known: {', '.join(study.undated)}; pass --dates.")
    trend_columns = (
        Column("agent"),
        Column("tasks", kind="integer"),
        Column("others", "other agents", "integer"),
        Column("slope", "points per year", "difference", decimals=1),
        Column("p", "p (Holm)", "p"),
        Column("contrast", "more than others", "difference", decimals=1),
    )
    trends = [vars(trend) | {"p": trend.slope} for trend in study.trends]
    tables = [
        Table("sides", columns, tuple(sides)),
        Table.from_records("trends", trend_columns, trends),
        Table("matches", match_columns, tuple(matches)),
    ]
    return StudyResult(sentences, [*tables, *make_difference_tables(differences)], draw_differences(differences))


def _describe_trend(trend: Trend, measure: str) -> str:
    adjusted = f", adjusted for difficulty by {plural(trend.others, 'other agent')}" if trend.others else ""
    sentence = (
        f"{trend.agent}: {measure} changes by {format_points(trend.slope.value, 1)} points per year of closing date "
        f"({format_limits(trend.slope, 1)}, p = {format_p(trend.slope.p_adjusted or 0.0)}) over "
        f"{plural(trend.tasks, 'task')}{adjusted}"
    )
    if trend.contrast is None:
        return f"{sentence}."
    return (
        f"{sentence}; it is {format_points(trend.contrast.value, 1)} points further ahead of them before the date than "
        f"after ({format_limits(trend.contrast, 1)}), which says something only if theirs is another date."
    )


def load_dates(registry: Registry, more: Path | None = None) -> dict[str, date]:
    """Return the day on which each competition closed, by task; a CSV file with `task,closed` adds others."""
    dates: dict[str, date] = {}
    for suite, folder in registry.suites.values():
        closed = {
            f"{suite.name}/{name}": read_facts(folder / name).closed or load_task(folder / name, suite).dates.closed
            for name in suite.tasks
        }
        dates |= {name: day for name, day in closed.items() if day}
    if more is None:
        return dates
    try:
        for row in csv.DictReader(more.read_text("utf-8").splitlines()):
            dates[row["task"]] = date.fromisoformat(row["closed"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{more} is not a CSV file with task,closed, where closed is YYYY-MM-DD: {error}") from None
    return dates


def study_cutoff(trials: Sequence[TrialRow], day: date, measure: Measure, dates: Mapping[str, date]) -> Cutoff:
    """Compare tasks that closed up to a day with tasks that closed after it."""
    if measure == "wins":
        raise UsageError("wins compares trials of one task; choose another measure")
    tasks = {trial.task: task_of(record_of(trial).file) for trial in trials}
    undated = tuple(task for task in tasks if task not in dates)
    undefined = {trial.task for trial in trials if measure_trial(trial, measure) is None}
    usable = {name: task for name, task in tasks.items() if name in dates and name not in undefined}
    early = [name for name in usable if dates[name] <= day]
    late = [name for name in usable if dates[name] > day]
    if not early or not late:
        counts = f"{len(early)} closed up to {day} and {len(late)} after it"
        reasons = [f"{plural(len(undated), 'task')} without a date; pass --dates"] if undated else []
        if undefined:
            reasons.append(
                f"{plural(len(undefined), 'task')} for which {measure} is not defined; choose another --measure"
            )
        reason = f". Excluded: {'; '.join(reasons)}" if reasons else ""
        raise UsageError(
            f"The study needs tasks on both sides of the date; of those that can be used, {counts}{reason}"
        )
    results = [_study_agent(agent, own, early, late, usable, measure) for agent, own in group_by_agent(trials).items()]
    known = [(result, experiment) for result, experiment in filter(None, results)]
    differences = iter(compare_arms([experiment for _, experiment in known if experiment]))
    complete = [replace(result, difference=next(differences) if experiment else None) for result, experiment in known]
    kept = [trial for trial in trials if trial.task in usable]
    trends = study_trends(kept, day, measure, dates)
    return Cutoff(tuple(complete), trends, undated, tuple(sorted(undefined)))


def study_trends(
    trials: Sequence[TrialRow], day: date, measure: Measure, dates: Mapping[str, date]
) -> tuple[Trend, ...]:
    """Return the trend of each agent with enough tasks, p-values adjusted for their number by Holm's method."""
    means: dict[str, dict[str, float]] = {}
    for agent, own in group_by_agent(trials).items():
        values: dict[str, list[float]] = {}
        for trial in own:
            if (value := measure_trial(trial, measure)) is not None:
                values.setdefault(trial.task, []).append(value)
        means[agent] = {task: fmean(seeds) for task, seeds in values.items()}
    alone = {agent: trend for agent in means if (trend := _find_trend(agent, means, day, dates, 1))}
    allowances = inference.holm_allowances([trend.slope.p or 0.0 for trend in alone.values()], len(alone))
    trends = [
        _find_trend(agent, means, day, dates, comparisons) for agent, comparisons in zip(alone, allowances, strict=True)
    ]
    return tuple(trend for trend in trends if trend)


def _find_trend(
    agent: str, means: Mapping[str, Mapping[str, float]], day: date, dates: Mapping[str, date], comparisons: int
) -> Trend | None:
    rivals = [other for other in means if other != agent]
    tasks = [task for task in means[agent] if all(task in means[other] for other in rivals)]
    years = np.array([(dates[task] - day).days / 365.25 for task in tasks])
    own = np.array([means[agent][task] for task in tasks])
    others = np.array([fmean(means[other][task] for other in rivals) for task in tasks]) if rivals else 0 * own
    # As a difference and not as a regressor, whose noise would leave a part of the difficulty in the slope.
    gap = own - others
    fit = regress(gap, np.stack([np.ones(len(tasks)), years], axis=1))
    if fit is None:
        return None
    slope = _claim(agent, "change per year", fit, len(tasks), "regression with HC3 errors", comparisons)
    trend = Trend(agent, len(tasks), len(rivals), slope)
    sides = gap[years <= 0], gap[years > 0]
    if not rivals or min(map(len, sides)) < 2:
        return trend
    spreads = [float(side.var(ddof=1)) / len(side) for side in sides]
    if not any(spreads):
        return trend
    welch = sum(spreads) ** 2 / sum(v * v / (len(side) - 1) for v, side in zip(spreads, sides, strict=True))
    contrast = float(sides[0].mean() - sides[1].mean()), math.sqrt(sum(spreads)), max(int(welch), 1)
    return replace(trend, contrast=_claim(agent, "before − after", contrast, len(tasks), "Welch's test", comparisons))


def _claim(agent: str, measure: str, fit: tuple[float, float, int], tasks: int, method: str, comparisons: int) -> Claim:
    """Return a value with its error and degrees of freedom as a claim by Student's distribution."""
    value, error, freedom = fit
    confidence = 1 - ALPHA / comparisons
    half = t_quantile(freedom, confidence) * error
    inferred = Inference(value, Interval(value - half, value + half), 1 - t_probability(abs(value) / error, freedom))
    return claim_change((agent,), measure, inferred, tasks, method, comparisons=comparisons, confidence=confidence)


def regress(values: NDArray[np.float64], columns: NDArray[np.float64]) -> tuple[float, float, int] | None:
    """Return the coefficient of the second column, its error and degrees of freedom; None where it is not determined.

    The error is HC3: rates near 0 and 1 vary less than others, and each residual is divided by one minus its leverage.
    """
    count, width = columns.shape
    if count <= width + 1 or np.linalg.matrix_rank(columns) < width:
        return None
    inverse = np.linalg.inv(columns.T @ columns)
    coefficients = inverse @ columns.T @ values
    leverage = np.einsum("ij,jk,ik->i", columns, inverse, columns)
    scaled = (values - columns @ coefficients) / np.maximum(1 - leverage, 1e-9)
    covariance = inverse @ (columns.T * scaled**2) @ columns @ inverse
    error = math.sqrt(max(float(covariance[1, 1]), 0.0))
    return (float(coefficients[1]), error, count - width) if error > 1e-12 else None


def match_tasks(early: Sequence[Task], late: Sequence[Task]) -> list[TaskMatch]:
    """Match each late task with an early one of the same modality, closest pairs first, each task at most once."""
    candidates = sorted(
        (distance, before.id, after.id)
        for before in early
        for after in late
        if (distance := measure_distance(before, after)) is not None
    )
    used: set[str] = set()
    matches = []
    for distance, before, after in candidates:
        if not used & {before, after}:
            used |= {before, after}
            matches.append(TaskMatch(before, after, round(distance, 3)))
    return matches


def measure_distance(first: Task, second: Task) -> float | None:
    """Return how different two tasks are: orders of magnitude in size and teams, and a half for another metric.

    None for tasks of different modalities, which are never matched.
    """
    if find_modality(first) != find_modality(second):
        return None
    teams = [task.leaderboard.teams if task.leaderboard else None for task in (first, second)]
    sizes = [task.preparation.size for task in (first, second)]
    return _ratio(sizes) + _ratio(teams) + (_OTHER_METRIC if first.metric.name != second.metric.name else 0.0)


def find_modality(task: Task) -> str:
    """Return what a task's inputs are: `image` for `image-classification`, `tabular` for `tabular-regression`."""
    return task.kind.partition("-")[0]


def _study_agent(
    agent: str,
    trials: Sequence[TrialRow],
    early: Sequence[str],
    late: Sequence[str],
    tasks: Mapping[str, Task],
    measure: Measure,
) -> tuple[CutoffResult, Experiment | None] | None:
    samples: dict[str, list[float]] = {}
    for trial in trials:
        value = measure_trial(trial, measure)
        if trial.task in tasks and value is not None:
            samples.setdefault(trial.task, []).append(value)
    before, after = ({name: samples[name] for name in side if name in samples} for side in (early, late))
    if not before or not after:
        return None
    matches = match_tasks([tasks[name] for name in before], [tasks[name] for name in after])
    experiment = None
    if matches:
        # A pair of tasks is one observation: its seeds are not paired with each other.
        names = {match: (f"{match.before} / {match.after.partition('/')[2]}", 0) for match in matches}
        first = {names[match]: fmean(samples[match.before]) for match in matches}
        second = {names[match]: fmean(samples[match.after]) for match in matches}
        experiment = Experiment(first, second, ("before", "after"), measure)
    early_side, late_side = (_side(agent, sample, measure) for sample in (before, after))
    return CutoffResult(agent, early_side, late_side, tuple(matches)), experiment


def _side(agent: str, sample: Sample, measure: Measure) -> CutoffSide:
    return CutoffSide(len(sample), sum(map(len, sample.values())), claim_sample(agent, measure, sample))


def _ratio(values: Sequence[int | None]) -> float:
    if values[0] is None and values[1] is None:
        return 0.0
    if not values[0] or not values[1]:
        return _MISSING
    return abs(math.log10(values[0] / values[1]))


STUDY = Study(
    name="cutoff",
    summary="Compare tasks that closed before and after a knowledge cutoff, matched.",
    settings=CutoffSettings,
    run=run,
    reads="plan",
    description="Pass finished runs, or a plan to run first. Each task that closed after the date is matched with one "
    "that closed before it: the same modality, and as close as possible in size, number of teams and metric.",
    examples=(
        "assay study cutoff runs/aide --date 2023-10-01",
        "assay study cutoff mlebench --agent aide --model openai/o1 --date 2023-10-01",
    ),
)
