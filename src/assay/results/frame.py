"""The frame: one row per trial, which everything that is said about a run is computed from.

`read_frame` reads run folders. The columns of the schema `trials/1` are in `COLUMNS`; they are the rows of
`assay report --csv --trials`, of `assay report --json` and of `assay.load_run(path).frame()`.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from assay.core.garbage import pause_garbage_collection
from assay.core.quantities import format_duration, format_size
from assay.core.table import Column, Kind, Table
from assay.core.text import plural
from assay.grading.result import Grade, Integrity
from assay.lab.machine_load import BUSY_LOAD
from assay.records import RunFolder, TrialFile, TrialFolder, TrialSummary, name_agents, read_trials
from assay.records.registration import RegisteredPlan
from assay.records.state import Cause, Failure, State, Status
from assay.results.sample_scores import normalize_score
from assay.tasks import Measured, Registry, Task
from assay.tasks.facts import read_facts
from assay.tasks.model import Resources

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

FORMAT = "trials/1"
UNKNOWN = "unknown"
"""The value of a condition that a record or another harness does not have."""
OWN = "assay"
"""The harness of trials that have a record."""
Direction = Literal["higher", "lower"]
Item = TypeVar("Item")

CONDITIONS = (
    *("edition", "variant", "budget", "hardware", "network", "description"),
    *("selection", "submit", "claim", "pressure", "sealing"),
    *("data", "task", "environment"),
    *("metric", "checksum"),
)
"""What two trials must have in common before they are compared."""

NAMED_CONDITIONS = ("grader", "processor", "gpu", "load", "layout", "harness")
"""What a verdict names where trials differ in it."""

_HASH = 12


@dataclass(frozen=True, order=True)
class RuleSet:
    """What two grades must have in common before they may be aggregated."""

    suite: str
    edition: str
    variant: str

    def __str__(self) -> str:
        if self.edition == self.variant == UNKNOWN:
            return f"{self.suite}, edition and data unknown"
        name = f"{self.suite} {self.edition}"
        return name if self.variant == "real" else f"{name}, {self.variant} data"


@dataclass(frozen=True)
class TrialRow:
    """One trial, finished or not.

    `agent` names one agent with one set of settings; different settings have different names. A fork shares the past of
    its `parent`. Of a trial that was rerun the first attempt counts, and the rerun is `repeated`; only where the
    infrastructure failed the first attempt, that one is `replaced` by its rerun.
    `known_leaks` counts the leaks that are known to remain in its data. `split` is the smallest split of the suite that
    the task belongs to, `sample_score` the known score of its sample
    submission. `ignores_noise` says that its edition defines success by the published rule. `plans` are those that its
    run registered. `record` has the files of the trial. Results of another `harness` have none; what it does not report
    is None, and it may have a `trajectory`. What follows from these fields is computed once.
    """

    task: str
    title: str
    metric: str
    direction: Direction
    agent: str
    seed: int
    edition: str
    variant: str
    status: Status
    cause: Cause | None
    why: str | None
    grade: Grade | None
    elapsed: float | None
    steps: int | None
    sealed: bool | None
    run: str = ""
    trial: str = ""
    model: str | None = None
    tokens: int | None = 0
    cost: float | None = 0.0
    waited: float | None = 0.0
    validations: int | None = 0
    attempts: int | None = 0
    error_type: str | None = None
    kind_of_failure: Failure | None = None
    parent: str | None = None
    parent_step: int | None = None
    replaces: str | None = None
    replaced: bool = False
    repeated: bool = False
    load: float | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    split: str = ""
    family: str = ""
    sample_score: float | None = None
    ignores_noise: bool = False
    known_leaks: int = 0
    pressure: int = 0
    sandbox: str = ""
    unenforced: tuple[str, ...] = ()
    plans: tuple[RegisteredPlan, ...] = field(default=(), compare=False, repr=False)
    conditions: Mapping[str, str] = field(default_factory=dict, compare=False)
    record: TrialSummary | None = field(default=None, compare=False, repr=False)
    harness: str = OWN
    trajectory: Path | None = field(default=None, compare=False)

    @property
    def imported(self) -> bool:
        """Whether another harness reports it, so that nothing about it is verified."""
        return self.harness != OWN

    @property
    def suite(self) -> str:
        """The suite of its task."""
        return self.rules.suite

    @property
    def counts(self) -> bool:
        """Whether it is an independent sample, which means and rates are computed from."""
        return self.parent is None and not self.replaced and not self.repeated

    @property
    def busy(self) -> bool:
        """Whether the machine was too busy for its time limit and measured times to be reliable."""
        return self.load is not None and self.load > BUSY_LOAD

    @cached_property
    def rules(self) -> RuleSet:
        """The suite, edition and variant it was graded by."""
        return _make_rules(self.task.partition("/")[0], self.edition, self.variant)

    @property
    def inapplicable(self) -> bool:
        """Whether the agent cannot work on this kind of task, which is not a failure."""
        return self.status == "inapplicable"

    @property
    def pending(self) -> bool:
        """Whether there is no result yet: the agent has not ended, or its submission is not graded."""
        return self.status in ("waiting", "running", "submitted") or (self.status == "done" and self.grade is None)

    @property
    def unended(self) -> bool:
        """Whether there is no result, because it is pending or not applicable."""
        return self.pending or self.inapplicable

    @property
    def ran(self) -> bool:
        """Whether the agent was started."""
        return self.status not in ("waiting", "inapplicable")

    @property
    def unsealed(self) -> bool:
        """Whether agent code, or submitted code while it was graded, ran outside of a sandbox."""
        return self.ran and (self.sealed is False or (self.grade is not None and self.grade.sealed is False))

    @property
    def shares_kernel_view(self) -> bool:
        """Whether it was sealed without namespaces, so that code could see more of the machine than its lab."""
        return self.ran and not self.unsealed and self.sandbox == "landlock"

    @property
    def valid(self) -> bool:
        """Whether it finished with a submission that has a score."""
        return self.score is not None

    @cached_property
    def score(self) -> float | None:
        """The score of a valid trial; the last submission of a crashed trial does not count."""
        if self.status != "done" or self.grade is None or not self.grade.valid_submission:
            return None
        return _finite(self.grade.score)

    @property
    def score_error(self) -> float | None:
        """The standard error of the score of a valid trial over test sets of its size, if it is known."""
        return self.grade.score_error if self.grade is not None and self.valid else None

    @property
    def medal_probability(self) -> float | None:
        """The probability of a medal on another test set of the same size, if the noise of the score is known."""
        return self.grade.medal_probability if self.grade is not None and self.valid else None

    @property
    def improvement(self) -> float | None:
        """The improvement of a valid trial over the starter, as a fraction of the starter's score."""
        return _finite(self.grade.improvement) if self.grade is not None and self.valid else None

    @property
    def percentile(self) -> float | None:
        """The share of human teams, in percent, that the score of a valid trial is as good as."""
        return self.grade.percentile if self.grade is not None and self.valid else None

    @property
    def normalized(self) -> float | None:
        """The score of a valid trial between that of the sample submission (0) and that of the gold medal (1)."""
        gold = self.grade.gold_threshold if self.grade else None
        if self.score is None or self.sample_score is None or gold is None:
            return None
        return normalize_score(self.score, self.sample_score, gold)

    @property
    def medal(self) -> str | None:
        """The medal of a valid trial."""
        return self.grade.medal if self.grade is not None and self.valid else None

    @property
    def rank(self) -> int | None:
        """The rank of a valid trial among the reference solutions of its task."""
        return self.grade.rank if self.grade is not None and self.valid else None

    @property
    def panel_size(self) -> int | None:
        """The number of reference solutions that it is ranked among."""
        return self.grade.panel_size if self.grade is not None and self.valid else None

    @cached_property
    def success(self) -> bool | None:
        """Whether the trial succeeded, as its grade says; a failed trial never does.

        None while the trial is pending or inapplicable, and where the task does not define success on its data.
        """
        if self.grade is not None and self.grade.success is None:
            return None
        if self.failure is not None:
            return False
        return self.grade.success if self.grade is not None and self.valid else None

    @property
    def success_published(self) -> bool | None:
        """Whether the trial succeeded by the published rule, which ignores noise."""
        if self.failure is not None or self.grade is None or not self.valid:
            return self.success
        return self.grade.success_published

    @property
    def success_beyond_noise(self) -> bool | None:
        """Whether the trial succeeded beyond noise, whatever its edition requires."""
        if self.ignores_noise and self.success and self.grade is not None:
            return self.grade.beyond_spread
        return self.success

    @property
    def integrity(self) -> Integrity | None:
        """What its traces show of a planted shortcut and of its claims; None where its task plants none."""
        return self.grade.integrity if self.grade is not None else None

    @property
    def shortcut(self) -> bool | None:
        """Whether it took the shortcut that its task plants; None if that is unknown, or none is planted."""
        return self.integrity.shortcut if self.integrity else None

    @property
    def false_success(self) -> bool | None:
        """Whether it claims a target that its submission misses; None without a claim."""
        return self.integrity.false_success if self.integrity else None

    @property
    def calibration_error(self) -> float | None:
        """The distance of the score that it claims from its score."""
        return self.integrity.calibration_error if self.integrity else None

    @property
    def honest_success(self) -> bool | None:
        """Whether the trial succeeded without a planted shortcut and without a false claim."""
        return self.success if not self.success else not (self.shortcut or self.false_success)

    @property
    def has_leaderboard(self) -> bool:
        """Whether the task has a leaderboard of human teams."""
        return self.grade is not None and self.grade.gold_threshold is not None

    @cached_property
    def failure(self) -> Cause | None:
        """The cause why a finished trial has no valid submission; None if it has one or is not finished."""
        if self.valid or self.pending or self.inapplicable:
            return None
        return self.cause or ("user" if self.status == "stopped" else "agent")

    @property
    def failure_name(self) -> str | None:
        """What a failed trial failed by: `out of time`, `no submission`, `infrastructure`, …."""
        if self.failure == "agent" and self.kind_of_failure:
            return self.kind_of_failure
        return self.failure

    @property
    def reason(self) -> str | None:
        """Why there is no score, in the words of the record."""
        if self.why is not None or self.grade is None:
            return self.why
        if self.grade.valid_submission and not self.valid:
            return self.grade.why or "the score is not a finite number"
        return self.grade.why


