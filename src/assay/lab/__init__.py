"""Where agents act: sealed labs, their Python environments, and snapshots of their workspaces.

Names are imported when first used, so that building an environment needs nothing but the standard library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.lab.environments import build_environment, find_environment
    from assay.lab.interface import Completed, Lab, Limits, Output, Process, SandboxName, Sealing, Setup
    from assay.lab.lab import open_lab
    from assay.lab.snapshots import Snapshot

__all__ = [
    "Completed",
    "Lab",
    "Limits",
    "Output",
    "Process",
    "SandboxName",
    "Sealing",
    "Setup",
    "Snapshot",
    "build_environment",
    "find_environment",
    "open_lab",
]

_MODULES = {
    "Snapshot": "snapshots",
    "build_environment": "environments",
    "find_environment": "environments",
    "open_lab": "lab",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'interface')}"), name)
