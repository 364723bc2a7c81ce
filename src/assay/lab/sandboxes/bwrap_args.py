"""The arguments of `bwrap`, which define what exists in a lab: the lab itself and a minimal system, nothing else."""

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
from assay.lab.environments import INSIDE, TOOLS_INSIDE, WEIGHTS_INSIDE
from assay.lab.host.slots import LabSlot
from assay.lab.interface import Layout, Setup
from assay.lab.sandboxes.base import SYSTEM_PATH

WORKSPACE = "/workspace"
WORKSPACES: dict[Layout, str] = {"workspace": WORKSPACE, "mlebench": "/home"}
STATUS = "/lab"
# What a lab sees of the machine's own /etc: program alternatives, library paths, certificates, time zone.
ETC_FOLDERS = ("alternatives", "fonts", "ld.so.conf.d", "ssl/certs")
_ETC_COPIES = ("ld.so.cache", "ld.so.conf", "localtime")
_ETC_TEXTS = {
    "passwd": f"agent:x:1000:1000::{WORKSPACE}:/bin/bash\n",
    "group": "agent:x:1000:\n",
    "hosts": "127.0.0.1 localhost lab\n",
    "hostname": "lab\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")

_MIN_VERSION = (0, 8)
DESCRIPTION = "description.md"
_MAX_ENTRIES = 2500  # bwrap takes 9,000 arguments