def _column(name: str, source: Callable[[TrialRow], Any], kind: Kind, meaning: str) -> tuple[Column, Any, str]:
    return Column(name, kind=kind), source, meaning


_SCHEMA = (
    _column("run", lambda row: row.run, "text", "name of the run folder"),
    _column("trial", lambda row: row.trial, "text", "id of the trial, which is the name of its folder"),
    _column("suite", lambda row: row.suite, "text", "suite of the task"),
    _column("task", lambda row: row.task, "text", "task, as SUITE/TASK"),
    _column("split", lambda row: row.split, "text", "smallest split of the suite that has the task"),
    _column("family", lambda row: row.family or None, "text", "family of the task, if it has siblings"),
    _column("metric", lambda row: row.metric, "text", "name of the metric"),
    _column("direction", lambda row: row.direction, "text", "higher or lower: which score is better"),
    _column("edition", lambda row: row.edition, "text", "edition of the rules"),
    _column("variant", lambda row: row.variant, "text", "variant of the data"),
    _column("agent", lambda row: row.agent, "text", "agent, with what tells it from others of the same label"),
    _column("model", lambda row: row.model, "text", "main model"),
    _column("seed", lambda row: row.seed, "integer", "seed"),
    _column(
        "status", lambda row: row.status, "text", "how far it has come: waiting, running, submitted, done, failed, …"
    ),
    _column(
        "counts",
        lambda row: row.counts,
        "flag",
        "an independent sample: no fork, no rerun of an attempt that counts",
    ),
    _column("valid", lambda row: row.valid, "flag", "finished with a submission that has a score"),
    _column("cause", lambda row: row.failure, "text", "who is responsible for a failure: agent, infrastructure, user"),
    _column("failure", lambda row: row.failure_name, "text", "what it failed by, such as out of time"),
    _column("error_type", lambda row: row.error_type, "text", "class of the error that ended it"),
    _column("reason", lambda row: row.reason, "prose", "why there is no score"),
    _column("score", lambda row: row.score, "number", "score of a valid trial, in the units of the metric"),
    _column("score_error", lambda row: row.score_error, "number", "error of the score over test sets of this size"),
    _column("success", lambda row: row.success, "flag", "success by the rule of the edition; a failed trial has none"),
    _column("success_published", lambda row: row.success_published, "flag", "success by the published rule"),
    _column("medal", lambda row: row.medal, "text", "gold, silver or bronze"),
    _column(
        "medal_probability", lambda row: row.medal_probability, "number", "of a medal on another test set of this size"
    ),
    _column("percentile", lambda row: row.percentile, "number", "percentile among human teams, best = 100"),
    _column("normalized", lambda row: row.normalized, "number", "score between sample submission (0) and gold (1)"),
    _column("improvement", lambda row: row.improvement, "change", "gain over the starter as a share of its score"),
    _column("shortcut", lambda row: row.shortcut, "flag", "took the shortcut that its task plants; empty if unknown"),
    _column("false_success", lambda row: row.false_success, "flag", "claims the target, which its submission misses"),
    _column("claimed", lambda row: row.integrity.claimed if row.integrity else None, "number", "score that it claims"),
    _column(
        "overclaim",
        lambda row: row.integrity.overclaim if row.integrity else None,
        "number",
        "how much better the claim is than the score; negative: worse",
    ),
    _column("calibration_error", lambda row: row.calibration_error, "number", "distance of the claim from the score"),
    _column("pressure", lambda row: row.pressure, "integer", "rounds in which a user asked for a better score"),
    _column("rank", lambda row: row.rank, "integer", "rank in the reference panel of the task, best = 1"),
    _column("panel_size", lambda row: row.panel_size, "integer", "number of reference solutions"),
    _column("steps", lambda row: row.steps, "integer", "steps of the agent"),
    _column("seconds", lambda row: row.elapsed, "number", "time used, without waiting for models that were down"),
    _column("waited", lambda row: row.waited, "number", "seconds of waiting that do not count"),
    _column("tokens", lambda row: row.tokens, "integer", "tokens of all models"),
    _column("cost", lambda row: row.cost, "number", "dollars; empty where a price is unknown"),
    _column("validations", lambda row: row.validations, "integer", "times that the agent had its submission checked"),
    _column("attempts", lambda row: row.attempts, "integer", "processes that worked on the trial"),
    _column(
        "sealed",
        lambda row: not row.unsealed if row.ran and row.sealed is not None else None,
        "flag",
        "all untrusted code ran in a sandbox",
    ),
    _column("budget", lambda row: row.conditions.get("budget"), "text", "limits of time, steps, tokens and cost"),
    _column("hardware", lambda row: row.conditions.get("hardware"), "text", "cores, memory and GPUs of the lab"),
    _column("network", lambda row: row.conditions.get("network"), "text", "network policy of the lab"),
    _column("description", lambda row: row.conditions.get("description"), "text", "plain, obfuscated or own"),
    _column("load", lambda row: row.load, "number", "most runnable processes per core while it ran"),
    _column("parent", lambda row: row.parent, "text", "trial that it was forked from"),
    _column("replaces", lambda row: row.replaces, "text", "trial that it reruns"),
    _column("started_at", lambda row: row.started_at, "date", "when it started"),
    _column("ended_at", lambda row: row.ended_at, "date", "when it ended"),
    _column("harness", lambda row: row.harness, "text", "harness that reports it; only those of assay have a record"),
)
COLUMNS: Mapping[str, str] = {column.name: meaning for column, _, meaning in _SCHEMA}
"""The columns of the schema `trials/1` and what they mean."""


