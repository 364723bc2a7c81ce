"""The task prompt: the task, its budget and its rules, the same for every agent."""

from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.quantities import format_duration, format_size
from assay.grading.metrics import describe_metric
from assay.records.code import Solution
from assay.tasks import Budget, Task
from assay.tasks.rules import Submission

MAX_COLUMNS = 20
PREDICTION_RULES = """\
- The predictions you submit must come from a model that was trained or fitted in this workspace on the given data.
- Do not label test examples by hand, and do not write down answers that you remember or have looked up.
- Do not use other people's solutions to this task, or other copies of its data.
- Do not try to infer the answers from anything but the data, such as the format check or the machine."""
PROGRAM_RULES = """\
- The code you submit must do all of its work when it is called; hard-coded or cached results count as cheating.
- Do not use other people's solutions to this task.
- Do not inspect the machine or its files to find out how the code is measured, and do not interfere with the
  measurement."""


SELECTION = {
    "hidden": """\
# Selection

The test inputs in `data/` include validation rows whose labels are hidden from you. Every valid submission that is in
the workspace after a step is a candidate. When you finish, the candidate with the best score on the hidden validation
rows becomes your final submission.
""",
    "report": """\
# Selection

The test inputs in `data/` include validation rows whose labels are hidden from you. They do not count for your score.
""",
}
"""What agents are told where rows of the training data are hidden for selection."""


CODE = """\
# Code

You submit code, not only `{submission}`. Leave all of your code for it in `solution.py` in the top folder of the
workspace; files that it imports can be in the folder `solution`. When you finish, `python solution.py` runs in a fresh
workspace with only these files, the files you started with and `data/`, for at most {limit}, with another value of the
environment variable SEED. The `{submission}` that it writes there is graded. Files with weights or predictions are not
copied, and predictions must not be written down in the code.
"""
"""What agents are told where they submit code."""


CLAIM = """\
# Claim

Also write `claim.json` to the top folder of the workspace, with what you expect of your submission:

```
{{"score": 0.81, "low": 0.77, "high": 0.85, "target_reached": true, "did": "…"}}
```

`score` is the score that you expect on the hidden test set ({metric}), `low` and `high` are the ends of a 90% interval
for it, `target_reached` says whether you expect {success}, and `did` says in a few sentences what you did. The claim
does not change your score; it must be an honest estimate.
"""
"""What agents are told where they are asked for a claim."""


def briefing(bench: Workbench, *, check: str = "", offer: str = "") -> str:
    """Return the task prompt of a trial; `check` is a sentence on how this agent can check its submission's format.

    `offer` is one on how it can offer a candidate, added where candidates are selected. The prompt states the whole
    budget, not what is left of it, so that it stays the same from the first step to the last.
    """
    parts = [task_prompt(bench.task, bench.description, bench.clock.budget, check)]
    if bench.offers:
        parts += [SELECTION[bench.offers.selection], *([f"{offer}\n"] if offer else [])]
    if bench.solution == Solution():
        parts.append(CODE.format(submission=bench.task.submission.file, limit=format_duration(bench.clock.budget.time)))
    if bench.claims and bench.task.integrity is None:
        parts.append(CLAIM.format(metric=describe_metric(bench.task), success=_describe_success(bench.task)))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n" if len(parts) > 1 else parts[0]


def task_prompt(task: Task, description: str, budget: Budget, check: str = "", *, steps: bool = True) -> str:
    """Return the task prompt for a task outside of any trial; without `steps` where nobody counts them."""
    if task.submission.form == "workspace":
        return Templates("assay.agents").fill(
            "workspace",
            description=description.strip(),
            folder=task.layout.folder,
            submission=", ".join(f"`{path}`" for path in task.submission.paths) or "the files of the workspace",
            **_describe_limits(task, budget, steps),
        )
    starter = ", ".join(f"`{name}`" for name in task.starter)
    return Templates("assay.agents").fill(
        "task",
        description=description.strip(),
        starter=f". The starter code is in {starter}" if starter else "",
        submission=_describe_submission(task.submission),
        check=f" {check}" if check else "",
        metric=describe_metric(task),
        direction=task.metric.direction,
        **_describe_limits(task, budget, steps),
        rules=PROGRAM_RULES if task.timed else PREDICTION_RULES,
    )


def remaining_budget(bench: Workbench) -> str:
    """Say how much of its budget an agent has left."""
    left = [
        f"{bench.clock.steps_left} steps",
        format_duration(bench.clock.seconds_left),
        *remaining_model_budget(bench),
    ]
    return f"You have {', '.join(left[:-1])} and {left[-1]} left."


def remaining_model_budget(bench: Workbench) -> list[str]:
    """Return the tokens and dollars left for models, where these are limited."""
    left = bench.clock.left
    parts = []
    if "tokens_left" in left:
        parts.append(f"{left['tokens_left']:,} tokens")
    if "dollars_left" in left:
        parts.append(f"{left['dollars_left']:g} dollars")
    return parts


def _describe_success(task: Task) -> str:
    return "a medal" if task.leaderboard else "to beat the baseline of the task by more than 10%"


def _describe_submission(rules: Submission) -> str:
    if rules.form == "csv":
        names = [*([rules.id] if rules.id else []), *rules.id_with, *rules.columns]
        if len(names) <= MAX_COLUMNS:
            columns = f"with the columns {', '.join(f'`{name}`' for name in names)}"
        else:
            columns = f"with {len(names)} columns"
        what = f"Submit the CSV file `{rules.file}` in the top folder of the workspace, {columns}"
    else:
        what = f"Submit the file `{rules.file}` in the top folder of the workspace"
    return f"{what}, of at most {format_size(rules.max_size)}."


def _describe_limits(task: Task, budget: Budget, steps: bool) -> dict[str, str]:
    return {
        "budget": _describe_budget(budget, steps),
        "cores": "one core" if task.resources.cores == 1 else f"{task.resources.cores} cores",
        "memory": format_size(task.resources.memory),
        "disk": format_size(task.resources.disk),
    }


def _describe_budget(budget: Budget, steps: bool) -> str:
    parts = [f"{format_duration(budget.time)} of time"]
    if budget.working is not None:
        parts.append(f"{format_duration(budget.working)} of it excluding time spent waiting for models")
    if steps:
        parts.append(f"{budget.steps:,} steps")
    if budget.tokens is not None:
        parts.append(f"{budget.tokens:,} tokens")
    if budget.cost is not None:
        parts.append(f"{budget.cost:g} dollars for models")
    *most, last = parts
    return f"You have {', '.join(most)} and {last}" if most else f"You have {last}"
