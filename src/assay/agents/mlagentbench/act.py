"""The published agent without thoughts: it only acts."""

from typing import ClassVar

from assay.agents.mlagentbench.base import ActionAgent


class Act(ActionAgent):
    """Chooses one action after another without written reasoning; an ablation of `research`."""

    summary = "a model chooses one action after another, without written thoughts"
    prompt: ClassVar[str] = "act"
