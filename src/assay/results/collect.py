"""The outcomes of a run folder, and the reference panels and published figures of its tasks."""

from collections import defaultdict
from pathlib import Path

from assay.core.quantities import format_duration
from assay.records import RunFolder, TrialFile, TrialFolder
from assay.results.outcome import Outcome
from assay.results.published_figures import PublishedFigures, load_published_figures
from assay.tasks import Measured, Registry, Task


def collect_outcomes(run: RunFolder) -> list[Outcome]:
    """Return the outcome of each trial of a run, in the order of the plan."""
    trials = [(folder, folder.file) for folder in run.trials()]
    tasks = load_tasks([file for _, file in trials])
    budgets = defaultdict(set)
    for _, file in trials:
        budgets[file.task, file.label].add((file.budget.time, file.budget.steps))
    return [
        _outcome(folder, file, tasks[file.task], len(budgets[file.task, file.label]) > 1) for folder, file in trials
    ]


def find_panels(run: RunFolder) -> dict[str, Measured]:
    """Return the measured reference panels of the tasks of a run."""
    tasks = load_tasks([folder.file for folder in run.trials()])
    return {name: task.measured for name, task in tasks.items() if task.measured}


def find_published_figures(run: RunFolder) -> dict[str, PublishedFigures]:
    """Return the published figures of the suites of a run."""
    tasks = load_tasks([folder.file for folder in run.trials()]).values()
    found = {task.suite: load_published_figures(task.folder.parent) for task in tasks}
    return {suite: figures for suite, figures in found.items() if figures}


def load_tasks(files: list[TrialFile]) -> dict[str, Task]:
    """Return the tasks of some trials by their names."""
    registry = Registry(sorted({Path(file.tasks_folder) for file in files if file.tasks_folder}))
    return {name: registry.task(name) for name in {file.task for file in files}}


def _outcome(folder: TrialFolder, file: TrialFile, task: Task, several_budgets: bool) -> Outcome:
    """Return the outcome of one trial; an agent with two budgets counts as two agents."""
    budget = f" ({format_duration(file.budget.time)}, {file.budget.steps} steps)" if several_budgets else ""
    state = folder.state
    return Outcome(
        task=file.task,
        title=task.title,
        metric=task.metric.name,
        direction=task.metric.direction,
        agent=file.label + budget,
        seed=file.seed,
        edition=file.edition,
        variant=file.variant,
        status=state.status,
        cause=state.cause,
        why=state.reason,
        grade=folder.grade,
        elapsed=state.elapsed,
        steps=state.steps,
        sealed=state.sealing is None or state.sealing.sealed,
    )
