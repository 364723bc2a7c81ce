"""What a run is asked to do, and the trials that follow from it."""

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import __version__
from assay.agents import Agent, find_agent
from assay.data.store import Prepared, prepared
from assay.disk import sha256_of
from assay.errors import CallError
from assay.home import Home
from assay.lab.environments import environment
from assay.lab.interface import SandboxName
from assay.records import TrialFile, trial_id
from assay.tasks import Budget, Task


@dataclass(frozen=True)
class Plan:
    """Tasks × agents × models × seeds, and what differs from the tasks' own settings.

    A choice of models names one for each role; agents that ask none are tried once, whatever the models.
    """

    tasks: tuple[Task, ...]
    agents: tuple[tuple[str, Mapping[str, Any]], ...]
    models: tuple[Mapping[str, str], ...] = ()
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    time: float | None = None
    steps: int | None = None
    working: float | None = None
    tokens: int | None = None
    cost: float | None = None
    edition: str | None = None
    variant: str = "real"
    sandbox: SandboxName = "bubblewrap"
    tasks_folder: Path | None = None

    def trials(self, home: Home) -> Iterator[TrialFile]:
        """Every trial of the plan, in the order in which they are started: all tasks once before the next seed."""
        data = {task.id: prepared(home, task, self.edition, self.variant) for task in self.tasks}
        places = {task.environment: environment(home, task.environment) for task in self.tasks}
        agents = [(name, find_agent(name, settings)) for name, settings in self.agents]
        if any(agent.asks_models for _, agent in agents):
            self._check_models()
        for seed in range(1, self.seeds + 1):
            for task in self.tasks:
                for name, agent in agents:
                    for models in self._models_for(name, agent):
                        place = places[task.environment].name
                        yield self._trial(task, data[task.id], place, name, agent, models, seed)

    def _models_for(self, name: str, agent: Agent) -> Iterable[Mapping[str, str]]:
        if not agent.asks_models:
            return [{}]
        if not self.models:
            raise CallError(f"agent {name} needs a model; name one with --model PROVIDER/MODEL, such as openai/gpt-5")
        return self.models

    def _check_models(self) -> None:
        from assay.models import Models, ModelSettings, Prices

        settings = ModelSettings.model_validate(dict(self.model_settings))
        for models in self.models:
            Models(models, settings, prices=Prices.load()).check()

    def _trial(
        self,
        task: Task,
        data: Prepared,
        environment_name: str,
        name: str,
        agent: Agent,
        models: Mapping[str, str],
        seed: int,
    ) -> TrialFile:
        limits = {"working": self.working, "tokens": self.tokens, "cost": self.cost}
        asked_for = {"time": self.time, "steps": self.steps} | (limits if models else {})
        given = {limit: amount for limit, amount in asked_for.items() if amount is not None}
        budget = Budget.model_validate(task.budget.model_dump() | given)
        asked = {
            "task": task.id,
            "edition": data.edition,
            "variant": data.variant,
            "agent": name,
            "settings": agent.model_dump(mode="json"),
            "models": dict(models),
            "model_settings": dict(self.model_settings) if models else {},
            "seed": seed,
            "budget": budget.model_dump(exclude_none=True),
            "resources": task.resources.model_dump(),
            "environment": environment_name,
            "sandbox": self.sandbox,
        }
        return TrialFile.model_validate(
            asked
            | {
                "id": trial_id(asked),
                "label": agent.label(name) + (f" · {models['main']}" if models else ""),
                "tasks_folder": str(self.tasks_folder) if self.tasks_folder else None,
                "origins": {
                    f"budget.{limit}": "flag" if limit in given else "task.toml" for limit in budget.model_dump()
                },
                "versions": {"assay": __version__, "python": platform.python_version(), "system": platform.platform()},
                "hashes": {
                    "task": sha256_of(task.folder / "task.toml"),
                    "description": sha256_of(task.folder / "description.md"),
                    "data": sha256_of(data.folder / "manifest.json"),
                },
            }
        )
