"""Labs, in which the code of agents runs: sandboxes, their Python environments, and snapshots of their workspaces.

Start reading at `interface.py` (what a lab offers) and `lab.py` (`open_lab`). `workspace.py` is the only module that
accesses the files of a workspace, `sandboxes/` confines commands, and `host/` has what a lab needs from the machine.

Names are imported on first use, so that building an environment needs nothing but the standard library.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.lab.environments import build_environment, find_environment
    from assay.lab.interface import Completed, Lab, LabPaths, Limits, Output, Process, SandboxName, Sealing, Setup
    from assay.lab.lab import open_lab
    from assay.lab.snapshots import Snapshot, load_snapshot

__all__ = [
    "Completed",
    "Lab",
    "LabPaths",
    "Limits",
    "Output",
    "Process",
    "SandboxName",
    "Sealing",
    "Setup",
    "Snapshot",
    "build_environment",
    "find_environment",
    "load_snapshot",
    "open_lab",
]

__getattr__ = import_on_use(
    __name__,
    {
        "environments": ["build_environment", "find_environment"],
        "interface": ["Completed", "Lab", "LabPaths", "Limits", "Output", "Process", "SandboxName", "Sealing", "Setup"],
        "lab": ["open_lab"],
        "snapshots": ["Snapshot", "load_snapshot"],
    },
)
