"""A network, processes and a host name of their own on this machine: nothing is seen outside, nothing is left."""

import subprocess
from pathlib import Path

ADDRESS = "10.99.0.1"
SCRATCH = "/mnt"
"""A folder that is empty at first and goes away with the rest."""

_APART = ("unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
# Names are resolved only where there is an address other than 127.0.0.1, so the private network gets one. Where it also
# has a route, programs take it for a network, and wait for answers that do not come.
_INSIDE = f"""
hostname head
ip link set lo up
ip address add {ADDRESS}/32 dev lo
$ROUTE
mount -t tmpfs tmpfs {SCRATCH}
echo ready
exec sleep infinity
"""


class Apart:
    """Namespaces that last until they are closed; `inside` is what a command must begin with to run in them."""

    def __init__(self, *, route: bool = False) -> None:
        inside = _INSIDE.replace("$ROUTE", f"ip route add default dev lo src {ADDRESS}" if route else "")
        self._first = subprocess.Popen([*_APART, "sh", "-ec", inside], stdout=subprocess.PIPE, text=True)
        assert self._first.stdout is not None and self._first.stdout.readline() == "ready\n"
        children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children")
        self.inside = ["nsenter", "--target", children.read_text().strip(), "--all", "--wd=."]

    def close(self) -> None:
        """End everything: all processes are in a namespace that ends with its first one."""
        self._first.kill()
        self._first.communicate()
