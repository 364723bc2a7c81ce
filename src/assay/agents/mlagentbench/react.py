"""The published agent with a thought before each action, and nothing else."""

from typing import ClassVar

from assay.agents.mlagentbench.base import ActionAgent
from assay.agents.mlagentbench.turns import ThoughtField

THOUGHT = ThoughtField("Thought", "what you are doing now, what you expect to happen, and why")


class React(ActionAgent):
    """Writes a thought before each action; an ablation of `research`."""

    summary = "a model writes a thought before each action"
    thoughts: ClassVar[tuple[ThoughtField, ...]] = (THOUGHT,)
    prompt: ClassVar[str] = "react"
