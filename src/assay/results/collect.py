"""The outcomes of run folders, and the reference panels and published figures of their tasks."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from assay.core.disk import hash_file
from assay.core.garbage import pause_garbage_collection
from assay.records import RunFolder, TrialFile, TrialFolder, TrialSummary, label_plans, read_trials
from assay.results.outcome import Direction, Outcome
from assay.results.published_figures import PublishedFigures, load_published_figures
from assay.results.sample_scores import load_sample_scores
from assay.tasks import Measured, Registry, Task


def collect_outcomes(*runs: RunFolder) -> list[Outcome]:
    """Return the outcome of each trial of some runs, in the order of their plans; a copy of a trial is left out."""
    return [outcome for _, outcome in collect_summaries(*runs)]


def collect_summaries(*runs: RunFolder, registry: Registry | None = None) -> list[tuple[TrialSummary, Outcome]]:
    """Return the same outcomes, each with the plan, state and grade it follows from; see `collect_with_tasks`."""
    return collect_with_tasks(*runs, registry=registry)[0]


def collect_with_tasks(
    *runs: RunFolder, registry: Registry | None = None
) -> tuple[list[tuple[TrialSummary, Outcome]], dict[str, Task]]:
    """Return the same outcomes, and the tasks of their trials by name.

    Tasks are looked up in `registry`; by default also in the folders that the records name, which is only for runs that
    were made on this machine.
    """
    with pause_garbage_collection():
        return _collect(runs, registry)


def _collect(
    runs: Sequence[RunFolder], registry: Registry | None
) -> tuple[list[tuple[TrialSummary, Outcome]], dict[str, Task]]:
    trials = [trial for run in runs for trial in read_trials(run)]
    if len(runs) > 1:
        trials = _without_copies(trials)
    plans = {trial.plan: trial.file for trial in trials}
    files = list(plans.values())
    known = registry or make_registry(files)
    tasks = {name: known.recorded_task(name) for name in {file.task for file in files}}
    splits = known.split_of_each(tasks)
    labels = label_plans(plans)
    samples = {plan: _sample_score(file, tasks[file.task]) for plan, file in plans.items()}
    replaced = {(trial.folder.path.parent, trial.file.replaces) for trial in trials if trial.file.replaces}
    found = [
        (
            trial,
            outcome_of(
                trial,
                tasks[trial.file.task],
                labels[trial.plan],
                replaced=bool(replaced) and (trial.folder.path.parent, trial.file.id) in replaced,
                split=splits.get(trial.file.task, ""),
                sample_score=samples[trial.plan],
            ),
        )
        for trial in trials
    ]
    return found, tasks


def find_panels(*runs: RunFolder) -> dict[str, Measured]:
    """Return the measured reference panels of the tasks of some runs."""
    tasks = load_tasks([trial.file for run in runs for trial in read_trials(run)])
    return {name: task.measured for name, task in tasks.items() if task.measured}


def find_published_figures(*runs: RunFolder) -> dict[str, PublishedFigures]:
    """Return the published figures of the suites of some runs."""
    tasks = load_tasks([trial.file for run in runs for trial in read_trials(run)]).values()
    found = {task.suite: load_published_figures(task.folder.parent) for task in tasks}
    return {suite: figures for suite, figures in found.items() if figures}


def outcome_of(
    trial: TrialSummary,
    task: Task | None,
    label: str,
    *,
    replaced: bool,
    split: str = "",
    sample_score: float | None = None,
) -> Outcome:
    """Return the outcome of one trial; its task need not be known."""
    file, state, grade = trial.file, trial.state, trial.grade
    direction: Direction = "lower" if grade and grade.is_lower_better else "higher"
    return Outcome(
        task=file.task,
        title=task.title if task else file.task,
        metric=task.metric.name if task else "",
        direction=task.metric.direction if task else direction,
        agent=label,
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
        trial=file.id,
        model=file.models.get("main"),
        tokens=state.tokens,
        cost=state.cost,
        kind_of_failure=state.failure,
        parent=file.parent,
        parent_step=file.parent_step,
        replaced=replaced,
        load=state.load,
        split=split,
        sample_score=sample_score,
        ignores_noise=task is not None and file.edition in task.success_as_published,
    )


def _sample_score(file: TrialFile, task: Task) -> float | None:
    known = load_sample_scores(task.folder.parent)
    if known is None or (file.edition, file.variant) != (known.edition, "real"):
        return None
    return known.scores.get(task.folder.name)


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
    log = hash_file(folder.events) if folder.events.is_file() else str(folder.path)
    return folder.path.name, log


def load_tasks(files: list[TrialFile]) -> dict[str, Task]:
    """Return the tasks of some trials by their names."""
    registry = make_registry(files)
    return {name: registry.recorded_task(name) for name in {file.task for file in files}}


def make_registry(files: Sequence[TrialFile]) -> Registry:
    """Return the tasks, with those in the folders that records name."""
    return Registry(sorted({Path(file.tasks_folder) for file in files if file.tasks_folder}))
