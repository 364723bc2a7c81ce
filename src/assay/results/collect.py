"""Former functions that read the frame of runs."""

from assay.records import RunFolder, TrialFile, TrialSummary, read_trials
from assay.results.frame import TrialRow, read_frame
from assay.results.frame import make_registry as make_registry
from assay.tasks import Measured, Registry, Task


def collect_outcomes(*runs: RunFolder) -> list[TrialRow]:
    """Return the rows of some runs."""
    return list(read_frame(*runs))


def collect_summaries(*runs: RunFolder, registry: Registry | None = None) -> list[tuple[TrialSummary, TrialRow]]:
    """Return the rows with the records they follow from."""
    return [(row.record, row) for row in read_frame(*runs, registry=registry) if row.record]


def collect_with_tasks(
    *runs: RunFolder, registry: Registry | None = None
) -> tuple[list[tuple[TrialSummary, TrialRow]], dict[str, Task]]:
    """Return the rows with their records, and the tasks by name."""
    frame = read_frame(*runs, registry=registry)
    return [(row.record, row) for row in frame if row.record], dict(frame.known_tasks)


def find_panels(*runs: RunFolder) -> dict[str, Measured]:
    """Return the measured reference panels of the tasks of some runs."""
    tasks = load_tasks([trial.file for run in runs for trial in read_trials(run)])
    return {name: task.measured for name, task in tasks.items() if task.measured}


def load_tasks(files: list[TrialFile]) -> dict[str, Task]:
    """Return the tasks of some trials by their names."""
    registry = make_registry(files)
    return {name: registry.recorded_task(name) for name in {file.task for file in files}}
