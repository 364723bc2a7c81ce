"""Labs, in which the code of agents runs: sandboxes, their Python environments, and snapshots of their workspaces.

Start reading at `interface.py` (what a lab offers) and `lab.py` (`open_lab`). `workspace.py` is the only module that
accesses the files of a workspace, `sandboxes/` confines commands, and `host/` has what a lab needs from the machine.

Names are imported on first use, so that building an environment needs nothing but the standard library.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.lab.environments import build_environment as build_environment
    from assay.lab.environments import find_environment as find_environment
    from assay.lab.interface import Completed as Completed
    from assay.lab.interface import Lab as Lab
    from assay.lab.interface import LabPaths as LabPaths
    from assay.lab.interface import Limits as Limits
    from assay.lab.interface import Output as Output
    from assay.lab.interface import Process as Process
    from assay.lab.interface import SandboxName as SandboxName
    from assay.lab.interface import Sealing as Sealing
    from assay.lab.interface import Setup as Setup
    from assay.lab.lab import open_lab as open_lab
    from assay.lab.snapshots import Snapshot as Snapshot
    from assay.lab.snapshots import load_snapshot as load_snapshot

__all__, __getattr__ = export_lazily(__name__, __file__)
