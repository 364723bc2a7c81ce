"""Fixtures of the lab's tests: labs in a fresh home, and answers for attacks to look for."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from inside import Open

from assay.core.disk import random_token
from assay.core.home import Home
from assay.lab import Lab, Limits, SandboxName, Setup, find_environment, open_lab


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def core() -> Path:
    """The machine's built `core` environment."""
    return find_environment(Home.default(), "core")


@pytest.fixture
def sandbox() -> SandboxName:
    """The sandbox in which `opened` opens labs by default; a test may be parametrised with others."""
    return "bubblewrap"


@pytest.fixture
def opened(home: Home, core: Path, sandbox: SandboxName) -> Open:
    """Return a function that opens a lab in the fresh home."""

    def open_one(
        sandbox: SandboxName = sandbox,
        limits: Limits | None = None,
        data: Path | None = None,
        pinned: bool = False,
    ) -> AbstractAsyncContextManager[Lab]:
        return open_lab(home, Setup(core, data=data, limits=limits or Limits(), pinned=pinned), sandbox)

    return open_one


@pytest.fixture
def secret() -> str:
    """A word that code in a lab must never see."""
    return f"secret-{random_token()}"


@pytest.fixture
def answers(home: Home, secret: str) -> Path:
    """Answers in their real place: a private folder of the same home."""
    file = home.data / "mlebench/leaf-classification/v1/real/private/answers.csv"
    file.parent.mkdir(parents=True)
    file.write_text(secret)
    return file


@pytest.fixture
def public(home: Home, answers: Path) -> Path:
    """Public data as a task has it: a link whose path names the task, to a folder with a random name."""
    folder = home.public / random_token()
    folder.mkdir()
    (folder / "train.csv").write_text("id,y\n1,2\n")
    # Every user may write here, so that only the sandbox prevents it.
    folder.chmod(0o777)
    (folder / "train.csv").chmod(0o666)
    link = answers.parent.parent / "public"
    link.symlink_to(folder)
    return link
