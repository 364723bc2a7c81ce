"""The pytest plug-in: the fixture `assay_try`, a regression test for agents. It imports nothing before its use."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from assay.regression import Attempt


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the folder with the histories."""
    parser.getgroup("assay").addoption(
        "--assay-history",
        metavar="DIR",
        default=None,
        help="Folder with the histories of agents that the fixture assay_try tries.  [default: runs/try]",
    )


@pytest.fixture
def assay_try(pytestconfig: pytest.Config) -> "Callable[..., Attempt]":
    """Try an agent as `assay try` does: `assay_try("my_agent.py:Agent", tasks=[…], seeds=…, label=…, against=…)`.

    Files are relative to pytest's root folder. The result has `outcome`, `sentence`, `broken`, `failed`, `change` and
    `rows`. A paid model is refused unless `allow_cost` is passed.
    """

    def assay_try(agent: str, **options: Any) -> "Attempt":
        from assay.core.plugins import split_path
        from assay.regression import try_agent
        from assay.regression.history import name_history

        name, comma, settings = agent.partition(",")
        folder = Path(pytestconfig.getoption("--assay-history") or pytestconfig.rootpath / "runs" / "try")
        if file := split_path(name):
            name = f"{pytestconfig.rootpath / file[0]}:{file[1]}"
        options.setdefault("history", folder / name_history(name))
        return try_agent(name + comma + settings, **options)

    return assay_try
