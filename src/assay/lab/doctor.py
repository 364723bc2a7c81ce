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

from assay.errors import AssayError, LabError
from assay.home import Home
from assay.lab import docker, environments, walls
from assay.lab.interface import Completed, Lab, Limits, Setup
from assay.lab.opening import open_lab
from assay.lab.sandbox import tool

State = Literal["ok", "degraded", "missing"]

_SMALL = Limits(memory=64 * 2**20, processes=24, cores=0.25, disk=16 * 2**20, file_size=64 * 2**20)
_AS_ROOT = "run as root, or have an administrator delegate control groups to you"


@dataclass(frozen=True)
class Finding:
    """One thing labs need: whether it is there, what was seen, and what to do if it is not."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def examine(home: Home) -> list[Finding]:
    """Try everything a lab needs on this machine; takes a few seconds."""
    return [*_programs(), *anyio.run(_walls, home), _environment(home), _engine()]


def _programs() -> Iterator[Finding]:
    try:
        path = walls.program()
        found = ".".join(map(str, walls.version(path)))
        enough = walls.version(path) >= (0, 5)
        yield Finding(
            "bubblewrap",
            "ok" if enough else "missing",
            f"{path}, version {found}",
            "" if enough else "install 0.5 or newer",
        )
    except LabError as error:
        yield Finding("bubblewrap", "missing", "not installed", str(error))
    for name in ("prlimit", *(("setpriv",) if os.geteuid() == 0 else ())):
        try:
            yield Finding(name, "ok", tool(name))
        except LabError as error:
            yield Finding(name, "missing", "not installed", str(error))


async def _walls(home: Home) -> list[Finding]:
    try:
        with _stand_in() as environment:
            async with open_lab(home, Setup(environment, limits=_SMALL)) as lab:
                return [finding async for finding in _try_walls(lab)]
    except LabError as error:
        return [Finding("lab", "missing", "no lab can be opened", str(error))]


async def _try_walls(lab: Lab) -> AsyncIterator[Finding]:
    sh = partial(_shell, lab)
    yield Finding("lab", "ok", f"opens, as {lab.sealing.enforced['user']}")
    devices = (await sh("tail -n +3 /proc/net/dev")).stdout.text.split(":")[0].strip()
    yield _judged("network", devices == "lo", "none but its own loopback", f"the lab sees {devices}")
    filtered = (await sh("grep -q '^Seccomp:.*2' /proc/self/status && ! unshare --user true")).succeeded
    yield _judged("system calls", filtered, lab.sealing.enforced["system calls"], "the filter is not in force")
    limits = {
        "memory": ("tail --bytes 200M /dev/zero", 20.0),
        "processes": (
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do sleep 9 & done",
            20.0,
        ),
        "disk": ("head --bytes 32M /dev/zero > full && sleep 9", 20.0),
    }
    for name, (attack, seconds) in limits.items():
        ended = await sh(attack, seconds)
        means = lab.sealing.enforced.get(name, lab.sealing.missing.get(name, ""))
        yield _limit(name, held=not ended.succeeded and ended.ended != "time", means=means)
    used = await sh("timeout 1 sh -c 'while :; do :; done'; times")
    yield _limit(
        "cpu", _seconds_of_children(used) < 0.6, lab.sealing.enforced.get("cpu", lab.sealing.missing.get("cpu", ""))
    )


def _environment(home: Home) -> Finding:
    try:
        return Finding("environment core", "ok", str(environments.environment(home, "core")))
    except AssayError as error:
        return Finding("environment core", "missing", "not built", str(error))


def _engine() -> Finding:
    try:
        return Finding("container engine", "ok", docker.engine())
    except LabError as error:
        return Finding("container engine", "degraded", "none; only --sandbox docker needs one", str(error))


def _judged(name: str, holds: bool, detail: str, failure: str) -> Finding:
    remedy = "please report this: a lab on this machine is not sealed"
    return Finding(name, "ok", detail) if holds else Finding(name, "missing", failure, remedy)


def _limit(name: str, held: bool, means: str) -> Finding:
    if not held:
        return Finding(f"{name} limit", "missing", f"not enforced ({means})", _AS_ROOT)
    weaker = "polled" in means
    return Finding(f"{name} limit", "degraded" if weaker else "ok", means, _AS_ROOT if weaker else "")


async def _shell(lab: Lab, script: str, seconds: float = 10.0) -> Completed:
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
