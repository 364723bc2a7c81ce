"""Fixtures for tests of models: API keys that the test server accepts, the routes to it, and scripts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from routes import ROUTES
from server import KEY


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def api_keys(monkeypatch):
    """Valid API keys, and nothing else in the environment that providers look at."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LOCAL_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "INSPECT_EVAL_MODEL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=ROUTES, ids=lambda route: route.label)
def route(request):
    """Each route in turn."""
    return request.param


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Writes a script and returns the name of the model that follows it."""

    def write(*replies: object, name: str = "replies.json") -> str:
        (tmp_path / name).write_text(json.dumps(replies))
        return f"scripted/{tmp_path / name}"

    return write
