"""The action that checks the form of the submission, without a score."""

from assay.agents.mlagentbench.actions.model import ActionContext, action
from assay.agents.observation import Observation
from assay.agents.workbench import Workbench

VALIDATE = "Validate Submission"
VALID = "The form of the submission is valid. That says nothing about its score."


@action(VALIDATE, returns="whether its form is valid, and what is wrong with it if not")
async def validate_submission(means: ActionContext) -> Observation:
    """Have the form of your submission checked as it lies in the workspace now: its columns, rows and values. You get
    no score, and how often you check is written down."""
    return Observation(await checked(means.bench))


async def checked(bench: Workbench) -> str:
    """What an agent is told about the form of its submission."""
    fault = await bench.validate()
    return VALID if fault is None else f"The submission is not valid: {fault.rstrip('.')}."