def build_arguments(home: Home, slot: LabSlot, setup: Setup) -> list[str]:
    """Return the arguments of bwrap. The order matters: later mounts cover earlier ones."""
    tmpfs_size = str(max(setup.limits.memory // 4, 2**20))
    workspace = WORKSPACES[setup.layout]
    tools = ["--ro-bind", str(setup.tools.resolve()), TOOLS_INSIDE] if setup.tools else []
    weights = ["--ro-bind", str(setup.weights.resolve()), WEIGHTS_INSIDE] if setup.weights else []
    return [
        "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session",
        "--uid", "1000", "--gid", "1000", "--hostname", "lab", "--cap-drop", "ALL",
        "--ro-bind", "/usr", "/usr", *_hide(home), *_show_system(),
        "--ro-bind", str(make_etc(home)), "/etc",
        *(word for name in ETC_FOLDERS for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
        "--proc", "/proc", *_cover_proc(), "--dev", "/dev",
        *(word for device in setup.devices for word in ("--dev-bind", str(device), f"/dev/{device.name}")),
        "--perms", "1777", "--size", tmpfs_size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--perms", "1777", "--size", tmpfs_size, "--tmpfs", "/tmp", "--symlink", "/tmp", "/var/tmp",
        "--ro-bind", str(setup.environment.resolve()), INSIDE, *tools, *weights,
        "--ro-bind", str(slot.status), STATUS,
        "--bind", str(slot.workspace), workspace, *_mount_data(slot, setup, f"{workspace}/data"),
        *(word for path, folder in setup.links.items() for word in ("--symlink", f"{workspace}/{folder}", path)),
        "--remount-ro", "/", "--chdir", "/", "--clearenv",
    ]  # fmt: skip


def _mount_data(slot: LabSlot, setup: Setup, inside: str) -> list[str]:
    """Mount the data; as in MLE-bench's container, with the description among them."""
    if setup.data is None:
        return []
    if setup.layout == "workspace":
        return ["--ro-bind", str(setup.data.resolve()), inside]
    entries = sorted(setup.data.resolve().iterdir())
    if len(entries) > _MAX_ENTRIES:
        raise LabError(f"layout mlebench mounts at most {_MAX_ENTRIES} files and folders; the data have {len(entries)}")
    described = [*entries, slot.status / DESCRIPTION]
    mounts = (word for entry in described for word in ("--ro-bind", str(entry), f"{inside}/{entry.name}"))
    return ["--size", "1048576", "--tmpfs", inside, *mounts, "--remount-ro", inside]


def find_bwrap() -> str:
    """Return the path of a `bwrap` that is new enough."""
    bwrap = shutil.which("bwrap", path=SYSTEM_PATH)
    if bwrap is None:
        raise LabError(
            "bubblewrap is not installed; run: apt-get install bubblewrap (or: dnf install bubblewrap).\n"
            "Without it, use --sandbox docker, or --sandbox none, which seals nothing."
        )
    if version(bwrap) < _MIN_VERSION:
        needed, has = (".".join(map(str, numbers)) for numbers in (_MIN_VERSION, version(bwrap)))
        raise LabError(
            f"{bwrap} has version {has}; labs need {needed} to limit memory disks and to disable user namespaces"
        )
    return bwrap


@cache
def version(path: str) -> tuple[int, ...]:
    """Return the version of the `bwrap` at `path`."""
    output = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", output))


@cache
def find_python_packages() -> frozenset[Path]:
    """Return the folders of Python packages below /usr."""
    return frozenset(Path("/usr").glob("lib*/python3*/*-packages"))


def find_hidden_folders(home: Home) -> Iterator[Path]:
    """Yield the folders below /usr with software of the machine's owner, above all Assay and its data."""
    usr = Path("/usr")
    ours = Path(assay.__file__).resolve().parent.parent
    hidden = {usr / "local", *find_python_packages(), ours, home.root.resolve()}
    for folder in sorted(hidden):
        inside = usr in folder.parents
        if inside and folder.is_dir() and not any(above in hidden for above in folder.parents):
            yield folder


def _hide(home: Home) -> Iterator[str]:
    for folder in find_hidden_folders(home):
        yield from ("--size", "4096", "--tmpfs", str(folder), "--remount-ro", str(folder))


def _cover_proc() -> Iterator[str]:
    """Cover the files below /proc that reveal facts about the host and other labs: how it was booted, its disks."""
    for file in ("cmdline", "config.gz", "diskstats", "partitions"):
        if Path("/proc", file).exists():
            yield from ("--ro-bind", "/dev/null", f"/proc/{file}")
    if Path("/proc/fs").is_dir():
        yield from ("--size", "4096", "--tmpfs", "/proc/fs", "--remount-ro", "/proc/fs")


def system_links() -> dict[Path, Path]:
    """Return `/bin`, `/lib` etc. with where they lead, as far as they are links on this machine."""
    paths = [Path("/", name) for name in _SYSTEM_FOLDERS]
    return {path: path.readlink() for path in paths if path.is_symlink()}


def _show_system() -> Iterator[str]:
    """Reproduce `/bin`, `/lib` etc. as on the host: links into /usr, or folders on older systems."""
    for path, target in system_links().items():
        yield from ("--symlink", str(target), str(path))
    for path in (Path("/", name) for name in _SYSTEM_FOLDERS):
        if path.is_dir() and not path.is_symlink():
            yield from ("--ro-bind", str(path), str(path))


def make_etc(home: Home) -> Path:
    """Return a folder with the few files of /etc that programs need, which is created once."""
    stats = {name: (Path("/etc") / name).lstat() for name in _ETC_COPIES if (Path("/etc") / name).exists()}
    stamps = [ETC_FOLDERS, _ETC_TEXTS, {name: (stat.st_mtime_ns, stat.st_size) for name, stat in stats.items()}]
    folder = home.system / hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:24]
    if not folder.is_dir():
        temporary = home.system / f".{random_token()}"
        try:
            _write_etc(temporary).rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _write_etc(folder: Path) -> Path:
    for name in ETC_FOLDERS:
        (folder / name).mkdir(parents=True)
    for name, text in _ETC_TEXTS.items():
        (folder / name).write_text(text)
    for name in _ETC_COPIES:
        source = Path("/etc") / name
        if source.exists():
            shutil.copy(source, folder / name, follow_symlinks=name != "localtime")
    for path, _, files in os.walk(folder):
        Path(path).chmod(0o755)
        for name in files:
            if not (file := Path(path, name)).is_symlink():
                file.chmod(0o644)
    return folder
