"""What `import assay` offers: tasks, new_task, prepare, run, grade, compare and load_run, as the commands do it."""

import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.agents.inline import AgentSource, name_agent
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress, Progress, ProgressBars
from assay.core.quantities import format_duration
from assay.core.table import Column, Table
from assay.core.text import did_you_mean
from assay.data import store
from assay.data.proof import default_variant
from assay.data.store import Prepared, PrepareOptions, choose_variant, load_prepared
from assay.grading import grade_submission
from assay.grading.result import Grade
from assay.results.frame import Frame, read_frame
from assay.results.measures import Measure
from assay.results.paired import Comparison, compare_agents, select_trials
from assay.results.run import Run, load_run
from assay.results.verdict import comparison_tables, make_verdict
from assay.runs.execute import Reporting, add_trials, check_infrastructure, choose_run_folder, execute_trials
from assay.runs.plan_config import PlanConfig, build_plan, config_from_flags, resolve_config
from assay.tasks import Registry, Task

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from assay.authoring import NewTask

__all__ = ["Comparisons", "TaskList", "compare", "grade", "load_run", "new_task", "prepare", "run", "tasks"]

Answer = TypeVar("Answer")
_BUDGET = ("time", "steps", "tokens", "cost")


class TaskList(tuple[Task, ...]):
    """Tasks that were selected by name."""

    def to_table(self) -> Table:
        """Return a row per task."""
        columns = (
            Column("task"),
            Column("kind"),
            Column("metric"),
            Column("direction"),
            Column("budget"),
            Column("title"),
        )
        rows = tuple(
            (task.id, task.kind, task.metric.name, task.metric.direction, format_duration(task.budget.time), task.title)
            for task in self
        )
        return Table("tasks", columns, rows)

    def __repr__(self) -> str:
        return self.to_table().to_text()

    def _repr_html_(self) -> str:
        return self.to_table().to_html()


@dataclass(frozen=True, repr=False)
class Comparisons:
    """What `compare` found, a comparison per suite."""

    suites: tuple[Comparison, ...]

    @property
    def verdicts(self) -> list[str]:
        """Who is better than whom, a sentence per pair of agents."""
        return [make_verdict(suite, pair).headline for suite in self.suites for pair in suite.pairs]

    @property
    def tables(self) -> list[Table]:
        """The agents with their means, and the differences by pair."""
        return [table for suite in self.suites for table in comparison_tables(suite)]

    def __repr__(self) -> str:
        return "\n".join([*self.verdicts, "", *(table.to_text() for table in self.tables)])

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables)


def tasks(*names: str, folder: str | PathLike[str] | None = None) -> TaskList:
    """Return tasks by the names of tasks, suites and splits; all tasks without a name.

    Args:
        names: `pocket`, `mlebench:low`, `pocket/house-price`, ….
        folder: A suite of your own to select from as well.
    """
    registry = _registry(folder)
    return TaskList(registry.select_all(names) if names else registry.tasks())


def prepare(
    *names: str,
    edition: str | None = None,
    variant: str | None = None,
    folder: str | PathLike[str] | None = None,
    raw: str | PathLike[str] | None = None,
    progress: bool = True,
) -> list[Prepared]:
    """Download the data of tasks and split off the answers; data that is up to date is left alone.

    Args:
        names: Tasks, suites or splits.
        edition: Edition of the rules; by default the first of the suite.
        variant: `real` (the default), `unverified`, or `synthetic-SEED` for a miniature.
        folder: A suite of your own to select from as well.
        raw: Raw data that you have already.
        progress: Whether to show progress.
    """
    bars, local = _progress(progress), Path(raw) if raw else None
    return [
        store.prepare(
            Home.default(),
            task,
            edition,
            variant or default_variant(task, local),
            progress=bars,
            options=PrepareOptions(user_copy=local),
        )
        for task in tasks(*_require(names, "task"), folder=folder)
    ]


