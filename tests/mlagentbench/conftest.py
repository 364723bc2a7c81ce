"""What tests of this suite share: a home in which a module prepares miniatures."""

from collections.abc import Callable

import pytest

from assay.core.home import Home


@pytest.fixture(scope="module")
def miniature_home(shared_home: Callable[[str], Home], request: pytest.FixtureRequest) -> Home:
    """A home for the tests of a module, which all workers share."""
    return shared_home(f"mlagentbench-{request.module.__name__}")