class Frame(Sequence[TrialRow]):
    """The rows of some trials, which never change."""

    def __init__(self, rows: Iterable[TrialRow], tasks: Mapping[str, Task] | None = None) -> None:
        self.rows = tuple(rows)
        self.known_tasks = tasks or {}

    @overload
    def __getitem__(self, index: int) -> TrialRow: ...
    @overload
    def __getitem__(self, index: slice) -> "Frame": ...
    def __getitem__(self, index: int | slice) -> "TrialRow | Frame":
        return Frame(self.rows[index], self.known_tasks) if isinstance(index, slice) else self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TrialRow]:
        return iter(self.rows)

    def __repr__(self) -> str:
        agents, tasks = plural(len(self.agents), "agent"), plural(len(self.tasks), "task")
        return f"<{plural(len(self), 'trial')} of {agents} on {tasks}>"

    def _repr_html_(self) -> str:
        return self.to_table().to_html()

    @property
    def agents(self) -> list[str]:
        """The agents, in the order in which they first appear."""
        return list(dict.fromkeys(row.agent for row in self.rows))

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order in which they first appear."""
        return list(dict.fromkeys(row.task for row in self.rows))

    @property
    def counted(self) -> "Frame":
        """The independent samples: no forks, and no trials that were rerun."""
        return self.where(lambda row: row.counts)

    @property
    def families(self) -> dict[str, str]:
        """The family of each task that has siblings."""
        return {row.task: row.family for row in self.rows if row.family}

    @property
    def panels(self) -> dict[str, Measured]:
        """The measured reference panels of the tasks."""
        return {name: task.measured for name, task in self.known_tasks.items() if task.measured}

    def where(self, condition: Callable[[TrialRow], bool]) -> "Frame":
        """Return the rows that meet a condition."""
        return Frame(filter(condition, self.rows), self.known_tasks)

    def group_by(self, key: Callable[[TrialRow], Hashable]) -> list["Frame"]:
        """Return a frame per value of the key, in the order in which the values first appear."""
        return [Frame(rows, self.known_tasks) for rows in group_by(self.rows, key)]

    def to_table(self) -> Table:
        """Return the schema `trials/1` as a table."""
        rows = tuple(tuple(source(row) for _, source, _ in _SCHEMA) for row in self.rows)
        return Table("trials", tuple(column for column, _, _ in _SCHEMA), rows, extra={"format": FORMAT})

    def to_polars(self) -> "pl.DataFrame":
        """Return the schema `trials/1` as a polars data frame."""
        import polars as pl

        return pl.DataFrame(self.to_table().to_records(), schema=list(COLUMNS), infer_schema_length=None)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the schema `trials/1` as a pandas data frame with the trial's id as index."""
        import pandas as pd

        return pd.DataFrame(self.to_table().to_records(), columns=list(COLUMNS)).set_index("trial")


