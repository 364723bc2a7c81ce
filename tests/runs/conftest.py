"""A run of a task so small that it can be killed over and over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.home import Home
from tiny_run import TinyRun


@pytest.fixture
def tiny(home: Home, tmp_path: Path) -> Iterator[TinyRun]:
    """A prepared tiny suite and a folder for its run."""
    run = TinyRun(home, tmp_path / "run")
    assert run.call("prepare", "tiny").returncode == 0
    yield run
    run.close()
