"""The published agent with a thought before each action, and nothing else."""

from typing import ClassVar

from assay.agents.mlagentbench.base import Acting
from assay.agents.mlagentbench.turns import Field

THOUGHT = Field("Thought", "what you are doing now, what you expect to come of it, and why")


class React(Acting):
    """Writes down a thought before each action; an ablation of `research`."""

    summary = "a model writes down a thought before each action"
    thoughts: ClassVar[tuple[Field, ...]] = (THOUGHT,)
    prompt: ClassVar[str] = "react"
