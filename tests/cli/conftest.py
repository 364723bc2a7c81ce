"""The command line in this process; see `in_process`."""

import pytest

from assay.core.home import Home
from in_process import Assay, make_caller


@pytest.fixture
def assay_prepared_here(
    prepared_home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Assay:
    """The `assay` command on the prepared home, in this process."""
    return make_caller(prepared_home, monkeypatch, capsys)
