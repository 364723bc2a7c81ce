"""How results scale: with time, steps or cost from one long run, with attempts, with resources from a sweep.

A trial keeps its workspace after every step, so one long run holds all shorter ones: what the agent would have
submitted at any moment is graded afterwards. Compared with its own pick is the oracle, the best submission it had made
by then; the difference is what better selection would gain. Attempts are drawn without replacement from the seeds of a
run. Resources have to be run one level at a time; the same plan at every level, paired by task and seed.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Literal

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import stage
from assay.core.quantities import format_size
from assay.core.text import plural
from assay.lab.host import gpu_numbers
from assay.records import TrialFile
from assay.results import inference
from assay.results.comparison import RATES, Measure, measure_outcome
from assay.results.curves import compute_curve, compute_interval
from assay.results.inference import Interval, Sample
from assay.results.outcome import RuleSet
from assay.results.progress import AXES, Axis, ProgressRow, reach, read_progress
from assay.runs.plan import Plan
from assay.runs.trial import task_of
from assay.studies.paired import PairedDifference, compare_arms
from assay.studies.trials import StudyTrial, find_rules, group_by_agent
from assay.tasks.model import Resources

Factor = Axis | Literal["attempts", "cores", "memory", "gpus"]
FACTORS: tuple[Factor, ...] = (*AXES, "attempts", "cores", "memory", "gpus")
SWEPT: tuple[Factor, ...] = ("cores", "memory", "gpus")
"""What needs a run at every level."""
_DEFAULT_LEVELS = 12


@dataclass(frozen=True)
class ScalingPoint:
    """The value at one level: its mean over tasks, an interval over tasks, and what a trial took until then.

    `per_unit`, `per_hour` and `per_dollar` are the gain since the level before, by what was added of it.
    """

    level: float
    value: float
    interval: Interval | None
    oracle: float | None
    hours: float
    dollars: float | None
    per_unit: float | None = None
    per_hour: float | None = None
    per_dollar: float | None = None

    @property
    def gap(self) -> float | None:
        """How much the agent loses by its own selection."""
        return None if self.oracle is None else self.oracle - self.value


@dataclass(frozen=True)
class ScalingCurve:
    """One agent over all levels; `steps` compares each level of a sweep with the one before."""

    agent: str
    tasks: tuple[str, ...]
    trials: int
    points: tuple[ScalingPoint, ...]
    steps: tuple[PairedDifference, ...] = ()


@dataclass(frozen=True)
class Scaling:
    """The curves of all agents, and the tasks that were left out with the reason."""

    over: Factor
    measure: Measure
    rules: RuleSet
    curves: tuple[ScalingCurve, ...]
    left_out: Mapping[str, str]


def plan_levels(plan: Plan, factor: Factor, levels: Sequence[float], *, local: bool) -> list[Plan]:
    """Return the plans that a study has to run: one for each level of a resource, else the plan itself.

    `local` is whether they run on this machine, which must have what the highest level takes.
    """
    check_levels(factor, levels)
    if factor not in SWEPT:
        return [plan]
    if local and levels and max(levels) > (here := _measure_machine(factor)):
        raise UsageError(
            f"--levels: this machine has {name_level(factor, here)}, not {name_level(factor, max(levels))}; "
            "choose lower levels, or a cluster with --on"
        )
    if len(levels) < 2:
        raise UsageError(f"A sweep over {factor} needs at least two levels; pass --levels, e.g. --levels 1,2,4")
    return [replace(plan, resources={**plan.resources, factor: int(level)}) for level in levels]


def check_levels(factor: Factor, levels: Sequence[float]) -> None:
    """Raise an error if a level is too small, or not a whole number of what comes in whole numbers."""
    lowest = 0 if factor == "gpus" else 1 if factor in ("cores", "attempts", "steps") else 1e-9
    for level in levels:
        if level < lowest or (factor not in ("time", "cost") and level != int(level)):
            raise UsageError(f"--levels: {level:g} is not a possible number of {factor}")


def name_level(factor: Factor, level: float) -> str:
    """Return a level of a resource with its unit: `2 cores`, `1 GPU`, `4GB`."""
    return format_size(int(level)) if factor == "memory" else plural(int(level), {"gpus": "GPU"}.get(factor, "core"))


def _measure_machine(factor: Factor) -> int:
    if factor == "memory":
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return len(gpu_numbers() if factor == "gpus" else os.sched_getaffinity(0))


def drop_resources(file: TrialFile) -> TrialFile:
    """Return a plan without its resources, so that the levels of a sweep are one agent."""
    return file.model_copy(update={"resources": Resources(), "resource_overrides": {}})


def study_scaling(
    trials: Sequence[StudyTrial], factor: Factor, measure: Measure, home: Home, levels: Sequence[float] = ()
) -> Scaling:
    """Return the curves of the agents of some trials."""
    check_levels(factor, levels)
    if measure == "wins":
        raise UsageError("wins compares trials with each other; choose another measure")
    left_out: dict[str, str] = {}
    curves = []
    for agent, same in group_by_agent(trials).items():
        if factor == "time" or factor == "steps" or factor == "cost":
            progress = _read_progress(same, measure, home, left_out)
            curves += [compute_budget_curve(agent, progress, factor, measure, levels)] if progress else []
        elif factor == "attempts":
            curves += _curve_over_attempts(agent, same, measure, left_out, levels)
        else:
            curves += _curve_over_sweep(agent, same, factor, measure, left_out, levels)
    if not curves:
        why = "; ".join(f"{task}: {reason}" for task, reason in left_out.items())
        raise UsageError(f"No trial can be studied over {factor}. {why}")
    return Scaling(factor, measure, find_rules(trials), tuple(curves), left_out)


# One long run


def compute_budget_curve(
    agent: str,
    trials: Sequence[Sequence[ProgressRow]],
    axis: Axis,
    measure: Measure,
    levels: Sequence[float] = (),
) -> ScalingCurve:
    """Return the curve of one agent over time, steps or cost, from the progress of each trial to its end."""
    ends = [rows[-1].amount(axis) for rows in trials]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        raise UsageError(f"The cost of {agent} is not known; set the prices of its models in the plan")
    if max(known) == 0:
        raise UsageError(f"{agent} used no {axis}, so there is no curve over it")
    levels = levels or _default_levels(max(known), whole=axis == "steps")
    reached = [[picked for picked, _ in reach(rows, axis, levels)] for rows in trials]
    points = []
    for number, point in enumerate(compute_curve(trials, measure, axis, levels)):
        assert point.picked is not None, "only scores can be missing"
        at_level = [rows[number] for rows in reached]
        costs = [row.cost if row else 0.0 for row in at_level]
        hours = [row.elapsed if row else 0.0 for row in at_level]
        if axis == "time":
            hours = [min(rows[-1].elapsed, point.level) for rows in trials]
        points.append(
            ScalingPoint(
                level=point.level,
                value=point.picked,
                interval=point.interval,
                oracle=point.best,
                hours=fmean(hours) / 3600,
                dollars=_mean_cost(costs),
            )
        )
    tasks = tuple(dict.fromkeys(rows[0].task for rows in trials))
    return ScalingCurve(agent, tasks, len(trials), _with_gains(points))


def _read_progress(
    trials: Sequence[StudyTrial], measure: Measure, home: Home, left_out: dict[str, str]
) -> list[tuple[ProgressRow, ...]]:
    """Grade what trials had at every step; tasks for which that is impossible are excluded with the reason."""
    progress = []
    with stage("grading submissions of every step", len(trials)) as advance:
        for trial in trials:
            task = task_of(trial.file)
            if task.timed:
                left_out[task.id] = "its steps cannot be graded afterwards, because it measures time"
            else:
                rows = read_progress(trial.folder, task, home, replace(trial.outcome, agent=trial.agent))
                if any(row.value(measure) is None for row in rows):
                    left_out[task.id] = f"it does not define {measure}"
                progress.append(rows)
            advance(1)
    return [rows for rows in progress if rows[0].task not in left_out]


def _default_levels(end: float, *, whole: bool) -> list[float]:
    if whole:
        step = max(1, round(end / _DEFAULT_LEVELS))
        return [float(level) for level in dict.fromkeys([*range(1, int(end), step), int(end)])]
    return [end * number / _DEFAULT_LEVELS for number in range(1, _DEFAULT_LEVELS + 1)]


# Attempts


def _curve_over_attempts(
    agent: str,
    trials: Sequence[StudyTrial],
    measure: Measure,
    left_out: dict[str, str],
    levels: Sequence[float],
) -> list[ScalingCurve]:
    sample = _measured_sample(trials, measure, left_out)
    if not sample:
        return []
    kept = [one for one in trials if one.outcome.task in sample]
    hours = fmean(one.outcome.elapsed for one in kept) / 3600
    dollars = _mean_cost([one.outcome.cost for one in kept])
    points = []
    seeds = min(map(len, sample.values()))
    if beyond := [level for level in levels if level > seeds]:
        raise UsageError(f"{agent} has {seeds} seeds of a task, which is less than {beyond[0]:g} attempts")
    for k in [k for k in range(1, seeds + 1) if not levels or k in levels]:
        best = {task: [inference.expected_best(values, k)] for task, values in sample.items()}
        points.append(
            ScalingPoint(
                level=k,
                value=inference.mean_over_tasks(best),
                interval=_interval_over_tasks(best, measure),
                oracle=None,
                hours=k * hours,
                dollars=None if dollars is None else k * dollars,
            )
        )
    return [ScalingCurve(agent, tuple(sample), len(kept), _with_gains(points))]


# Sweeps


def _curve_over_sweep(
    agent: str,
    trials: Sequence[StudyTrial],
    factor: Factor,
    measure: Measure,
    left_out: dict[str, str],
    levels: Sequence[float],
) -> list[ScalingCurve]:
    by_level: dict[int, list[StudyTrial]] = {}
    for trial in trials:
        level = getattr(trial.file.resources, factor)
        if not levels or level in levels:
            by_level.setdefault(level, []).append(trial)
    if len(by_level) < 2:
        raise UsageError(f"All trials of {agent} have the same {factor}; a sweep needs at least two levels")
    samples = {level: _measured_sample(same, measure, left_out) for level, same in sorted(by_level.items())}
    tasks = [task for task in next(iter(samples.values())) if all(task in sample for sample in samples.values())]
    if not tasks:
        return []
    points = []
    for level, sample in samples.items():
        kept = [one for one in by_level[level] if one.outcome.task in tasks]
        chosen = {task: sample[task] for task in tasks}
        points.append(
            ScalingPoint(
                level=level,
                value=inference.mean_over_tasks(chosen),
                interval=compute_interval(chosen, measure),
                oracle=None,
                hours=fmean(one.outcome.elapsed for one in kept) / 3600,
                dollars=_mean_cost([one.outcome.cost for one in kept]),
            )
        )
    values = {
        level: {
            (one.outcome.task, one.outcome.seed): value
            for one in same
            if one.outcome.task in tasks and (value := measure_outcome(one.outcome, measure)) is not None
        }
        for level, same in sorted(by_level.items())
    }
    steps = tuple(
        compare_arms(
            values[more], values[less], (name_level(factor, more), name_level(factor, less)), rate=measure in RATES
        )
        for less, more in pairwise(values)
    )
    trials_kept = sum(len(same) for same in values.values())
    return [ScalingCurve(agent, tuple(tasks), trials_kept, _with_gains(points, times=False), steps)]


# Helpers


def _sample(values: Iterable[tuple[str, float]]) -> Sample:
    sample: dict[str, list[float]] = {}
    for task, value in values:
        sample.setdefault(task, []).append(value)
    return sample


def _measured_sample(trials: Sequence[StudyTrial], measure: Measure, left_out: dict[str, str]) -> Sample:
    """Return the values by task; a task that does not define the measure is left out."""
    values = [(one.outcome.task, measure_outcome(one.outcome, measure)) for one in trials]
    undefined = {task for task, value in values if value is None}
    left_out |= dict.fromkeys(undefined, f"it does not define {measure}")
    return _sample((task, value) for task, value in values if value is not None and task not in undefined)


def _mean_cost(costs: Sequence[float | None]) -> float | None:
    return None if None in costs else fmean(cost for cost in costs if cost is not None)


def _interval_over_tasks(values: Sample, measure: Measure) -> Interval | None:
    """Return the interval of a mean with one value per task; where all tasks always succeed or fail, it is Wilson's."""
    if len(values) < 2:
        return None
    if measure in RATES and inference.mean_over_tasks(values) in (0, 1):
        return inference.rate_interval(values)
    return inference.bootstrap_interval(values)


def _with_gains(points: Sequence[ScalingPoint], *, times: bool = True) -> tuple[ScalingPoint, ...]:
    """Return the points with the gain since the point before; the hours of a sweep are not what is added."""
    found = list(points[:1])
    for before, point in pairwise(points):
        gain, hours = point.value - before.value, point.hours - before.hours
        dollars = (point.dollars or 0.0) - (before.dollars or 0.0)
        found.append(
            replace(
                point,
                per_unit=gain / (point.level - before.level),
                per_hour=gain / hours if times and hours > 0 else None,
                per_dollar=gain / dollars if dollars > 0 else None,
            )
        )
    return tuple(found)
