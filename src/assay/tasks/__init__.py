"""What is measured: tasks, suites, and how they are found."""

from assay.tasks.model import (
    Budget,
    Column,
    Leaderboard,
    Measured,
    Metric,
    Package,
    Solution,
    Submission,
    Suite,
    Task,
    seconds_of,
)
from assay.tasks.registry import Registry, load_plugin, load_suite, load_task

__all__ = [
    "Budget",
    "Column",
    "Leaderboard",
    "Measured",
    "Metric",
    "Package",
    "Registry",
    "Solution",
    "Submission",
    "Suite",
    "Task",
    "load_plugin",
    "load_suite",
    "load_task",
    "seconds_of",
]