def read_frame(*runs: RunFolder, registry: Registry | None = None) -> Frame:
    """Return the trials of some runs, in the order of their plans; a copy of a trial is left out.

    Args:
        runs: The run folders.
        registry: Where tasks are looked up; by default also in the folders that the records name, which is only for
            runs that were made on this machine.

    Raises:
        RecordError: The record of a trial is damaged.
    """
    with pause_garbage_collection():
        trials = [trial for run in runs for trial in read_trials(run)]
        return make_frame(_without_copies(trials) if len(runs) > 1 else trials, registry)


def make_frame(trials: Sequence[TrialSummary], registry: Registry | None = None) -> Frame:
    """Return the frame of trials that were read already."""
    plans = {trial.plan: trial.file for trial in trials}
    known = registry or make_registry(list(plans.values()))
    tasks = {name: known.recorded_task(name) for name in {file.task for file in plans.values()}}
    splits, families = known.split_of_each(tasks), known.family_of_each(tasks)
    labels = name_agents(trials)
    samples = {plan: _sample_score(file, tasks[file.task]) for plan, file in plans.items()}
    leaks = {plan: _count_leaks(file, tasks[file.task]) for plan, file in plans.items()}
    replaced, repeated = _find_reruns(trials)
    conditions = {plan: _describe_conditions(file) for plan, file in plans.items()}
    registered = {path: RunFolder(path).file.plans for path in {trial.folder.path.parent.parent for trial in trials}}
    rows = [
        _make_row(
            trial,
            tasks[trial.file.task],
            labels[trial.plan],
            conditions[trial.plan],
            replaced=trial.folder.path in replaced,
            repeated=trial.folder.path in repeated,
            split=splits.get(trial.file.task, ""),
            family=families.get(trial.file.task, ""),
            sample_score=samples[trial.plan],
            known_leaks=leaks[trial.plan],
            plans=registered[trial.folder.path.parent.parent],
        )
        for trial in trials
    ]
    return Frame(rows, tasks)


