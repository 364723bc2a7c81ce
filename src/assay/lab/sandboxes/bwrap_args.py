"""What exists in a bubblewrap lab, in the words of `bwrap`: the lab, a bare system, and nothing else of the machine."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import assay
from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.environments import INSIDE, TOOLS_INSIDE
from assay.lab.host.slots import LabSlot
from assay.lab.interface import Setup
from assay.lab.sandboxes.base import SYSTEM_PATH

WORKSPACE = "/workspace"
STATUS = "/lab"
# Of the machine's own /etc a lab sees these: which program goes by which name, where libraries are, whom to trust.
_ETC_FOLDERS = ("alternatives", "ld.so.conf.d", "ssl/certs")
_ETC_COPIES = ("ld.so.cache", "ld.so.conf", "localtime")
_ETC_TEXTS = {
    "passwd": f"agent:x:1000:1000::{WORKSPACE}:/bin/bash\n",
    "group": "agent:x:1000:\n",
    "hosts": "127.0.0.1 localhost lab\n",
    "hostname": "lab\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}

_OLDEST = (0, 8)


def walls(home: Home, slot: LabSlot, setup: Setup) -> list[str]:
    """What bwrap is told. The order matters: later mounts lie on top of earlier ones."""
    room = str(max(setup.limits.memory // 4, 2**20))
    data = ["--ro-bind", str(setup.data.resolve()), f"{WORKSPACE}/data"] if setup.data else []
    tools = ["--ro-bind", str(setup.tools.resolve()), TOOLS_INSIDE] if setup.tools else []
    return [
        "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session",
        "--uid", "1000", "--gid", "1000", "--hostname", "lab", "--cap-drop", "ALL",
        "--ro-bind", "/usr", "/usr", *_hide(home), *_system_links(),
        "--ro-bind", str(_etc(home)), "/etc",
        *(word for name in _ETC_FOLDERS for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
        "--proc", "/proc", "--dev", "/dev",
        *(word for device in setup.devices for word in ("--dev-bind", str(device), f"/dev/{device.name}")),
        "--perms", "1777", "--size", room, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--perms", "1777", "--size", room, "--tmpfs", "/tmp", "--symlink", "/tmp", "/var/tmp",
        "--ro-bind", str(setup.environment.resolve()), INSIDE, *tools,
        "--ro-bind", str(slot.status), STATUS,
        "--bind", str(slot.workspace), WORKSPACE, *data,
        "--remount-ro", "/", "--chdir", WORKSPACE, "--clearenv",
    ]  # fmt: skip


def program() -> str:
    """The path of a `bwrap` that is new enough."""
    found = shutil.which("bwrap", path=SYSTEM_PATH)
    if found is None:
        raise LabError(
            "bubblewrap is not installed; run: apt-get install bubblewrap (or: dnf install bubblewrap).\n"
            "Without it there is --sandbox docker, or --sandbox none, which seals nothing."
        )
    if version(found) < _OLDEST:
        needed, has = (".".join(map(str, numbers)) for numbers in (_OLDEST, version(found)))
        raise LabError(
            f"{found} has version {has}; labs need {needed}, which can limit memory disks and forbid namespaces"
        )
    return found


@cache
def version(path: str) -> tuple[int, ...]:
    """The version of the `bwrap` at `path`."""
    said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", said))


@cache
def installed() -> frozenset[Path]:
    """Where this machine has Python packages below /usr."""
    return frozenset(Path("/usr").glob("lib*/python3*/*-packages"))


def _hide(home: Home) -> Iterator[str]:
    """Cover the places below /usr that hold software of this machine's owner, Assay and its data above all."""
    usr = Path("/usr")
    ours = Path(assay.__file__).resolve().parent.parent
    hidden = {usr / "local", *installed(), ours, home.root.resolve()}
    for place in sorted(hidden):
        inside = usr in place.parents
        if inside and place.is_dir() and not any(above in hidden for above in place.parents):
            yield from ("--size", "4096", "--tmpfs", str(place), "--remount-ro", str(place))


def _system_links() -> Iterator[str]:
    """`/bin`, `/lib` and their like as the host has them: links into /usr, on older systems folders."""
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        place = Path("/") / name
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), str(place))
        elif place.is_dir():
            yield from ("--ro-bind", str(place), str(place))


def _etc(home: Home) -> Path:
    """A folder with the few files of /etc that programs need, and none that tell of this machine; made once."""
    found = {name: (Path("/etc") / name).lstat() for name in _ETC_COPIES if (Path("/etc") / name).exists()}
    stamps = [_ETC_FOLDERS, _ETC_TEXTS, {name: (stat.st_mtime_ns, stat.st_size) for name, stat in found.items()}]
    folder = home.system / hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:24]
    if not folder.is_dir():
        beside = home.system / f".{random_token()}"
        try:
            _make_etc(beside).rename(folder)
        except OSError:
            if not folder.is_dir():  # else somebody was quicker
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return folder


def _make_etc(folder: Path) -> Path:
    for name in _ETC_FOLDERS:
        (folder / name).mkdir(parents=True)
    for name, text in _ETC_TEXTS.items():
        (folder / name).write_text(text)
    for name in _ETC_COPIES:
        source = Path("/etc") / name
        if source.exists():
            shutil.copy(source, folder / name, follow_symlinks=name != "localtime")
    for place, _, files in os.walk(folder):
        Path(place).chmod(0o755)
        for name in files:
            if not (file := Path(place, name)).is_symlink():
                file.chmod(0o644)
    return folder
