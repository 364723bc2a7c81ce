"""Check what this machine can enforce on labs, by attacking a small one."""

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
from assay.lab.interface import Completed, Lab, Limits, SandboxName, Sealing, Setup
from assay.lab.lab import open_lab
from assay.lab.sandboxes import AUTO
from assay.lab.sandboxes.base import find_tool
from assay.lab.sandboxes.choice import choose_sandbox, examine_sandboxes

CheckState = Literal["ok", "optional", "degraded", "missing"]

_SMALL = Limits(memory=64 * 2**20, processes=24, cores=0.25, disk=16 * 2**20, file_size=64 * 2**20)
# Each tries to exceed a limit of the small lab; one that is not stopped runs until its timeout.
_ATTACKS = {
    "memory": "tail --bytes 200M /dev/zero",
    "processes": "for i in $(seq 30); do sleep 60 & done",
    "disk": "head --bytes 32M /dev/zero > full && sleep 60",
}
_AS_ROOT = "run as root, or ask an administrator to delegate control groups to you"


@dataclass(frozen=True)
class Diagnosis:
    """The result of one check: its state, what was found, and what to do about it."""

    name: str
    state: CheckState
    detail: str
    remedy: str = ""


def diagnose(home: Home, sandbox: SandboxName = AUTO) -> list[Diagnosis]:
    """Check everything that labs need on this machine, and attack one in this sandbox; takes a few seconds."""
    checks = *_check_sandboxes(home), *_check_programs()
    return [*checks, *anyio.run(_check_lab, home, sandbox), _check_environment(home), _check_gpus()]


def _check_sandboxes(home: Home) -> Iterator[Diagnosis]:
    """Yield which sandboxes work, and which of them labs get unless they ask for another."""
    candidates = examine_sandboxes(home)
    for candidate in candidates:
        state: CheckState = "ok" if candidate.works else "optional"
        remedy = "" if candidate.works else "only needed where no stronger sandbox works"
        yield Diagnosis(f"sandbox {candidate.name}", state, candidate.detail, remedy)
    try:
        choice = choose_sandbox(home)
    except LabError as error:
        yield Diagnosis("sandbox", "missing", "none works", str(error))
        return
    state = "degraded" if choice.reason else "ok"
    remedy = "install or enable a stronger sandbox" if choice.reason else ""
    yield Diagnosis("sandbox", state, f"{choice.name}, the strongest that works; {choice.reason}".strip("; "), remedy)


def _check_programs() -> Iterator[Diagnosis]:
    for name in ("prlimit", *(("setpriv",) if os.geteuid() == 0 else ())):
        try:
            yield Diagnosis(name, "ok", find_tool(name))
        except LabError as error:
            yield Diagnosis(name, "missing", "not installed", str(error))


async def _check_lab(home: Home, sandbox: SandboxName) -> list[Diagnosis]:
    try:
        with _placeholder_environment() as environment:
            async with open_lab(home, Setup(environment, limits=_SMALL), sandbox) as lab:
                return [finding async for finding in _attack(lab)]
    except LabError as error:
        return [Diagnosis("lab", "missing", "a lab cannot be opened", str(error))]


async def _attack(lab: Lab) -> AsyncIterator[Diagnosis]:
    sh = partial(_shell, lab)
    yield Diagnosis("lab", "ok", f"sealed: {lab.sealing.sandbox}, opens as {lab.sealing.enforced['user']}")
    # A lab without a network namespace has no sockets, and cannot read this file.
    seen = await sh("tail -n +3 /proc/net/dev | cut -d : -f 1 | xargs")
    detail = lab.sealing.enforced["network"]
    yield _protection("network", seen.stdout.text in ("lo\n", "\n"), detail, f"code in a lab sees {seen.stdout.text}")
    filtered = await sh("! unshare --user true")
    yield _protection(
        "system calls", filtered.succeeded, lab.sealing.enforced["system calls"], "the filter is not active"
    )
    for name, attack in _ATTACKS.items():
        ended = await sh(attack)
        yield _limit(lab, name, held=not ended.succeeded and ended.ended != "time")
    for name, reason in lab.sealing.missing.items():
        if name not in (*_ATTACKS, "cpu"):
            yield Diagnosis(f"not enforced: {name}", "degraded", reason, "use a sandbox with namespaces")
    # On a busy machine the loop gets little processor time without any limit, so that alone proves nothing.
    spun = await sh("timeout 1 sh -c 'while :; do :; done'; times")
    yield _limit(lab, "cpu", held=cpu_limit_holds(lab.sealing, _seconds_of_children(spun)))


def cpu_limit_holds(sealing: Sealing, seconds: float) -> bool:
    """Whether a loop in the small lab was limited to a quarter of a core in a second, and not merely by load."""
    return "cpu" in sealing.enforced and seconds < 0.6


def _check_environment(home: Home) -> Diagnosis:
    try:
        return Diagnosis("environment core", "ok", str(environments.find_environment(home, "core")))
    except AssayError as error:
        return Diagnosis("environment core", "missing", "not built", str(error))


def _check_gpus() -> Diagnosis:
    numbers = gpu_numbers()
    if not numbers:
        return Diagnosis(
            "gpus", "optional", "none (only needed for trials with --gpus)", "install the driver if there are GPUs"
        )
    if lost := [node for node in gpu_nodes(numbers) if not os.access(node, os.R_OK | os.W_OK)]:
        return Diagnosis("gpus", "missing", f"{lost[0]} cannot be opened", f"make {lost[0]} readable and writable")
    return Diagnosis("gpus", "ok", f"{len(numbers)}; each trial sees only its own")


def _protection(name: str, holds: bool, detail: str, failure: str) -> Diagnosis:
    if holds:
        return Diagnosis(name, "ok", detail)
    return Diagnosis(name, "missing", failure, "labs on this machine are not sealed; please report this")


def _limit(lab: Lab, name: str, held: bool) -> Diagnosis:
    means = lab.sealing.enforced.get(name) or lab.sealing.missing.get(name, "")
    if not held:
        return Diagnosis(f"{name} limit", "missing", f"not enforced: {means}", _AS_ROOT)
    weaker = "polled" in means
    return Diagnosis(f"{name} limit", "degraded" if weaker else "ok", means, _AS_ROOT if weaker else "")


async def _shell(lab: Lab, script: str, seconds: float = 15) -> Completed:
    return await lab.run(["/bin/sh", "-c", script], seconds=seconds)


def _seconds_of_children(done: Completed) -> float:
    """Return the processor time in the last line of the shell's `times`, e.g. `0m0.250s 0m0.010s`."""
    minutes, _, seconds = done.stdout.text.splitlines()[-1].split()[0].rstrip("s").partition("m")
    return 60 * float(minutes) + float(seconds)


@contextmanager
def _placeholder_environment() -> Iterator[Path]:
    """Yield a folder that is accepted as an environment, so that labs can be checked before one is built."""
    folder = Path(tempfile.mkdtemp(prefix="assay-doctor-", dir="/var/tmp"))
    try:
        (folder / "bin").mkdir()
        (folder / "bin/python").touch()
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)