def _find_reruns(trials: Sequence[TrialSummary]) -> tuple[set[Path], set[Path]]:
    """Return the trials that are replaced by a rerun, and the reruns of a trial that counts."""
    reruns = [trial for trial in trials if trial.file.replaces]
    if not reruns:
        return set(), set()
    failed = {trial.folder.path for trial in trials if trial.state.cause == "infrastructure"}
    origins = {trial.folder.path: trial.folder.path.parent / str(trial.file.replaces) for trial in reruns}

    def repeats(path: Path) -> bool:
        return path in origins and (origins[path] not in failed or repeats(origins[path]))

    repeated = set(filter(repeats, origins))
    return {origin for path, origin in origins.items() if path not in repeated}, repeated


def make_registry(files: Sequence[TrialFile]) -> Registry:
    """Return the tasks, with those in the folders that records name, which replace none that are installed."""
    return Registry(sorted({Path(file.tasks_folder) for file in files if file.tasks_folder}), replace=False)


def group_by(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items by key, in the order in which keys first appear."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _make_row(
    trial: TrialSummary,
    task: Task,
    agent: str,
    conditions: Mapping[str, str],
    *,
    replaced: bool,
    repeated: bool,
    split: str,
    family: str,
    sample_score: float | None,
    known_leaks: int,
    plans: tuple[RegisteredPlan, ...],
) -> TrialRow:
    file, state, grade = trial.file, trial.state, trial.grade
    return TrialRow(
        task=file.task,
        title=task.title or file.task,
        metric=task.metric.name,
        direction=task.metric.direction,
        agent=agent,
        seed=file.seed,
        edition=file.edition,
        variant=file.variant,
        status=state.status,
        cause=state.cause,
        why=state.reason,
        grade=grade,
        elapsed=state.elapsed,
        steps=state.steps,
        sealed=state.sealing is None or state.sealing.sealed,
        sandbox=file.sandbox,
        unenforced=tuple(state.sealing.missing) if state.sealing else (),
        run=trial.folder.path.parent.parent.name,
        trial=file.id,
        model=file.models.get("main"),
        tokens=state.tokens,
        cost=state.cost,
        waited=state.waited,
        validations=state.validations,
        attempts=state.epoch,
        error_type=state.error_type,
        kind_of_failure=state.failure,
        pressure=file.pressure,
        parent=file.parent,
        parent_step=file.parent_step,
        replaces=file.replaces,
        replaced=replaced,
        repeated=repeated,
        load=state.load,
        started_at=_moment(state.started_at),
        ended_at=_moment(state.ended_at),
        split=split,
        family=family,
        sample_score=sample_score,
        known_leaks=known_leaks,
        plans=plans,
        ignores_noise=file.edition in task.success_as_published,
        conditions={**conditions, "hardware": _describe_hardware(file.resources, state)},
        record=trial,
    )


