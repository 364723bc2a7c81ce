"""The processes of a run: which there are, what each of them is, and what is left when all have ended."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.core.home import Home
from assay.lab.host import slots

PATIENCE = 90.0


@dataclass(frozen=True)
class ProcessEntry:
    """A process of this machine."""

    pid: int
    parent: int
    command: str
    variables: bytes

    @property
    def is_fork_server(self) -> bool:
        """Whether it is a fork server or was forked by one."""
        return "multiprocessing.forkserver" in self.command


def find_victims(home: Home) -> dict[int, str]:
    """Return the processes that work for a home, with their kinds, on whatever node of a cluster."""
    table = {entry.pid: entry for entry in _list_processes()}
    children: dict[int, list[int]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry.pid)
    needle = os.fsencode(home.root)
    kinds: dict[int, str] = {}
    for entry in table.values():
        if needle in entry.variables or needle in os.fsencode(entry.command):
            _collect(entry.pid, table, children, kinds)
    for pid, kind in list(kinds.items()):
        parent = table.get(table[pid].parent)
        if kind == "worker" and parent and ("submitit" in parent.command or "ray::" in parent.command):
            kinds[parent.pid] = "job"
    return kinds


def _collect(pid: int, table: dict[int, ProcessEntry], children: dict[int, list[int]], kinds: dict[int, str]) -> None:
    if pid in kinds:
        return
    entry = table[pid]
    if kind := _find_kind(entry, table.get(entry.parent), kinds.get(entry.parent)):
        kinds[pid] = kind
    for child in children.get(pid, ()):
        _collect(child, table, children, kinds)


def _find_kind(entry: ProcessEntry, parent: ProcessEntry | None, parent_kind: str | None) -> str | None:
    command = entry.command
    if command.startswith(("nsenter", "slurm", "/usr/sbin/slurm", "ray::IDLE")) or not command:
        return None
    if "read -r line" in command:
        return "watchdog"
    if "submitit" in command or "ray::TrialActor" in command:
        return "job"
    if "assay.runs.worker" in command:
        return "worker"
    if entry.is_fork_server:
        return "worker" if parent and parent.is_fork_server else "fork server"
    if "/lab/models" in command and "bwrap" not in command:
        return "endpoint"
    if "bwrap" in command or parent_kind in ("lab", "endpoint"):
        return "lab"
    if "provider.py" in command:
        return "provider"
    return "driver" if "-m\0assay\0" in command else "helper"


def find_remains(home: Home, run: Path) -> Iterator[str]:
    """Yield what is left of a complete run after the next lab would have cleaned up."""
    deadline = time.monotonic() + PATIENCE
    while (left := _workers(home)) and time.monotonic() < deadline:
        time.sleep(0.1)  # those of a killed driver may be ending
    yield from (f"{kind} {pid}" for pid, kind in left.items())
    names = [folder.name for folder in home.labs.iterdir()]
    slots.sweep(home)
    yield from (str(folder) for folder in home.labs.iterdir())
    mounts = Path("/proc/mounts").read_text().splitlines()
    yield from (line for line in mounts if str(home.labs) in line)
    if names:
        groups = (folder for folder, _, _ in os.walk("/sys/fs/cgroup"))
        yield from (folder for folder in groups if any(name in folder for name in names))
    for folder, folders, files in os.walk(run):
        folders[:] = [name for name in folders if name != "slurm"]  # Submitit keeps the scripts of its jobs
        yield from (f"{folder}/{name}" for name in files if name.startswith(".") and name != ".adding")


def _workers(home: Home) -> dict[int, str]:
    return {pid: kind for pid, kind in find_victims(home).items() if kind != "provider" and pid != os.getpid()}


def _list_processes() -> Iterator[ProcessEntry]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes().decode(errors="replace")
                yield ProcessEntry(int(folder.name), parent, command, (folder / "environ").read_bytes())
