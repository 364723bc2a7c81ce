"""Somebody who takes actions by their names, for tests."""

from assay.agents.mlagentbench.actions import ActionContext, perform_action
from assay.agents.prompts import Templates


class Hands:
    """Takes actions on a bench and keeps what came of the last one."""

    def __init__(self, bench, **limits):
        self.context = ActionContext(bench, Templates("assay.agents.mlagentbench"), **limits)

    async def __call__(self, name, **arguments):
        """What the agent is told."""
        self.last = await perform_action(self.context, name, arguments)
        return self.last.text
