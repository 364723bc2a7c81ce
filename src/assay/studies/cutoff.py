"""Whether agents do better on competitions that their model can have read about: closed before against after a date.

Tasks of both sides differ in more than their date, so each task that closed after the knowledge cutoff is matched with
one that closed before it: the same modality, and as close as possible in size, number of teams and metric.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.text import plural
from assay.results import inference
from assay.results.comparison import RATES, Measure, measure_outcome
from assay.results.inference import Interval, Sample
from assay.results.outcome import RuleSet
from assay.runs.trial import task_of
from assay.studies.paired import PairedDifference, compare_arms
from assay.studies.trials import StudyTrial, find_rules, group_by_agent
from assay.tasks import Task

_MISSING = 1.0
"""Distance where one of two tasks does not say how large it is, or how many teams it had: a factor of ten."""
_OTHER_METRIC = 0.5


@dataclass(frozen=True)
class CutoffSide:
    """The tasks on one side of the date, unmatched."""

    tasks: int
    trials: int
    mean: float
    interval: Interval


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
    difference: PairedDifference | None


@dataclass(frozen=True)
class Cutoff:
    """The study of all agents. `undated` has tasks whose date is not known, `left_out` those without the measure."""

    date: date
    measure: Measure
    rules: RuleSet
    results: tuple[CutoffResult, ...]
    undated: tuple[str, ...]
    left_out: tuple[str, ...]


def load_dates(more: Path | None = None) -> dict[str, date]:
    """Return the day on which each competition closed, by task; a CSV file with `task,closed` adds others."""
    text = (resources.files(__package__) / "competition_dates.csv").read_text("utf-8")
    dates = {row["task"]: date.fromisoformat(row["closed"]) for row in csv.DictReader(text.splitlines())}
    if more is None:
        return dates
    try:
        for row in csv.DictReader(more.read_text("utf-8").splitlines()):
            dates[row["task"]] = date.fromisoformat(row["closed"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{more} is not a CSV file with task,closed, where closed is YYYY-MM-DD: {error}") from None
    return dates


def study_cutoff(trials: Sequence[StudyTrial], day: date, measure: Measure, dates: Mapping[str, date]) -> Cutoff:
    """Compare tasks that closed up to a day with tasks that closed after it."""
    if measure == "wins":
        raise UsageError("wins compares trials of one task; choose another measure")
    tasks = {one.outcome.task: task_of(one.file) for one in trials}
    undated = tuple(task for task in tasks if task not in dates)
    left_out = {one.outcome.task for one in trials if measure_outcome(one.outcome, measure) is None}
    usable = {name: task for name, task in tasks.items() if name in dates and name not in left_out}
    early = [name for name in usable if dates[name] <= day]
    late = [name for name in usable if dates[name] > day]
    if not early or not late:
        shown = f"{len(early)} closed up to {day} and {len(late)} after it"
        reasons = [f"{plural(len(undated), 'task')} without a date; pass --dates"] if undated else []
        if left_out:
            reasons.append(
                f"{plural(len(left_out), 'task')} for which {measure} is not defined; choose another --measure"
            )
        why = f". Left out: {'; '.join(reasons)}" if reasons else ""
        raise UsageError(f"The study needs tasks on both sides of the date; of those that can be used, {shown}{why}")
    results = [
        _study_agent(agent, same, early, late, usable, measure) for agent, same in group_by_agent(trials).items()
    ]
    return Cutoff(
        day, measure, find_rules(trials), tuple(one for one in results if one), undated, tuple(sorted(left_out))
    )


def match_tasks(early: Sequence[Task], late: Sequence[Task]) -> list[TaskMatch]:
    """Match each late task with an early one of the same modality, closest pairs first, each task at most once."""
    candidates = sorted(
        (distance, one.id, other.id)
        for one in early
        for other in late
        if (distance := measure_distance(one, other)) is not None
    )
    used: set[str] = set()
    matches = []
    for distance, before, after in candidates:
        if not used & {before, after}:
            used |= {before, after}
            matches.append(TaskMatch(before, after, round(distance, 3)))
    return matches


def measure_distance(one: Task, other: Task) -> float | None:
    """Return how different two tasks are: orders of magnitude in size and teams, and a half for another metric.

    None for tasks of different modalities, which are never matched.
    """
    if find_modality(one) != find_modality(other):
        return None
    teams = [task.leaderboard.teams if task.leaderboard else None for task in (one, other)]
    sizes = [task.preparation.size for task in (one, other)]
    return _ratio(sizes) + _ratio(teams) + (_OTHER_METRIC if one.metric.name != other.metric.name else 0.0)


def find_modality(task: Task) -> str:
    """Return what a task's inputs are: `image` for `image-classification`, `tabular` for `tabular-regression`."""
    return task.kind.partition("-")[0]


def _study_agent(
    agent: str,
    trials: Sequence[StudyTrial],
    early: Sequence[str],
    late: Sequence[str],
    tasks: Mapping[str, Task],
    measure: Measure,
) -> CutoffResult | None:
    samples: dict[str, list[float]] = {}
    for one in trials:
        value = measure_outcome(one.outcome, measure)
        if one.outcome.task in tasks and value is not None:
            samples.setdefault(one.outcome.task, []).append(value)
    before, after = ({name: samples[name] for name in side if name in samples} for side in (early, late))
    if not before or not after:
        return None
    matches = match_tasks([tasks[name] for name in before], [tasks[name] for name in after])
    difference = None
    if matches:
        # A pair of tasks is one observation: its seeds are not paired with each other.
        values = [
            {(f"{match.before} / {match.after.partition('/')[2]}", 0): _mean(samples[side]) for match, side in found}
            for found in (
                [(match, match.before) for match in matches],
                [(match, match.after) for match in matches],
            )
        ]
        difference = compare_arms(values[0], values[1], ("before", "after"), rate=False)
    return CutoffResult(agent, _side(before, measure), _side(after, measure), tuple(matches), difference)


def _side(sample: Sample, measure: Measure) -> CutoffSide:
    interval_of = inference.rate_interval if measure in RATES else inference.bootstrap_interval
    trials = sum(map(len, sample.values()))
    return CutoffSide(len(sample), trials, inference.mean_over_tasks(sample), interval_of(sample))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ratio(values: Sequence[int | None]) -> float:
    if values[0] is None and values[1] is None:
        return 0.0
    if not values[0] or not values[1]:
        return _MISSING
    return abs(math.log10(values[0] / values[1]))
