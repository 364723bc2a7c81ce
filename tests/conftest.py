"""What tests share: a home of their own on this machine, and the real command line."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from assay.core.home import Home
from assay.lab.host import slots

hypothesis.settings.register_profile("assay", deadline=None)  # machines are noisy: time proves nothing
hypothesis.settings.load_profile("assay")

Assay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home() -> Iterator[Home]:
    """A fresh home that borrows the machine's built environments and downloads, so that nothing is installed twice."""
    with fresh_home() as made:
        yield made


@pytest.fixture(scope="session")
def prepared_home() -> Iterator[Home]:
    """A home in which the pocket suite is prepared; tests must not change it."""
    with fresh_home() as made:
        result = run_assay(made, "prepare", "pocket")
        assert result.returncode == 0, result.stderr
        yield made


@pytest.fixture
def assay(home: Home) -> Assay:
    """The `assay` command on a fresh home, in a process of its own."""
    return lambda *words, **options: run_assay(home, *words, **options)


@pytest.fixture
def assay_prepared(prepared_home: Home) -> Assay:
    """The `assay` command on the prepared home."""
    return lambda *words, **options: run_assay(prepared_home, *words, **options)


class fresh_home:  # noqa: N801 - used as a function
    """A home folder that labs of another user can pass through, unlike pytest's own temporary folders."""

    def __enter__(self) -> Home:
        self.root = Path(tempfile.mkdtemp(prefix="assay-test-", dir="/var/tmp"))
        self.root.chmod(0o755)
        machine, home = Home.default(), Home(self.root)
        (self.root / "environments").symlink_to(machine.environments)
        (self.root / "downloads").symlink_to(machine.downloads)
        return home

    def __exit__(self, *error: object) -> None:
        # Labs of processes that a test killed leave mounts behind; the next lab to open would clear them away.
        slots.sweep(Home(self.root))
        shutil.rmtree(self.root)


def run_assay(home: Home, *words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command line and capture what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, words)],
        env=os.environ | {"ASSAY_HOME": str(home.root), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=600,
        **options,  # type: ignore[call-overload]
    )
