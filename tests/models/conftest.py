"""What tests of models share: keys that the test server accepts, the ways to reach it, and scripts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from server import KEY
from ways import WAYS


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """The keys of somebody, and nothing else of this machine's surroundings that providers look at."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LOCAL_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "INSPECT_EVAL_MODEL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=WAYS, ids=lambda way: way.label)
def way(request):
    """Each way in turn."""
    return request.param


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Writes a script and returns the name of the model that follows it."""

    def write(*replies: object, name: str = "replies.json") -> str:
        (tmp_path / name).write_text(json.dumps(replies))
        return f"scripted/{tmp_path / name}"

    return write
