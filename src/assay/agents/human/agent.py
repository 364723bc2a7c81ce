"""The human agent: a person at the terminal, with a shell in the lab."""

from functools import partial
from typing import ClassVar

import anyio
from pydantic import Field

from assay.agents.agent import Agent
from assay.agents.briefing import briefing
from assay.agents.human.session import HumanSession, Monitoring
from assay.agents.human.terminal import RawTerminal
from assay.agents.outcomes import LIMITS, VALID, check_submission
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.errors import LabError
from assay.core.quantities import Seconds
from assay.records.events import HumanPeriodRequest, HumanPeriodResult

FAREWELLS = {
    "submit": "Your work has been submitted.",
    "left": "You have left the shell; what is in the workspace has been submitted.",
    "time": "Time is up; what is in the workspace has been submitted.",
}


class Human(Agent):
    """Gives a person a shell in the lab, under the same budget and rules as any other agent.

    A step is a new version of the submission or a check of its format. The number of steps is not limited.
    """

    summary = "a person at this terminal, with a shell in the lab: the human baseline"
    at_terminal: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = ("human_period", "validation")

    poll: Seconds = Field(10.0, gt=0, description="interval between checks for a new submission")
    snapshot: Seconds = Field(120.0, gt=0, description="max interval between snapshots of the workspace")

    async def work(self, bench: Workbench) -> None:
        """Let the person work in periods until they submit, leave the shell, or run out of time."""
        terminal = RawTerminal(bench.terminal)
        task = briefing(bench, check="The command `validate` checks whether its format is valid, without a score.")
        welcome = Templates("assay.agents.human").fill("welcome", task=task)
        monitoring = Monitoring(bench.task.submission.file, self.poll, self.snapshot)
        session = HumanSession(bench, terminal, monitoring, welcome)
        periods = 0
        try:
            while True:
                bench.clock.check()
                work = partial(session.work_until_event, resumed=periods > 0)
                period = await bench.record(HumanPeriodRequest(), work, HumanPeriodResult)
                periods += 1
                if period.reason in ("changed", "validate") and bench.clock.steps_left:
                    bench.clock.step()
                if period.reason == "validate":
                    result = await check_submission(bench)
                    await session.answer(result, 0 if result == VALID else 1)
                await bench.snapshot()
                if period.reason in FAREWELLS:
                    await terminal.show(FAREWELLS[period.reason])
                    return
                if period.reason == "disconnected" and terminal.closed:
                    raise LabError("the terminal was closed; the files are kept, and the trial can be resumed")
                if period.reason == "ended":
                    _, ending = LIMITS.get(period.ended or "exit", ("crash", "has ended"))
                    await terminal.show(f"Everything in the lab {ending}.")
        finally:
            with anyio.CancelScope(shield=True):
                await session.close()
            terminal.close()
