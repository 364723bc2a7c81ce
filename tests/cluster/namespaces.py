"""Private network, process and host name namespaces for a cluster on this machine, which leave nothing behind."""

import subprocess
from pathlib import Path

ADDRESS = "10.99.0.1"
SCRATCH = "/mnt"
"""An empty folder that exists only inside the namespaces."""

_UNSHARE = ("unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
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


class Namespaces:
    """Namespaces that exist until they are closed; `inside` is the prefix of commands that run in them."""

    def __init__(self, *, route: bool = False) -> None:
        inside = _INSIDE.replace("$ROUTE", f"ip route add default dev lo src {ADDRESS}" if route else "")
        self._first = subprocess.Popen([*_UNSHARE, "sh", "-ec", inside], stdout=subprocess.PIPE, text=True)
        assert self._first.stdout is not None and self._first.stdout.readline() == "ready\n"
        children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children")
        self.inside = ["nsenter", "--target", children.read_text().strip(), "--all", "--wd=."]

    def close(self) -> None:
        """Kill everything: the kernel ends a process namespace with its first process."""
        self._first.kill()
        self._first.communicate()
