"""Which text describes a task to its agents: the task's own, its obfuscated one, or one that a user brings."""

import hashlib
from pathlib import Path
from typing import Literal

from assay.core.errors import UsageError
from assay.records import TrialFile
from assay.tasks import Task

Describe = Literal["plain", "obfuscated"]


def chosen_description(task: Task, describe: Describe, folder: Path | None) -> dict[str, str | None]:
    """What a trial's file says about the description: which kind it is and, of a user's own, the text."""
    if folder is not None:
        if describe != "plain":
            raise UsageError("--describe goes with the tasks' own texts; leave it out where --descriptions is given")
        return {"describe": "own", "description": _own_text(task, folder)}
    if describe == "obfuscated" and task.obfuscated is None:
        raise UsageError(
            f"{task.id} has no obfuscated description; leave out --describe, or bring one in --descriptions"
        )
    return {"describe": describe, "description": None}


def description_of(file: TrialFile, task: Task) -> str:
    """The text that a trial's agent is told."""
    if file.description is not None:
        return file.description
    return (task.obfuscated or "") if file.describe == "obfuscated" else task.description


def hash_of_description(task: Task, chosen: dict[str, str | None]) -> str:
    """The hash of a chosen text, for the record."""
    text = chosen["description"] or (task.obfuscated if chosen["describe"] == "obfuscated" else task.description)
    return hashlib.sha256((text or "").encode()).hexdigest()


def _own_text(task: Task, folder: Path) -> str:
    places = [
        folder / task.suite / f"{task.name}.md",
        folder / f"{task.name}.md",
        folder / task.name / "description.md",
    ]
    for place in places:
        if place.is_file():
            return place.read_text("utf-8")
    looked = ", ".join(str(place.relative_to(folder)) for place in places)
    raise UsageError(f"{folder} holds no description of {task.id}; it is looked for in {looked}")
