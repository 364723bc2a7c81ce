"""Fixtures for fault injection: a small run, and a machine with disks that can be removed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from machine import Machine

from assay.core.home import Home
from tiny_run import TinyRun

BUSY = Path(__file__).with_name("busy.py")


@pytest.fixture
def machine(tiny: TinyRun) -> Iterator[Machine]:
    """A machine in whose namespace disks are mounted."""
    with Machine() as computer:
        yield computer


@pytest.fixture
def on_disk(machine: Machine, home: Home, tiny: TinyRun, tmp_path: Path) -> Iterator[TinyRun]:
    """A run whose folder is on the disk that a test mounts at `tmp_path / "disk"` in the machine."""
    (tmp_path / "disk").mkdir()
    run = TinyRun(home, tmp_path / "disk" / "run", inside=machine.inside, root=machine.root)
    yield run
    run.close()


@pytest.fixture
def busy() -> Callable[[str], str]:
    """Returns the name of an agent of `busy.py`."""
    return lambda agent: f"{BUSY}:{agent}"
