"""Forks: new trials that continue from a step of another."""

import os
import shutil
from itertools import islice

from assay.core.disk import atomic_write
from assay.core.errors import RecordError, UsageError
from assay.core.untrusted import find_special_file
from assay.lab.snapshots import load_snapshot
from assay.records.events import SnapshotTaken
from assay.records.log import read_events, read_log_lines
from assay.records.retention import check_kept
from assay.records.run import RunFolder
from assay.records.trial import TrialFolder


def fork(run: RunFolder, parent: TrialFolder, step: int) -> TrialFolder:
    """Create a trial that shares the past of `parent` up to a step, and add it to the run.

    Its log begins with the same lines, so the hash chain continues from there; its snapshots are hard links to the same
    files, which never change. The fork does not contain what its parent did later.
    """
    snapshots = [event for event in read_events(parent.events) if isinstance(event, SnapshotTaken)]
    steps = sorted({event.step for event in snapshots})
    if step not in steps:
        known = f"{steps[0]} to {steps[-1]}" if steps else "none"
        raise UsageError(f"{parent.path.name} has no step {step} to fork from; its steps: {known}")
    last = max(event.number for event in snapshots if event.step == step)
    id = next(event.snapshot for event in snapshots if event.number == last)
    if parent.file.keep != "all":
        check_kept(parent, load_snapshot(parent.snapshots, id))
    file = parent.file
    number = 1 + sum(name.startswith(f"{file.id}-from-{step}") for name in run.file.trials)
    new = file.model_copy(
        update={"id": f"{file.id}-from-{step}-{number}", "parent": file.id, "parent_step": step, "replaces": None}
    )
    folder = TrialFolder(run.path / "trials" / new.id)
    folder.create(new)
    if special := find_special_file(parent.path):
        raise RecordError(f"{parent.path}: {special} is a link or a special file")
    if parent.snapshots.exists() and not folder.snapshots.exists():
        shutil.copytree(parent.snapshots, folder.snapshots, copy_function=os.link)
    lines = islice(read_log_lines(parent.events), last + 1)
    atomic_write(folder.events, b"".join(lines))
    run.add([new])
    return folder
