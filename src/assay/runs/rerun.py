"""Reruns: new trials that replace finished ones.

A trial that is rerun keeps its record, so that failures cannot be rerun unnoticed: results leave it out and say so.
"""

from pathlib import Path

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.data.store import load_prepared
from assay.records import RunFolder, TrialFolder
from assay.runs.hashes import check_agent, current_versions, hash_inputs
from assay.runs.planned import inherit
from assay.tasks.registry import task_of


def rerun(run: RunFolder, trial: TrialFolder, home: Home) -> TrialFolder:
    """Add a trial that repeats `trial`, or the newest rerun of it, from the beginning, and replaces it in results."""
    trial = find_newest(run, trial)
    file = trial.file
    if file.parent is not None:
        raise UsageError(f"{file.id} is a fork, which does not count in results; rerun {file.parent}")
    check_agent(file)
    task = task_of(file)
    hashes = hash_inputs(
        task,
        load_prepared(home, task, file.edition, file.variant),
        home.environments / Path(file.environment).name,
        file.agent,
    )
    original = file.id.partition("-again-")[0]
    number = 1 + sum(other.file.replaces is not None for other in run.trials() if _is_rerun_of(original, other))
    new = file.model_copy(
        update={
            "id": f"{original}-again-{number}",
            "replaces": file.id,
            "versions": current_versions(),
            "hashes": file.hashes | hashes,
        }
    )
    inherit(home, file, new)
    run.add([new])
    return TrialFolder(run.path / "trials" / new.id)


def find_newest(run: RunFolder, trial: TrialFolder) -> TrialFolder:
    """Return the newest rerun of a trial, or the trial itself if it was not rerun."""
    by_replaced = {folder.file.replaces: folder for folder in run.trials()}
    while newer := by_replaced.get(trial.path.name):
        trial = newer
    return trial


def _is_rerun_of(original: str, folder: TrialFolder) -> bool:
    return folder.path.name.startswith(f"{original}-again-")
