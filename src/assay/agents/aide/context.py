"""What a script finds in the lab: a preview of the data, the packages, and the code to begin with."""

import json
from importlib.resources import files

from assay.agents.aide.operators import fenced_off
from assay.agents.briefing import briefing
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench

_SECONDS = 120.0
_PREVIEW = 6_000
_PACKAGES = 2_000
_STARTER = 6_000
_UNKNOWN = ("(It could not be looked at; see the task.)", ["(they could not be listed)"])


async def system_prompt(bench: Workbench, texts: Templates) -> str:
    """All that stays the same from node to node: the task, the data, the packages, and what a script must do."""
    task, (data, packages) = bench.task, await _look(bench)
    return texts.fill(
        "aide",
        task=briefing(bench),
        data=data,
        packages=shortened(", ".join(packages), _PACKAGES),
        starter=_starter(bench, texts),
        metric=task.metric.name.replace("_", " "),
        direction=task.metric.direction,
        submission=task.submission.file,
    )


async def _look(bench: Workbench) -> tuple[str, list[str]]:
    """What our own script tells of the data and the packages."""
    script = files("assay.agents").joinpath("scripts", "preview.py").read_bytes()
    command = ["python", "-", str(_PREVIEW)]
    told = await bench.execute(command, seconds=_SECONDS, stdin=script, changes=False)
    if not told.succeeded:
        await bench.note("no preview of the data", why=shortened(told.stderr.text, 1_000))
        return _UNKNOWN
    found = json.loads(told.stdout.text)
    return found["data"], found["packages"]


def _starter(bench: Workbench, texts: Templates) -> str:
    starter = bench.task.starter
    if not starter:
        return ""
    share = _STARTER // len(starter)
    contents = {name: shortened(code.decode(errors="replace"), share) for name, code in starter.items()}
    shown = "\n\n".join(f"{name}:\n\n{fenced_off(content)}" for name, content in contents.items())
    return f"\n{texts.fill('aide_starter', files=shown)}\n"
