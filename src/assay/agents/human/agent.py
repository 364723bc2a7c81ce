"""The human baseline: a person at a terminal, with a shell in the lab."""

from functools import partial
from typing import ClassVar

import anyio
from pydantic import Field as Setting

from assay.agents.agent import Agent
from assay.agents.briefing import briefing
from assay.agents.human.prompt import Screen
from assay.agents.human.session import Desk, Watch, WorkPeriod
from assay.agents.mlagentbench.actions.checking import VALID, checked
from assay.agents.mlagentbench.actions.scripts import LIMITS
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.errors import LabError
from assay.core.quantities import Seconds

LAST_WORDS = {
    "submit": "Your work is handed in.",
    "left": "You have left the shell; what lies in the workspace is handed in.",
    "time": "Time is up; what lies in the workspace is handed in.",
}


class Human(Agent):
    """Gives a person a shell in the lab, under the same budget and the same rules as any other agent.

    A step of theirs is a new version of the submission, or a check of its form. They are not held to a number of steps.
    """

    summary = "a person at this terminal, with a shell in the lab: the human baseline"
    at_terminal: ClassVar[bool] = True

    look: Seconds = Setting(10.0, gt=0, description="how often it is looked whether the submission has changed")
    keep: Seconds = Setting(120.0, gt=0, description="how often the workspace is kept at the least")

    async def work(self, bench: Workbench) -> None:
        """WorkPeriod after sitting, until the person submits, leaves, or time is up."""
        screen = Screen(bench.terminal)
        task = briefing(bench, check="The command `validate` tells you whether its form is valid, but no score.")
        watch = Watch(bench.task.submission.file, self.look, self.keep)
        desk = Desk(bench, screen, watch, Templates().fill("human", task=task))
        sittings = 0
        try:
            while True:
                bench.clock.check()
                sitting = WorkPeriod(**await bench.record("sit", {}, partial(desk.sit, again=sittings > 0)))
                sittings += 1
                if sitting.why in ("changed", "validate") and bench.clock.steps_left:
                    bench.clock.step()
                if sitting.why == "validate":
                    said = await checked(bench)
                    await desk.answer(said, 0 if said == VALID else 1)
                await bench.snapshot()
                if sitting.why in LAST_WORDS:
                    await screen.say(LAST_WORDS[sitting.why])
                    return
                if sitting.why == "gone" and screen.closed:
                    raise LabError("the terminal was closed; the files are kept, and the work can be taken up again")
                if sitting.why == "ended":
                    _, how = LIMITS.get(sitting.ended or "exit", ("crash", "has ended"))
                    await screen.say(f"Everything in the lab {how}.")
        finally:
            with anyio.CancelScope(shield=True):
                await desk.leave()
            screen.close()
