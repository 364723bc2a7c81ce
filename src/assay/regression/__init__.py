"""A regression test for agents: `assay try`. Start reading at `try_agent.py`."""

from assay.regression.change import Change, PairedTrial, compare_versions
from assay.regression.history import History, Version
from assay.regression.try_agent import Attempt, try_agent

__all__ = ["Attempt", "Change", "History", "PairedTrial", "Version", "compare_versions", "try_agent"]
