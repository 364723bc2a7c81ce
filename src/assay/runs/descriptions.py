"""Which text describes a task to agents: the task's own, its obfuscated one, or one that the user provides."""

import hashlib
from pathlib import Path
from typing import Literal

from assay.core.errors import RecordError, UsageError
from assay.core.untrusted import read_plain, refuse_links
from assay.records import TrialFile
from assay.tasks import Task

Describe = Literal["plain", "obfuscated"]
ChosenKind = Literal["plain", "obfuscated", "own"]

_MAX_DESCRIPTION = 10**7


def choose_description(task: Task, describe: Describe, folder: Path | None) -> tuple[ChosenKind, str | None]:
    """Return what `trial.json` says about the description: its kind and, if the user provides it, the text."""
    if folder is not None:
        if describe != "plain":
            raise UsageError("--describe and --descriptions exclude each other; pass only one of them")
        return "own", _own_text(task, folder)
    if describe == "obfuscated" and task.obfuscated is None:
        raise UsageError(
            f"{task.id} has no obfuscated description; omit --describe, or provide one with --descriptions"
        )
    return describe, None


def description_of(file: TrialFile, task: Task) -> str:
    """Return the description that a trial's agent reads."""
    if file.description is not None:
        return file.description
    return (task.obfuscated or "") if file.describe == "obfuscated" else task.description


def hash_description(task: Task, describe: ChosenKind, description: str | None) -> str:
    """Return the hash of the chosen description, for the record."""
    text = description or (task.obfuscated if describe == "obfuscated" else task.description)
    return hashlib.sha256((text or "").encode()).hexdigest()


def _own_text(task: Task, folder: Path) -> str:
    paths = [
        folder / task.suite / f"{task.name}.md",
        folder / f"{task.name}.md",
        folder / task.name / "description.md",
    ]
    for path in paths:
        if not path.is_file():
            continue
        try:
            # The folder may be a stranger's: a link in it could lead to a key.
            refuse_links(path.parent)
            return read_plain(path, _MAX_DESCRIPTION).decode()
        except (RecordError, ValueError) as error:
            raise UsageError(f"the description cannot be read: {error}") from None
    looked = ", ".join(str(path.relative_to(folder)) for path in paths)
    raise UsageError(f"{folder} has no description of {task.id}; expected one of: {looked}")
