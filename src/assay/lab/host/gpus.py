"""The GPUs of this machine, and the device nodes that give a lab some of them."""

import re
from pathlib import Path

DEV = Path("/dev")
# Needed for any GPU; each machine has some of these.
_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")


def gpu_numbers(dev: Path = DEV) -> tuple[int, ...]:
    """Return the numbers of this machine's GPUs."""
    matches = (re.fullmatch(r"nvidia(\d+)", path.name) for path in dev.glob("nvidia*"))
    return tuple(sorted(int(match[1]) for match in matches if match))


def gpu_nodes(numbers: tuple[int, ...], dev: Path = DEV) -> tuple[Path, ...]:
    """Return the device nodes that give a lab exactly these GPUs; none if there are no GPUs to give."""
    if not numbers:
        return ()
    shared = (dev / name for name in _SHARED)
    return (*(dev / f"nvidia{number}" for number in numbers), *(path for path in shared if path.exists()))
