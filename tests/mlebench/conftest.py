"""The miniatures that all competition tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.home import Home

pytest.register_assert_rewrite("competition")

from competition import Miniatures  # noqa: E402 - its assertions are rewritten first


@pytest.fixture(scope="session")
def miniatures(shared_home: Callable[[str], Home]) -> Miniatures:
    """Every competition's miniature in one home, prepared when it is first asked for."""
    return Miniatures(shared_home("miniatures"))


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """An empty folder for raw data that a test writes."""
    folder = tmp_path / "raw"
    folder.mkdir()
    return folder
