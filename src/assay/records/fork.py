"""A new trial that begins where another one was after some step."""

import os
import shutil

from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.records.events import read_events
from assay.records.run import RunFolder
from assay.records.trial import TrialFolder


def fork(run: RunFolder, parent: TrialFolder, step: int) -> TrialFolder:
    """Make a trial that shares the past of `parent` up to a step, and add it to the run.

    Its log begins with the same lines, so the hash chain goes on from there; its snapshots are the same files, which
    nothing ever changes. What its parent did afterwards is not known to it.
    """
    kept = [event for event in read_events(parent.events) if event.kind == "snapshot"]
    known = sorted({event.about["step"] for event in kept})
    if step not in known:
        steps = f"{known[0]} to {known[-1]}" if known else "none"
        raise UsageError(f"{parent.path.name} has no step {step} to begin from; it has: {steps}")
    last = max(event.number for event in kept if event.about["step"] == step)
    file = parent.file
    number = 1 + sum(name.startswith(f"{file.id}-from-{step}") for name in run.file.trials)
    new = file.model_copy(update={"id": f"{file.id}-from-{step}-{number}", "parent": file.id, "parent_step": step})
    folder = TrialFolder(run.path / "trials" / new.id)
    folder.create(new)
    if parent.snapshots.exists() and not folder.snapshots.exists():
        shutil.copytree(parent.snapshots, folder.snapshots, copy_function=os.link)
    lines = parent.events.read_bytes().splitlines(keepends=True)[: last + 1]
    atomic_write(folder.events, b"".join(lines))
    run.add([new])
    return folder
