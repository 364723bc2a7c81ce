"""Helpers that run code in a lab and look for its processes on the host."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from assay.lab import Completed, Lab, Limits

EVERY_SANDBOX = pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "podman"])
"""Runs an attack in every sandbox that seals."""
WITHOUT_ENGINE = pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
"""Runs an attack in the sandboxes that need no container engine, whose containers start slowly."""
WITH_NAMESPACES = pytest.mark.parametrize("sandbox", ["bubblewrap", "podman"])
"""Runs an attack on what only namespaces separate; `landlock` records that it does not."""

Open = Callable[..., AbstractAsyncContextManager[Lab]]

SMALL = Limits(memory=200 * 10**6, processes=64, cores=1, disk=16 * 10**6, file_size=64 * 10**6, output=10**6)


async def python(lab: Lab, code: str, *words: str | Path, seconds: float = 30) -> Completed:
    """Run Python code in the lab."""
    return await lab.run(["python", "-c", code, *map(str, words)], seconds=seconds)


async def shell(lab: Lab, script: str, seconds: float = 30) -> Completed:
    """Run a shell script in the lab."""
    return await lab.run(["/bin/sh", "-c", script], seconds=seconds)


def host_processes(word: str) -> Sequence[int]:
    """Return the processes on the host that have `word` in their command line."""
    pids = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes():
                pids.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return pids