def _describe_hardware(planned: Resources, state: State | None = None) -> str:
    """Return the hardware of a trial: what was planned, and what the machine gave if that was less."""
    cores, memory = plural(planned.cores, "core"), format_size(planned.memory)
    if state and state.cores is not None and state.cores < planned.cores:
        cores = f"{plural(state.cores, 'core')} ({planned.cores} planned)"
    if state and state.memory is not None and state.memory < planned.memory:
        memory = f"{format_size(state.memory)} ({memory} planned)"
    return f"{cores}, {memory}, {plural(planned.gpus, 'GPU')}"


def _describe_conditions(file: TrialFile) -> dict[str, str]:
    """Return the conditions of a trial that its plan shows, by their names; a network that nobody asks is none."""
    budget, resources = file.budget, file.resources
    limits = [format_duration(budget.time), f"{budget.steps} steps"]
    limits += [f"{budget.tokens:,} tokens"] if budget.tokens else []
    limits += [f"${budget.cost:g}"] if budget.cost else []
    return {
        "edition": file.edition,
        "variant": file.variant,
        "budget": ", ".join(limits),
        "hardware": _describe_hardware(resources),
        "network": "none" if file.network == "models" and not file.models else file.network,
        "description": file.describe,
        "selection": describe_selection(file),
        "submit": file.submit,
        "claim": "asked for" if file.claim else "none",
        "pressure": plural(file.pressure, "round") if file.pressure else "none",
        "layout": file.layout,
        "data": file.hashes.get("data", "unknown")[:_HASH],
        "task": file.hashes.get("task", "unknown")[:_HASH],
        "environment": file.hashes.get("environment", "unknown")[:_HASH],
        "grader": file.hashes.get("code", "unknown")[:_HASH],
    }


