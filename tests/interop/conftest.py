"""What tests of other people's tools share."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
