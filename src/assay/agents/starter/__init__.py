"""The lower baseline: the task's starter code unchanged, or a constant prediction where a task has none.

`agent.py` is the agent; `constant.py` is the script that writes a constant prediction, inside the lab.
"""

from assay.agents.starter.agent import Starter

__all__ = ["Starter"]
