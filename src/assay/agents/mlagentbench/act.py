"""The published agent without any thoughts: it only acts."""

from typing import ClassVar

from assay.agents.mlagentbench.base import Acting


class Act(Acting):
    """Chooses one action after the other without writing down why; an ablation of `research`."""

    summary = "a model chooses one action after the other, without written thoughts"
    prompt: ClassVar[str] = "act"
