"""Tasks and suites: what they consist of, their rules, and how they are found.

Start with `Registry`, which finds tasks by name, and `Task`, the validated contents of a task folder. `rules` describes
how submissions are checked and scored.
"""

import sys
from types import ModuleType
from typing import Any

from assay.core.plugins import load_plugin
from assay.core.quantities import parse_duration
from assay.tasks.model import (
    Budget,
    Installed,
    Kaggle,
    Leaderboard,
    LocalData,
    Measured,
    Package,
    Preparation,
    Solution,
    Source,
    Suite,
    Task,
)
from assay.tasks.registry import Registry, load_suite, load_task
from assay.tasks.rules import Codec, Column, EditionRules, Metric, Quirk, RowSum, Submission

__all__ = [
    "Budget",
    "Codec",
    "Column",
    "EditionRules",
    "Installed",
    "Kaggle",
    "Leaderboard",
    "LocalData",
    "Measured",
    "Metric",
    "Package",
    "Preparation",
    "Quirk",
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


class _CallablePackage(ModuleType):
    """Makes `assay.tasks("pocket")` a call of the public function, although `assay.tasks` is this package, too."""

    def __call__(self, *names: str, **options: Any) -> Any:
        from assay import api

        return api.tasks(*names, **options)


sys.modules[__name__].__class__ = _CallablePackage
