"""Assay measures how well AI agents do machine-learning engineering."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.agents import Agent, Workbench
    from assay.api import compare, grade, load_run, new_task, prepare, run, tasks
    from assay.results.run import Run, Trial

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Run",
    "Trial",
    "Workbench",
    "__version__",
    "compare",
    "grade",
    "load_run",
    "new_task",
    "prepare",
    "run",
    "tasks",
]
_MODULES = {"Agent": "agents", "Workbench": "agents", "Run": "results.run", "Trial": "results.run"}


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that `import assay` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'api')}"), name)


def __dir__() -> list[str]:
    return __all__
