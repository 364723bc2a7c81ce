"""What is measured: tasks, suites, and how they are found."""

from assay.core.quantities import parse_duration
from assay.tasks.model import (
    Budget,
    Installed,
    Kaggle,
    Leaderboard,
    Measured,
    Package,
    Solution,
    Source,
    Suite,
    Task,
)
from assay.tasks.registry import Registry, load_plugin, load_suite, load_task
from assay.tasks.rules import Codec, Column, EditionRules, Metric, RowSum, Submission

__all__ = [
    "Budget",
    "Codec",
    "Column",
    "EditionRules",
    "Installed",
    "Kaggle",
    "Leaderboard",
    "Measured",
    "Metric",
    "Package",
    "Registry",
    "RowSum",
    "Solution",
    "Source",
    "Submission",
    "Suite",
    "Task",
    "load_plugin",
    "load_suite",
    "load_task",
    "parse_duration",
]
