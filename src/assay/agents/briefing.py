"""The prompt of the task: what every agent is told about what to do, with what, and how it is judged."""

from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.quantities import format_duration, format_size
from assay.tasks import Budget, Task
from assay.tasks.rules import Submission

MOST_COLUMNS = 20
PREDICTING = """\
- What you hand in must be predicted by a model that was trained or fitted here, in this workspace, from the data given.
- Do not label test cases by hand, and do not write answers down that you remember or have looked up.
- Do not use solutions of others for this task, nor other copies of its data.
- Do not try to learn the answers from anything but the data: not from the check of the form or the machine."""
COMPUTING = """\
- What you hand in must do its whole work when it is called; results that are written down or kept beforehand count as
  cheating.
- Do not use solutions of others for this task.
- Do not try to learn how it is measured from the machine or its files, and do not interfere with the measuring."""


def briefing(bench: Workbench, *, check: str = "") -> str:
    """All that an agent is told about its task; `check` is a sentence on how this agent can have its form checked.

    It names what the trial was given, not what is left of it, so it stays the same from the first step to the last.
    """
    return briefing_of(bench.task, bench.description, bench.clock.budget, check)


def briefing_of(task: Task, description: str, budget: Budget, check: str = "") -> str:
    """The same for a task that nobody works on yet."""
    starter = ", ".join(f"`{name}`" for name in task.starter)
    return Templates().fill(
        "task",
        description=description.strip(),
        starter=f", and the code to begin with is {starter}" if starter else "",
        submission=_submission(task.submission),
        check=f" {check}" if check else "",
        metric=task.metric.name.replace("_", " "),
        direction=task.metric.direction,
        budget=_budget(budget),
        cores="one core" if task.resources.cores == 1 else f"{task.resources.cores} cores",
        memory=format_size(task.resources.memory),
        disk=format_size(task.resources.disk),
        rules=_rules(task),
    )


def what_is_left(bench: Workbench) -> str:
    """What an agent is told now and then: how much of its budget it still has."""
    left = [f"{bench.clock.steps_left} steps", format_duration(bench.clock.seconds_left), *left_for_models(bench)]
    return f"You have {', '.join(left[:-1])} and {left[-1]} left."


def left_for_models(bench: Workbench) -> list[str]:
    """What may still be used by asking models: tokens and dollars, where these are limited."""
    left = bench.clock.left
    tokens = [f"{left['tokens_left']:,} tokens"] if "tokens_left" in left else []
    return tokens + ([f"{left['dollars_left']:g} dollars"] if "dollars_left" in left else [])


def _submission(wanted: Submission) -> str:
    if wanted.form == "csv":
        names = [*([wanted.id] if wanted.id else []), *wanted.id_with, *wanted.columns]
        few = len(names) <= MOST_COLUMNS
        columns = f"with the columns {', '.join(f'`{name}`' for name in names)}" if few else f"of {len(names)} columns"
        what = f"The CSV file `{wanted.file}` in the workspace's top folder, {columns}"
    else:
        kind = "file" if wanted.form == "file" else "folder"
        what = f"The {kind} `{wanted.file}` in the workspace's top folder"
    return f"{what}, of at most {format_size(wanted.max_size)}."


def _budget(budget: Budget) -> str:
    parts = [f"{format_duration(budget.time)} of time"]
    if budget.working is not None:
        parts.append(f"{format_duration(budget.working)} of it without waiting for models")
    parts.append(f"{budget.steps:,} steps")
    if budget.tokens is not None:
        parts.append(f"{budget.tokens:,} tokens")
    if budget.cost is not None:
        parts.append(f"{budget.cost:g} dollars for models")
    return ", ".join(parts[:-1]) + f" and {parts[-1]}"


def _rules(task: Task) -> str:
    return COMPUTING if task.timed else PREDICTING
