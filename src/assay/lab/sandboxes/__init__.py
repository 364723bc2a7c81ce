"""Sandboxes, which confine the commands of a lab: bubblewrap, Podman or Docker, Landlock, and none.

`base.py` has the interface, which a sandbox from outside implements too; `assay.lab.lab` creates the one that a caller
names, and `choice.py` finds the strongest that works here. With `none`, nothing is confined, and every record says so.
`bwrap_args.py` and `seccomp.py` define what a lab sees and may call.
"""

from typing import TYPE_CHECKING

from assay.core.errors import UsageError
from assay.core.plugins import Plugins

if TYPE_CHECKING:
    from assay.lab.interface import Layout
    from assay.lab.sandboxes.base import Sandbox

SANDBOXES: "Plugins[type[Sandbox]]" = Plugins("sandboxes", "sandbox")
AUTO = "auto"
"""Means the strongest sandbox that works on this machine; trials are planned and recorded with its own name."""


def check_sandbox(name: str) -> str:
    """Return `name`; raise `UsageError` unless it is `auto` or names a sandbox."""
    return name if name == AUTO else SANDBOXES.check(name)


def check_layout(name: str, layout: "Layout") -> None:
    """Raise `UsageError` if the labs of a sandbox cannot have a layout: it takes mounts of single files in `/home`."""
    if layout not in getattr(SANDBOXES.load(name), "layouts", ("workspace",)):
        raise UsageError(f"sandbox {name} cannot show the layout {layout}; pass --sandbox bubblewrap")
