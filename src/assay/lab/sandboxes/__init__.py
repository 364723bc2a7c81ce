"""Sandboxes, which confine the commands of a lab: bubblewrap (the default), Docker or Podman, and none.

`base.py` has the interface, which a sandbox from outside implements too; `assay.lab.lab` creates the one that a caller
names. With `none`, nothing is confined, and every record says so. `bwrap_args.py` and `seccomp.py` define what a
bubblewrap lab sees and may call.
"""

from typing import TYPE_CHECKING

from assay.core.plugins import Plugins

if TYPE_CHECKING:
    from assay.lab.sandboxes.base import Sandbox

SANDBOXES: "Plugins[type[Sandbox]]" = Plugins("sandboxes", "sandbox")
