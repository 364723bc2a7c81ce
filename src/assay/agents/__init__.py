"""Who acts: agents, and what they are given to act with."""

from assay.agents.agent import Agent, Settings, Wants, find_agent
from assay.agents.workbench import Workbench

__all__ = ["Agent", "Settings", "Wants", "Workbench", "find_agent"]
