"""What this machine can enforce on labs, found out by trying each wall in a small one."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import anyio

from assay.core.errors import AssayError, LabError
from assay.core.home import Home
from assay.lab import environments
from assay.lab.host.gpus import gpu_nodes, gpu_numbers
from assay.lab.interface import Completed, Lab, Limits, Setup
from assay.lab.lab import open_lab
from assay.lab.sandboxes import bwrap_args, docker
from assay.lab.sandboxes.base import tool

State = Literal["ok", "degraded", "missing"]

_SMALL = Limits(memory=64 * 2**20, processes=24, cores=0.25, disk=16 * 2**20, file_size=64 * 2**20)
# Each would take more than a small lab has; one that is not stopped goes on until its time is over.
_ATTACKS = {
    "memory": "tail --bytes 200M /dev/zero",
    "processes": "for i in $(seq 30); do sleep 60 & done",
    "disk": "head --bytes 32M /dev/zero > full && sleep 60",
}
_AS_ROOT = "run as root, or have an administrator delegate control groups to you"


@dataclass(frozen=True)
class Diagnosis:
    """One thing labs need: whether it is there, what was seen, and what to do if it is not."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def diagnose(home: Home) -> list[Diagnosis]:
    """Try everything a lab needs on this machine; takes a few seconds."""
    return [*_programs(), *anyio.run(_walls, home), _environment(home), _engine(), _gpus()]


def _programs() -> Iterator[Diagnosis]:
    try:
        path = bwrap_args.program()
        yield Diagnosis("bubblewrap", "ok", f"{path}, version {'.'.join(map(str, bwrap_args.version(path)))}")
    except LabError as error:
        yield Diagnosis("bubblewrap", "missing", "not installed, or too old", str(error))
    for name in ("prlimit", *(("setpriv",) if os.geteuid() == 0 else ())):
        try:
            yield Diagnosis(name, "ok", tool(name))
        except LabError as error:
            yield Diagnosis(name, "missing", "not installed", str(error))


async def _walls(home: Home) -> list[Diagnosis]:
    try:
        with _stand_in() as environment:
            async with open_lab(home, Setup(environment, limits=_SMALL)) as lab:
                return [finding async for finding in _try_walls(lab)]
    except LabError as error:
        return [Diagnosis("lab", "missing", "no lab can be opened", str(error))]


async def _try_walls(lab: Lab) -> AsyncIterator[Diagnosis]:
    sh = partial(_shell, lab)
    yield Diagnosis("lab", "ok", f"opens, as {lab.sealing.enforced['user']}")
    seen = await sh("tail -n +3 /proc/net/dev | cut -d : -f 1 | xargs")
    yield _wall("network", seen.stdout.text == "lo\n", "none but its own loopback", f"it sees {seen.stdout.text}")
    filtered = await sh("grep -q '^Seccomp:.*2' /proc/self/status && ! unshare --user true")
    yield _wall("system calls", filtered.succeeded, lab.sealing.enforced["system calls"], "the filter is not in force")
    for name, attack in _ATTACKS.items():
        ended = await sh(attack)
        yield _limit(lab, name, held=not ended.succeeded and ended.ended != "time")
    spun = await sh("timeout 1 sh -c 'while :; do :; done'; times")
    yield _limit(lab, "cpu", held=_seconds_of_children(spun) < 0.6)


def _environment(home: Home) -> Diagnosis:
    try:
        return Diagnosis("environment core", "ok", str(environments.find_environment(home, "core")))
    except AssayError as error:
        return Diagnosis("environment core", "missing", "not built", str(error))


def _engine() -> Diagnosis:
    try:
        return Diagnosis("container engine", "ok", docker.engine())
    except LabError as error:
        return Diagnosis("container engine", "degraded", "none; only --sandbox docker needs one", str(error))


def _gpus() -> Diagnosis:
    numbers = gpu_numbers()
    if not numbers:
        return Diagnosis(
            "gpus", "degraded", "none; only trials with --gpus need any", "install the driver if there are"
        )
    if lost := [node for node in gpu_nodes(numbers) if not os.access(node, os.R_OK | os.W_OK)]:
        return Diagnosis("gpus", "missing", f"{lost[0]} cannot be opened", f"make it readable and writable: {lost[0]}")
    return Diagnosis("gpus", "ok", f"{len(numbers)}, each trial gets the nodes of its own and no others")


def _wall(name: str, holds: bool, detail: str, failure: str) -> Diagnosis:
    if holds:
        return Diagnosis(name, "ok", detail)
    return Diagnosis(name, "missing", failure, "please report this: a lab on this machine is not sealed")


def _limit(lab: Lab, name: str, held: bool) -> Diagnosis:
    means = lab.sealing.enforced.get(name) or lab.sealing.missing.get(name, "")
    if not held:
        return Diagnosis(f"{name} limit", "missing", f"not enforced: {means}", _AS_ROOT)
    weaker = "polled" in means
    return Diagnosis(f"{name} limit", "degraded" if weaker else "ok", means, _AS_ROOT if weaker else "")


async def _shell(lab: Lab, script: str, seconds: float = 15) -> Completed:
    return await lab.run(["/bin/sh", "-c", script], seconds=seconds)


def _seconds_of_children(done: Completed) -> float:
    """Processor time from the second line of the shell's `times`, such as `0m0.250s 0m0.010s`."""
    minutes, _, seconds = done.stdout.text.splitlines()[-1].split()[0].rstrip("s").partition("m")
    return 60 * float(minutes) + float(seconds)


@contextmanager
def _stand_in() -> Iterator[Path]:
    """A folder that passes for an environment, so that labs can be tried before one is built."""
    folder = Path(tempfile.mkdtemp(prefix="assay-doctor-", dir="/var/tmp"))
    try:
        (folder / "bin").mkdir()
        (folder / "bin/python").touch()
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)
