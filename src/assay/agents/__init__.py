"""Agents, and the workbench through which they act.

Start with `agent.py` (what an agent is) and `workbench.py` (what it can do). Each agent family has a package of its own
with its prompt templates, profiles and the scripts it runs in the lab: `shell`, `mlagentbench`, `aide`, `external`,
`human`, `automl`, `chooser` and `starter`; `replay` is a single module.
"""

from assay.agents.agent import Agent, Requirements, Settings, find_agent
from assay.agents.workbench import Workbench

__all__ = ["Agent", "Requirements", "Settings", "Workbench", "find_agent"]
