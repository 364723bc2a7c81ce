"""The system prompt of a search: the task, an overview of the data, the packages, and the starter code."""

import json
from importlib.resources import files

from assay.agents.briefing import briefing
from assay.agents.prompts import Templates
from assay.agents.replies import code_block
from assay.agents.workbench import Workbench
from assay.core.text import cut_middle
from assay.grading.metrics import describe_metric

_PREVIEW_SECONDS = 120.0
_MAX_PREVIEW = 6_000
_MAX_PACKAGES = 2_000
_MAX_STARTER = 6_000
_NO_PREVIEW = ("(not available; see the task)", ["(not available)"])


async def make_system_prompt(bench: Workbench, templates: Templates) -> str:
    """Return what stays the same from node to node: the task, the data, the packages, and the guidelines."""
    task, (data, packages) = bench.task, await preview_data(bench)
    return templates.fill(
        "system",
        task=briefing(bench),
        data=data,
        packages=cut_middle(", ".join(packages), _MAX_PACKAGES),
        starter=_describe_starter(bench, templates),
        metric=describe_metric(task),
        direction=task.metric.direction,
        submission=task.submission.file,
    )


async def preview_data(bench: Workbench) -> tuple[str, list[str]]:
    """Run `preview.py` in the lab and return its overview of the data and the packages."""
    script = files("assay.agents.aide").joinpath("preview.py").read_bytes()
    command = ["python", "-", str(_MAX_PREVIEW)]
    completed = await bench.execute(command, seconds=_PREVIEW_SECONDS, stdin=script, changes=False)
    if not completed.succeeded:
        await bench.note("no preview of the data", reason=cut_middle(completed.stderr, 1_000))
        return _NO_PREVIEW
    preview = json.loads(completed.stdout)
    return preview["data"], preview["packages"]


def _describe_starter(bench: Workbench, templates: Templates) -> str:
    starter = bench.task.starter
    if not starter:
        return ""
    share = _MAX_STARTER // len(starter)
    contents = {name: cut_middle(code.decode(errors="replace"), share) for name, code in starter.items()}
    files = "\n\n".join(f"{name}:\n\n{code_block(content)}" for name, content in contents.items())
    return f"\n{templates.fill('starter', files=files)}\n"