def run(
    tasks: str | Sequence[str],
    agents: str | AgentSource | Sequence[str | AgentSource],
    *,
    model: str | Sequence[str] = (),
    seeds: int | None = None,
    out: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Run agents on tasks and grade their submissions, like `assay run`.

    The same call with the same `out` runs only what is missing.

    Args:
        tasks: Tasks, suites or splits.
        agents: Agents by name (`"automl"`, `"aide,steps=10"`, `"path.py:Class"`), classes or async functions.
        model: Models such as `openai/gpt-5`, for agents that ask one.
        seeds: Trials for each agent and task.
        out: The run folder; by default a new one in `runs/`.
        folder: A suite of your own to select from as well.
        progress: Whether to show progress.
        settings: Further keys of a plan file; `time`, `steps`, `tokens` and `cost` limit each trial.

    Raises:
        UsageError: The plan is wrong; the message says what to change.
        AssayError: Trials could not run because of the infrastructure.
    """
    single = isinstance(agents, str) or callable(agents)
    chosen: Sequence[str | AgentSource] = [agents] if single else list(agents)  # type: ignore[list-item, arg-type]
    sources = (Path(out) if out else Home.default().root) / "agents"
    content: dict[str, Any] = {
        "tasks": [tasks] if isinstance(tasks, str) else list(tasks),
        "agents": [agent if isinstance(agent, str) else name_agent(agent, sources) for agent in chosen],
        **({"models": [model] if isinstance(model, str) else list(model)} if model else {}),
        **({"seeds": seeds} if seeds else {}),
        **({"out": Path(out)} if out else {}),
    }
    budget = {name: settings.pop(name) for name in _BUDGET if name in settings}
    content |= settings | ({"budget": settings.get("budget", {}) | budget} if budget else {})
    config, origins = resolve_config(config_from_flags(content), PlanConfig())
    suite = Path(folder) if folder else None
    plan = build_plan(config, origins, _registry(folder), suite)
    home, reporting = Home.default(), Reporting(_progress(progress))
    target = choose_run_folder(config)
    add_trials(target, [plan], config, home, reporting)
    execute_trials(target, config, home, reporting)
    check_infrastructure(target)
    return Run(target)


def new_task(
    name: str,
    data: "str | PathLike[str] | pd.DataFrame | pl.DataFrame",
    target: str | None = None,
    *,
    labels: str | PathLike[str] | None = None,
    archive: bool = False,
    folder: str | PathLike[str] | None = None,
    progress: bool = True,
    **settings: Any,
) -> "NewTask":
    """Make a task from your own data, like `assay new task`.

    Args:
        name: The task's name, or `SUITE/NAME`.
        data: A table or folder by its path, or a data frame without its index.
        target: The column to predict; `label` for folders with a subfolder for each class.
        labels: The table that names the files of a folder and their labels.
        archive: Whether `data` is the archive or folder of a competition, whose target and metric are guessed.
        folder: The suite to write to; by default a suite of yours, which is always found.
        progress: Whether to show progress.
        settings: `metric`, `group`, `time`, `id`, `drop`, `test`, `seed`, `title`, `license`, `published`, `closed`,
            `link`, `replace`, `seeds`, `panel_seeds`.

    Raises:
        UsageError: A column, the metric or the split does not work; nothing is written.
    """
    from assay.authoring import Wishes, create_task, read_archive, read_own_data

    options = {key: settings.pop(key) for key in ("link", "replace", "seeds", "panel_seeds") if key in settings}
    if unknown := next((key for key in settings if key not in Wishes.__dataclass_fields__), None):
        raise UsageError(f"new_task has no setting {unknown!r}; {did_you_mean(unknown, Wishes.__dataclass_fields__)}")
    wishes, bars = Wishes(target=target, **settings), _progress(progress)
    opened = nullcontext(read_own_data(data, Path(labels) if labels else None)) if not archive else None
    with opened or read_archive(Path(str(data)), bars, target) as content:
        out = Path(folder) if folder else None
        return _outside_event_loop(
            partial(create_task, name, content, wishes, Home.default(), out=out, progress=bars, **options)
        )


def grade(
    submission: "str | PathLike[str] | bytes | pd.DataFrame | pl.DataFrame",
    task: str,
    *,
    edition: str | None = None,
    variant: str | None = None,
    folder: str | PathLike[str] | None = None,
) -> Grade:
    """Grade a submission of your own: a file, its content, or a data frame.

    Args:
        submission: The path of a file, its content as bytes, or a pandas or polars data frame without its index.
        task: The task, whose data must be prepared.
        edition: Edition of the rules; by default the first of the suite.
        variant: Variant of the data; by default the only one that is prepared.
        folder: A suite of your own to select from as well.
    """
    home, known = Home.default(), _registry(folder).task(task)
    prepared = load_prepared(home, known, edition, choose_variant(home, known, edition, variant))
    source = _to_source(submission)
    return _outside_event_loop(partial(grade_submission, source, prepared, home=home))


def compare(
    *runs: "str | PathLike[str] | Run | Frame",
    agents: Sequence[str] = (),
    baseline: str | None = None,
    measure: Measure | None = None,
    ignore: Sequence[str] = (),
) -> Comparisons:
    """Compare agents, paired by task: differences with intervals and tests.

    Args:
        runs: Runs, their folders or exported files, or frames.
        agents: Compare only these.
        baseline: Compare each agent with this one only.
        measure: `success`, `valid`, `percentile`, `normalized`, `improvement` or `wins`; by default success, and wins
            where success does not tell two agents apart.
        ignore: Conditions in which the trials may differ.

    Raises:
        UsageError: There is nothing to compare, or trials were made under different conditions.
    """
    rows = select_trials(row for source in _require(runs, "run") for row in _frame_of(source))
    comparisons = compare_agents(
        rows, agents=agents, baseline=baseline, measure=measure, families=rows.families, ignore=ignore
    )
    return Comparisons(tuple(comparisons))


def _frame_of(source: "str | PathLike[str] | Run | Frame") -> Frame:
    if isinstance(source, Frame):
        return source
    return read_frame((source if isinstance(source, Run) else load_run(Path(source))).folder)


def _registry(folder: str | PathLike[str] | None) -> Registry:
    registry = Registry([Path(folder)] if folder else [])
    for reason in registry.skipped.values():
        warnings.warn(f"skipping a suite of your configuration: {reason}", stacklevel=3)
    return registry


def _to_source(submission: Any) -> bytes | Path:
    if isinstance(submission, bytes):
        return submission
    if isinstance(submission, str | PathLike):
        path = Path(submission)
        if not path.exists():
            raise UsageError(f"{path} does not exist")
        return path
    if hasattr(submission, "write_csv"):
        return bytes(submission.write_csv().encode())
    if hasattr(submission, "to_csv"):
        return bytes(submission.to_csv(index=False).encode())
    raise UsageError(f"a submission is a path, bytes or a data frame, not {type(submission).__name__}")


def _progress(visible: bool) -> Progress:
    return ProgressBars() if visible else NoProgress()


def _require(values: tuple[Answer, ...], noun: str) -> tuple[Answer, ...]:
    if not values:
        raise UsageError(f"No {noun} given; pass at least one {noun}")
    return values


def _outside_event_loop(work: Callable[[], Answer]) -> Answer:
    """Call a function that starts an event loop of its own; in a notebook, where one runs already, in a thread."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            answers.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers[0]
