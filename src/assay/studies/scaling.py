"""How results scale: with time, steps or cost from one long run, with attempts, with resources from a sweep.

One long run stands for shorter ones, because what the agent would have submitted at any moment is graded afterwards; an
agent that knows its budget would have spent a shorter one otherwise, so a study over time says so.
Its pick is compared with the oracle, the best submission it had made by then; the difference is what better selection
would gain. Attempts are sampled without replacement from the seeds of a run. Resources have to be run one level at a
time: the same plan at every level, paired by task and seed.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from statistics import fmean
from typing import Literal, Self

from pydantic import model_validator

from assay.core.claim import Claim, Published, format_rate
from assay.core.errors import UsageError
from assay.core.figure import Axis as FigureAxis
from assay.core.figure import Figure, Key
from assay.core.home import Home
from assay.core.progress import stage
from assay.core.quantities import format_duration, format_size, parse_duration, parse_size
from assay.core.table import Column, Formatted, Table, Value
from assay.core.text import plural
from assay.lab.host import gpu_numbers
from assay.lab.host.memory import machine_memory
from assay.records import TrialFile
from assay.results import inference
from assay.results.claims import claim_difference, claim_sample
from assay.results.curves import compute_curve, state_mean
from assay.results.frame import RuleSet, TrialRow
from assay.results.inference import Sample
from assay.results.measures import MEASURE_TITLES, Measure, measure_trial
from assay.results.paired import Experiment, PairedDifference, compare_arms
from assay.results.progress import AXES, Axis, ProgressRow, reach, reach_oracle, read_progress
from assay.runs.plan import Plan
from assay.studies.paired import describe_difference, make_difference_tables
from assay.studies.paper_figures import load_paper_figures
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.studies.trials import find_rules, group_by_agent, read_study_trials, record_of
from assay.tasks.model import Resources
from assay.tasks.registry import task_of

Factor = Axis | Literal["attempts", "cores", "memory", "gpus"]
SWEPT: tuple[Factor, ...] = ("cores", "memory", "gpus")
"""What needs a run at every level."""
_TITLES: Mapping[Factor, str] = {
    "time": "time per trial",
    "steps": "steps per trial",
    "cost": "dollars per trial",
    "attempts": "attempts, the best of which counts",
    "cores": "cores per trial",
    "memory": "memory per trial",
    "gpus": "GPUs per trial",
}
_UNITS: Mapping[Factor, Literal["duration", "money", "size"]] = {"time": "duration", "cost": "money", "memory": "size"}
_DEFAULT_LEVELS = 12


class ScalingSettings(StudySettings):
    """What is varied, and what is measured."""

    over: Factor = option(..., "What is varied.")
    levels: str | None = option(
        None,
        "Levels, e.g. 1h,4h,24h; for cores, memory and gpus the levels to run.  [default: even steps]",
        metavar="LEVEL,LEVEL…",
    )
    measure: Measure = option("success", "What is measured; see assay compare.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        lowest = 0 if self.over == "gpus" else 1 if self.over in ("cores", "attempts", "steps") else 1e-9
        for level in self.amounts:
            if level < lowest or (self.over not in ("time", "cost") and level != int(level)):
                raise ValueError(f"--levels: {level:g} is not a possible number of {self.over}")
        if self.measure == "wins":
            raise ValueError("wins compares trials with each other; choose another --measure")
        return self

    @property
    def amounts(self) -> list[float]:
        """The levels as numbers, in order."""
        parse = {"time": parse_duration, "memory": parse_size}.get(self.over, float)
        return sorted({float(parse(part.strip())) for part in self.levels.split(",")}) if self.levels else []


@dataclass(frozen=True)
class ScalingPoint:
    """One level: the mean over tasks, that of the oracle, and what a trial used until then.

    `gap` is what the agent loses by its own selection. `per_unit`, `per_hour` and `per_dollar` are the gain since the
    level before, divided by what was added. `sample` has the values by task.
    """

    level: float
    value: Claim
    sample: Sample
    hours: float
    dollars: float | None
    oracle: Claim | None = None
    gap: Claim | None = None
    per_unit: Claim | None = None
    per_hour: Claim | None = None
    per_dollar: Claim | None = None


@dataclass(frozen=True)
class ScalingCurve:
    """One agent over all levels; `steps` compares each level of a sweep with the one before, by its `experiments`."""

    agent: str
    tasks: tuple[str, ...]
    trials: int
    points: tuple[ScalingPoint, ...]
    experiments: tuple[Experiment, ...] = ()
    steps: tuple[PairedDifference, ...] = ()


@dataclass(frozen=True)
class Scaling:
    """The curves of all agents, and the excluded tasks with the reason."""

    rules: RuleSet
    curves: tuple[ScalingCurve, ...]
    excluded: Mapping[str, str]


def plan_levels(plan: Plan, settings: ScalingSettings, local: bool) -> list[Plan]:
    """Return the plans to run: one for each level of a resource, else the plan itself.

    `local` is whether they run on this machine, which must have what the highest level needs.
    """
    factor, levels = settings.over, settings.amounts
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


def name_level(factor: Factor, level: float) -> str:
    """Return a level of a resource with its unit: `2 cores`, `1 GPU`, `4GB`."""
    return format_size(int(level)) if factor == "memory" else plural(int(level), {"gpus": "GPU"}.get(factor, "core"))


def format_level(factor: Factor, level: float) -> str:
    """Return a level as it is written: `30s`, `4GB`, `$0.5`, `3`."""
    if factor == "time":
        return format_duration(level)
    if factor == "memory":
        return format_size(int(level))
    return f"${level:.3g}" if factor == "cost" else f"{level:g}"


def _measure_machine(factor: Factor) -> int:
    if factor == "memory":
        return machine_memory()
    return len(gpu_numbers() if factor == "gpus" else os.sched_getaffinity(0))


def drop_resources(file: TrialFile) -> TrialFile:
    """Return a plan without its resources, so that the levels of a sweep are one agent."""
    return file.model_copy(update={"resources": Resources(), "resource_overrides": {}})


def run(source: StudyInput, settings: ScalingSettings) -> StudyResult:
    """Study the runs."""
    scaling = study_scaling(read_study_trials(source.runs, drop_resources), settings, source.home)
    steps = [(curve.agent, step) for curve in scaling.curves for step in curve.steps]
    tables = [_make_table(scaling, settings)]
    if steps:
        tables += make_difference_tables(steps)
    published = load_paper_figures()
    rows = [
        (
            curve.name,
            Formatted(level, format_level(settings.over, level)),
            Published(share / 100, error and error / 100),
        )
        for curve in published.curves(settings.over)
        for (level, share), error in zip(curve.points, curve.errors or [None] * len(curve.points), strict=True)
    ]
    if rows:
        columns = (
            Column("name", heading=True),
            Column("level", settings.over, "number"),
            Column("share", "with a medal", "rate", decimals=1),
        )
        title = "Published: share of 75 competitions with a medal"
        tables.append(Table("published", columns, tuple(rows), title, extra={"source": published.source}))
    sentences = [f"{scaling.rules}: {settings.measure} over {settings.over}"]
    sentences += [f"{agent}: {sentence}" for agent, step in steps for sentence in describe_difference(step)]
    if settings.over in AXES:
        sentences.append(
            "Levels are moments of longer runs. An agent that knows its budget would have spent a smaller one "
            "otherwise, so lower levels understate runs with that budget; run them to compare."
        )
    return StudyResult(sentences, tables, [_draw(scaling, settings)])


def study_scaling(trials: Sequence[TrialRow], settings: ScalingSettings, home: Home) -> Scaling:
    """Return the curves of the agents of some trials."""
    excluded: dict[str, str] = {}
    curves: list[ScalingCurve] = []
    for agent, own in group_by_agent(trials).items():
        match settings.over:
            case "time" | "steps" | "cost":
                progress = _read_progress(own, settings.measure, home, excluded)
                if progress:
                    curves.append(
                        compute_budget_curve(agent, progress, settings.over, settings.measure, settings.amounts)
                    )
            case "attempts":
                curves += _curve_over_attempts(agent, own, settings, excluded)
            case "cores" | "memory" | "gpus":
                curves += _curve_over_sweep(agent, own, settings, excluded)
    if not curves:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in excluded.items())
        raise UsageError(f"No trial can be studied over {settings.over}. {reasons}")
    steps = iter(compare_arms([experiment for curve in curves for experiment in curve.experiments]))
    compared = (replace(curve, steps=tuple(islice(steps, len(curve.experiments)))) for curve in curves)
    return Scaling(find_rules(trials), tuple(compared), excluded)


def _make_table(scaling: Scaling, settings: ScalingSettings) -> Table:
    has_oracle = any(point.oracle is not None for curve in scaling.curves for point in curve.points)
    unit = settings.over.removesuffix("s") if settings.over in ("attempts", "steps", "cores", "gpus") else ""
    columns = (
        Column("agent", heading=True),
        Column("sample", heading=True, text_only=True),
        Column("tasks", kind="integer", data_only=True),
        Column("trials", kind="integer", data_only=True),
        Column("level", settings.over, "number"),
        Column("value", f"{MEASURE_TITLES[settings.measure]}, 95%", "rate", decimals=1),
        Column("oracle", "oracle (95%)", "rate", decimals=1, data_only=not has_oracle),
        Column("gap", kind="difference", decimals=1, data_only=not has_oracle),
        Column("per_unit", f"per {unit}", "difference", decimals=1, data_only=not unit, drop=3),
        Column("per_hour", kind="difference", decimals=1, drop=2),
        Column("per_dollar", kind="difference", decimals=1, drop=1),
        Column("hours", kind="number", data_only=True),
        Column("dollars", kind="number", data_only=True),
    )
    rows: list[tuple[Value, ...]] = []
    for curve in scaling.curves:
        sample = f"{plural(len(curve.tasks), 'task')}, {plural(curve.trials, 'trial')}"
        for point in curve.points:
            level = Formatted(point.level, format_level(settings.over, point.level))
            value = (curve.agent, sample, len(curve.tasks), curve.trials, level, point.value)
            gains = (point.per_unit, point.per_hour, point.per_dollar, point.hours, point.dollars)
            rows.append((*value, point.oracle, point.gap, *gains))
    notes = [
        "Intervals: 95% on tasks like these (on the task, if it is the only one), for each level alone.",
        "Gains: points since the level before, divided by what was added.",
    ]
    if has_oracle:
        notes.append(
            "Oracle: the best submission so far, chosen by one half of the test rows and scored on the other. "
            "Gap: what the agent's choice loses."
        )
    notes += [f"Excluded: {task}: {reason}" for task, reason in scaling.excluded.items()]
    return Table("points", columns, tuple(rows), notes=tuple(notes))


def _draw(scaling: Scaling, settings: ScalingSettings) -> Figure:
    """Return a curve for each agent with its interval, the oracle dotted, and published figures in gray."""
    measure = MEASURE_TITLES[settings.measure]
    figure = Figure(
        "scaling",
        f"{settings.measure} over {settings.over}",
        x=FigureAxis(_TITLES[settings.over], _UNITS.get(settings.over, "number")),
        y=FigureAxis(measure, "rate"),
        legend=[Key(curve.agent, color) for color, curve in enumerate(scaling.curves)] if scaling.curves[1:] else (),
    )
    for color, curve in enumerate(scaling.curves):
        figure.curve([(point.level, point.value) for point in curve.points], color=color)
        if oracle := [(point.level, point.oracle) for point in curve.points if point.oracle]:
            figure.curve(oracle, band=False, color=color, style="dotted thin")
        for point in curve.points:
            hover = f"{format_level(settings.over, point.level)}: {format_rate(point.value, 1)}"
            figure.claim(point.value, point.level, size=3, color=color, style="thin faint", hover=hover)
    if settings.measure == "success":
        for published in load_paper_figures().curves(settings.over):
            points = [(level, Published(share / 100)) for level, share in published.points]
            if settings.over == "time":  # hours that are seldom on the scale
                for hours, rate in points:
                    figure.rule(y=rate.value, label=f"published, {format_duration(hours)}")
                continue
            figure.quote(points, style="dashed", hover=f"{published.name}, published")
            label = published.name.partition(",")[0].partition(":")[0] + ", published"
            level, rate = points[-1]
            figure.text(level, rate.value, label, anchor="end", shift=(0, -8), style="muted small")
    return figure


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
    oracles = [reach_oracle(rows, axis, levels, measure) for rows in trials]
    points = []
    for number, point in enumerate(compute_curve(trials, measure, axis, levels)):
        assert isinstance(point.picked, Claim), "only scores have no claim"
        at_level = [rows[number] for rows in reached]
        costs = [row.cost if row else 0.0 for row in at_level]
        hours = [row.elapsed if row else 0.0 for row in at_level]
        if axis == "time":
            hours = [min(rows[-1].elapsed, point.level) for rows in trials]
        perfect = _sample_by_task(trials, [values[number] or 0.0 for values in oracles])
        oracle = state_mean(agent, measure, perfect)
        points.append(
            ScalingPoint(
                level=point.level,
                value=point.picked,
                sample=point.sample,
                oracle=oracle if isinstance(oracle, Claim) else None,
                gap=claim_difference(("oracle", agent), measure, perfect, point.sample),
                hours=fmean(hours) / 3600,
                dollars=_mean_cost(costs),
            )
        )
    tasks = tuple(dict.fromkeys(rows[0].task for rows in trials))
    return ScalingCurve(agent, tasks, len(trials), _with_gains(points))


def _sample_by_task(trials: Sequence[Sequence[ProgressRow]], values: Sequence[float]) -> Sample:
    sample: dict[str, list[float]] = {}
    for rows, value in zip(trials, values, strict=True):
        sample.setdefault(rows[0].task, []).append(value)
    return sample


def _read_progress(
    trials: Sequence[TrialRow], measure: Measure, home: Home, excluded: dict[str, str]
) -> list[tuple[ProgressRow, ...]]:
    """Grade what trials had at every step; tasks for which that is impossible are excluded with the reason."""
    progress = []
    with stage("grading submissions of every step", len(trials)) as advance:
        for trial in trials:
            task = task_of(record_of(trial).file)
            if task.timed:
                excluded[task.id] = "its steps cannot be graded afterwards, because it measures time"
            else:
                rows = read_progress(record_of(trial).folder, task, home, trial)
                if any(row.value(measure) is None for row in rows):
                    excluded[task.id] = f"it does not define {measure}"
                progress.append(rows)
            advance(1)
    return [rows for rows in progress if rows[0].task not in excluded]


def _default_levels(end: float, *, whole: bool) -> list[float]:
    if whole:
        step = max(1, round(end / _DEFAULT_LEVELS))
        return [float(level) for level in dict.fromkeys([*range(1, int(end), step), int(end)])]
    return [end * number / _DEFAULT_LEVELS for number in range(1, _DEFAULT_LEVELS + 1)]


# Attempts


def _curve_over_attempts(
    agent: str, trials: Sequence[TrialRow], settings: ScalingSettings, excluded: dict[str, str]
) -> Iterator[ScalingCurve]:
    sample = _measured_sample(trials, settings.measure, excluded)
    if not sample:
        return
    kept = [trial for trial in trials if trial.task in sample]
    hours = fmean(outcome.elapsed or 0.0 for outcome in kept) / 3600
    dollars = _mean_cost([outcome.cost for outcome in kept])
    points = []
    seeds, levels = min(map(len, sample.values())), settings.amounts
    if beyond := [level for level in levels if level > seeds]:
        raise UsageError(f"{agent} has {seeds} seeds of a task, which is less than {beyond[0]:g} attempts")
    for k in [k for k in range(1, seeds + 1) if not levels or k in levels]:
        best = {task: [inference.expected_best(values, k)] for task, values in sample.items()}
        points.append(
            ScalingPoint(
                level=k,
                value=claim_sample(agent, f"best of {plural(k, 'attempt')}", best),
                sample=best,
                hours=k * hours,
                dollars=None if dollars is None else k * dollars,
            )
        )
    yield ScalingCurve(agent, tuple(sample), len(kept), _with_gains(points))


# Sweeps


def _curve_over_sweep(
    agent: str, trials: Sequence[TrialRow], settings: ScalingSettings, excluded: dict[str, str]
) -> Iterator[ScalingCurve]:
    factor, measure, levels = settings.over, settings.measure, settings.amounts
    by_level: dict[int, list[TrialRow]] = {}
    for trial in sorted(trials, key=lambda trial: int(getattr(record_of(trial).file.resources, factor))):
        level = getattr(record_of(trial).file.resources, factor)
        if not levels or level in levels:
            by_level.setdefault(level, []).append(trial)
    if len(by_level) < 2:
        raise UsageError(f"All trials of {agent} have the same {factor}; a sweep needs at least two levels")
    samples = {level: _measured_sample(own, measure, excluded) for level, own in by_level.items()}
    tasks = [task for task in next(iter(samples.values())) if all(task in sample for sample in samples.values())]
    if not tasks:
        return
    points = []
    values: dict[int, dict[tuple[str, int], float]] = {}
    for level, sample in samples.items():
        kept = [trial for trial in by_level[level] if trial.task in tasks]
        chosen = {task: sample[task] for task in tasks}
        measured = ((outcome.task, outcome.seed, measure_trial(outcome, measure)) for outcome in kept)
        values[level] = {(task, seed): value for task, seed, value in measured if value is not None}
        points.append(
            ScalingPoint(
                level=level,
                value=claim_sample(agent, measure, chosen),
                sample=chosen,
                hours=fmean(outcome.elapsed or 0.0 for outcome in kept) / 3600,
                dollars=_mean_cost([outcome.cost for outcome in kept]),
            )
        )
    lost = {
        level: frozenset((row.task, row.seed) for row in own if row.failure == "infrastructure")
        for level, own in by_level.items()
    }
    experiments = tuple(
        Experiment(
            values[more],
            values[less],
            (name_level(factor, more), name_level(factor, less)),
            measure,
            missing=(lost[more], lost[less]),
        )
        for less, more in pairwise(values)
    )
    trials_kept = sum(map(len, values.values()))
    yield ScalingCurve(agent, tuple(tasks), trials_kept, _with_gains(points, times=False), experiments)


# Helpers


def _measured_sample(trials: Sequence[TrialRow], measure: Measure, excluded: dict[str, str]) -> Sample:
    """Return the values by task, without tasks that do not define the measure."""
    values = [(trial.task, measure_trial(trial, measure)) for trial in trials]
    undefined = {task for task, value in values if value is None}
    excluded |= dict.fromkeys(undefined, f"it does not define {measure}")
    sample: dict[str, list[float]] = {}
    for task, value in values:
        if value is not None and task not in undefined:
            sample.setdefault(task, []).append(value)
    return sample


def _mean_cost(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return fmean(known) if len(known) == len(costs) else None


def _with_gains(points: Sequence[ScalingPoint], *, times: bool = True) -> tuple[ScalingPoint, ...]:
    """Return the points with the gain since the point before; the hours of a sweep are not what is added."""
    gains = list(points[:1])
    for before, point in pairwise(points):
        names = (f"{point.level:g}", f"{before.level:g}")
        gain = claim_difference(names, point.value.estimand.measure, point.sample, before.sample)
        hours, dollars = point.hours - before.hours, (point.dollars or 0.0) - (before.dollars or 0.0)
        gains.append(
            replace(
                point,
                per_unit=gain.scaled(1 / (point.level - before.level), "gain per unit"),
                per_hour=gain.scaled(1 / hours, "gain per hour") if times and hours > 0 else None,
                per_dollar=gain.scaled(1 / dollars, "gain per dollar") if dollars > 0 else None,
            )
        )
    return tuple(gains)


STUDY = Study(
    name="scaling",
    summary="Show how results grow with time, steps, cost, attempts or resources.",
    settings=ScalingSettings,
    run=run,
    reads="plan",
    vary=plan_levels,
    description="Pass finished runs, or a plan to run first. Time, steps and cost come from one long run: what the "
    "agent would have submitted at each moment is graded afterwards, and so is the best submission it had made by then "
    "(the oracle). Attempts are seeds: the expected best of k. Cores, memory and GPUs are run one level at a time.",
    examples=(
        "assay study scaling runs/first --over time --figure time.svg",
        "assay study scaling runs/first --over attempts",
        "assay study scaling pocket --agent automl --over cores --levels 1,2,4",
    ),
)