def describe_selection(file: TrialFile) -> str:
    """Return who selects the final submission of a trial, and what the agent is told about candidates."""
    told = {"nothing": "", "rank": ", ranks told", "score": ", scores told"}[file.feedback]
    return file.selection + told


def condition_of(row: TrialRow, name: str) -> str:
    """Return one of the `CONDITIONS` or `NAMED_CONDITIONS` of a trial; `unknown` where its record does not say."""
    if name in row.conditions:
        return row.conditions[name]
    state = row.record.state if row.record else None
    match name:
        case "metric":
            return row.metric
        case "harness":
            return row.harness
        case "sealing" if row.sealed is None:
            return "unknown"
        case "sealing":
            return "unsealed" if row.unsealed else f"sealed: {row.sandbox}" if row.shares_kernel_view else "sealed"
        case "load":
            return "unknown" if row.load is None else "busy machine" if row.busy else "idle machine"
        case "processor":
            return (state and state.processor) or "unknown"
        case "gpu":
            return (state and state.gpu_model) or "unknown"
        case _:
            return "unknown"


def describe_direction(rows: Iterable[TrialRow]) -> str:
    """Return that higher scores are taken for better ones where another harness does not say so; else nothing."""
    metrics = sorted({row.metric for row in rows if row.conditions.get("direction") == UNKNOWN})
    return f"; higher scores of {', '.join(metrics)} are taken to be better" if metrics else ""


def _sample_score(file: TrialFile, task: Task) -> float | None:
    """Return the score of the sample submission, which is known for real data in the first edition."""
    if (file.edition, file.variant) != (task.edition, "real"):
        return None
    return read_facts(task.folder).sample_score


def _count_leaks(file: TrialFile, task: Task) -> int:
    """Return how many known leaks real data has in this edition; the suite's first one repairs none."""
    if file.variant != "real":
        return 0
    present = {"remains"} if file.edition != task.edition else {"remains", "repaired"}
    return sum(leak.status in present for leak in read_facts(task.folder).leaks)


def _without_copies(trials: list[TrialSummary]) -> list[TrialSummary]:
    """Leave out copies of a trial; only trials with the same id can be copies, and only their logs are compared."""
    count = Counter(trial.folder.path.name for trial in trials)
    kept: dict[object, TrialSummary] = {}
    for trial in trials:
        key = _copy_key(trial.folder) if count[trial.folder.path.name] > 1 else trial.folder.path.name
        kept[key] = trial
    return list(kept.values())


def _copy_key(folder: TrialFolder) -> tuple[str, str]:
    """Return what two copies of one trial have in common, and two trials of the same plan have not."""
    from assay.records.log import hash_log  # few runs have copies

    return folder.path.name, hash_log(folder.events) or str(folder.path)


@cache
def _make_rules(suite: str, edition: str, variant: str) -> RuleSet:
    """Return the same object for all trials with the same rules: thousands of trials are grouped by it."""
    return RuleSet(suite, edition, variant)


@cache
def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
