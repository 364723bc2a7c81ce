"""Sandboxes, which confine the commands of a lab: bubblewrap (the default), Docker or Podman, and none.

`base.py` has the interface; `assay.lab.lab` creates the sandbox that a caller names. With `none`, nothing is confined,
and every record says so. `bwrap_args.py` and `seccomp.py` define what a bubblewrap lab sees and may call.
"""

from assay.lab.sandboxes.base import Sandbox, StartedCommand

__all__ = ["Sandbox", "StartedCommand"]
