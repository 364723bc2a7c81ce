"""What is measured: tasks, suites, and how they are found."""

from assay.tasks.model import (
    Budget,
    Column,
    Installed,
    Leaderboard,
    Measured,
    Metric,
    Package,
    Solution,
    Source,
    Submission,
    Suite,
    Task,
    seconds_of,
)
from assay.tasks.registry import Registry, load_plugin, load_suite, load_task

__all__ = [
    "Budget",
    "Column",
    "Installed",
    "Leaderboard",
    "Measured",
    "Metric",
    "Package",
    "Registry",
    "Solution",
    "Source",
    "Submission",
    "Suite",
    "Task",
    "load_plugin",
    "load_suite",
    "load_task",
    "seconds_of",
]
