"""Performs MLAgentBench actions by name, for tests."""

from assay.agents.mlagentbench.actions import ActionContext, perform_action
from assay.agents.prompts import Templates


class ActionDriver:
    """Performs actions on a workbench and keeps the last observation."""

    def __init__(self, bench, **limits):
        self.context = ActionContext(bench, Templates("assay.agents.mlagentbench"), **limits)

    async def __call__(self, name, **arguments):
        """Perform an action and return the text of its observation."""
        self.last = await perform_action(self.context, name, arguments)
        return self.last.text
