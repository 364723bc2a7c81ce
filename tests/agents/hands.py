"""Somebody who takes actions by their names, for tests."""

from assay.agents.mlagentbench.actions import ActionContext, perform
from assay.agents.prompts import Templates


class Hands:
    """Takes actions on a bench and keeps what came of the last one."""

    def __init__(self, bench, **limits):
        self.means = ActionContext(bench, Templates(), **limits)

    async def __call__(self, name, **arguments):
        """What the agent is told."""
        self.last = await perform(self.means, name, arguments)
        return self.last.text
