"""Fixtures for tests of agents: trials of the tiny coin task in a real sealed lab, with scripted models."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from assay.agents import Agent, Workbench
from assay.agents.recorder import Recorder
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import load_prepared, prepare
from assay.lab import Lab, Setup, find_environment, open_lab
from assay.models import Models, Prices
from assay.records import Clock, EventLog, OutOfBudget, read_events
from assay.records.events import Started
from assay.records.prompts import Prompts
from assay.records.tape import finished_calls, past_of
from assay.runs.trial_setup import write_starting_files
from assay.tasks import Budget, Registry, Task

STARTED = Started(trial="test", trial_file_sha256="0" * 64, attempt=1)
TESTS = Path(__file__).parent.parent
sys.path.append(str(TESTS / "models"))  # for the test server with OpenAI's and Anthropic's protocols
PRICES = Prices()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def coin() -> Task:
    """The coin task."""
    return Registry([TESTS / "tiny"]).task("tiny/coin")


@pytest.fixture(scope="session")
def coin_home(shared_home: Callable[[str, Callable[[Home], object]], Home], coin: Task) -> Home:
    """A home in which the coin task is prepared."""
    return shared_home("coin", lambda home: prepare(home, coin, progress=NoProgress()))


class Trial:
    """A trial that a test runs step by step, as often as it likes: each time it resumes from its record."""

    def __init__(self, home: Home, task: Task, folder: Path) -> None:
        self.home, self.task, self.folder = home, task, folder
        self.events = folder / "events.jsonl"
        self.budget = Budget(time=600, steps=50)
        self.lab_wishes: dict[str, object] = {}
        self.form: Callable[[bytes], str | None] = lambda content: None

    @asynccontextmanager
    async def bench(
        self, roles: dict[str, str] | None = None, *, models: Models | None = None, terminal: Path | None = None
    ) -> AsyncIterator[Workbench]:
        """Open a workbench in a new lab."""
        past = past_of(read_events(self.events))
        data = load_prepared(self.home, self.task).public
        setup = Setup(find_environment(self.home, self.task.environment), data=data, **self.lab_wishes)
        with EventLog(self.events, 1) as log:
            log.append(STARTED)
            async with open_lab(self.home, setup) as lab:
                await write_starting_files(lab, self.task)
                models = models or (Models(roles, prices=PRICES) if roles else None)
                bench = Workbench(
                    self.task,
                    lab,
                    Recorder(log, lab, Clock(self.budget), self.folder / "snapshots", past),
                    seed=0,
                    check_format=self.form,
                    models=models,
                )
                bench.terminal = terminal or bench.terminal
                self.lab: Lab = lab
                yield bench
                if models:
                    await models.close()

    async def work(self, agent: Agent, roles: dict[str, str] | None = None, **more: object) -> dict[str, bytes]:
        """Run an agent to its end, and return the content of the workspace."""
        async with self.bench(roles, **more) as bench:
            with suppress(OutOfBudget):
                await agent.work(bench)
            return await self.workspace()

    async def workspace(self) -> dict[str, bytes]:
        """Return the files of the open lab."""
        return {str(path): await self.lab.read(str(path), max_size=10**8) async for path in self.lab.files()}

    def calls(self, kind: str) -> list[dict]:
        """Return every finished call of a type: its request and result, what was used, and for models the prompt."""
        events = read_events(self.events)
        prompts = Prompts(events)
        calls = []
        for _, call in finished_calls(events):
            if call.request.type != kind:
                continue
            request, result = call.request.model_dump(mode="json"), call.result.model_dump(mode="json")
            about = {**request, **(request.get("data") or {}), "step": call.step}
            if kind == "model":
                about["messages"] = [message.model_dump(mode="json") for message in prompts.messages(call.number)]
                result |= result["reply"] or {}
            calls.append({**request, **result, "about": about, "used": call.used.model_dump()})
        return calls

    def actions(self) -> list[tuple[str, str | None]]:
        """Return the actions so far, each with the cause of its failure."""
        return [(action["name"], action["cause"]) for action in self.calls("action")]


@pytest.fixture
def trial(coin_home: Home, coin: Task, tmp_path: Path) -> Trial:
    """A fresh trial of the coin task."""
    (tmp_path / "trial").mkdir()
    return Trial(coin_home, coin, tmp_path / "trial")


@pytest.fixture
def digits_trial(pocket_home: Home, tmp_path: Path) -> Trial:
    """A fresh trial of the digits of the pocket suite."""
    (tmp_path / "trial").mkdir()
    return Trial(pocket_home, Registry().task("pocket/digits"), tmp_path / "trial")


Script = Callable[..., str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Writes a list of replies to a file and returns the name of the scripted model that gives them in order."""

    def write(*replies: object, name: str = "main") -> str:
        (tmp_path / f"{name}.json").write_text(json.dumps(replies))
        return f"scripted/{tmp_path / name}.json"

    return write
