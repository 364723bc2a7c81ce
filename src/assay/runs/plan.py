"""What a run is asked to do, and the trials that follow from it."""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import __version__
from assay.agents import Agent, find_agent
from assay.data.store import Prepared, prepared
from assay.disk import sha256_of
from assay.home import Home
from assay.lab.environments import environment
from assay.lab.interface import SandboxName
from assay.records import TrialFile, trial_id
from assay.tasks import Budget, Task


@dataclass(frozen=True)
class Plan:
    """Tasks × agents × seeds, and what differs from the tasks' own settings."""

    tasks: tuple[Task, ...]
    agents: tuple[tuple[str, Mapping[str, Any]], ...]
    seeds: int = 1
    time: float | None = None
    steps: int | None = None
    edition: str | None = None
    variant: str = "real"
    sandbox: SandboxName = "bubblewrap"
    tasks_folder: Path | None = None

    def trials(self, home: Home) -> Iterator[TrialFile]:
        """Every trial of the plan, in the order in which they are started: all tasks once before the next seed."""
        data = {task.id: prepared(home, task, self.edition, self.variant) for task in self.tasks}
        places = {task.environment: environment(home, task.environment) for task in self.tasks}
        agents = [(name, find_agent(name, settings)) for name, settings in self.agents]
        for seed in range(1, self.seeds + 1):
            for task in self.tasks:
                for name, agent in agents:
                    yield self._trial(task, data[task.id], places[task.environment].name, name, agent, seed)

    def _trial(
        self, task: Task, data: Prepared, environment_name: str, name: str, agent: Agent, seed: int
    ) -> TrialFile:
        budget = Budget(time=self.time or task.budget.time, steps=self.steps or task.budget.steps)
        asked = {
            "task": task.id,
            "edition": data.edition,
            "variant": data.variant,
            "agent": name,
            "settings": agent.model_dump(mode="json"),
            "models": {},
            "seed": seed,
            "budget": budget.model_dump(),
            "resources": task.resources.model_dump(),
            "environment": environment_name,
            "sandbox": self.sandbox,
        }
        return TrialFile.model_validate(
            asked
            | {
                "id": trial_id(asked),
                "label": agent.label(name),
                "tasks_folder": str(self.tasks_folder) if self.tasks_folder else None,
                "origins": {
                    "budget.time": "flag" if self.time else "task.toml",
                    "budget.steps": "flag" if self.steps else "task.toml",
                },
                "versions": {"assay": __version__, "python": platform.python_version(), "system": platform.platform()},
                "hashes": {
                    "task": sha256_of(task.folder / "task.toml"),
                    "description": sha256_of(task.folder / "description.md"),
                    "data": sha256_of(data.folder / "manifest.json"),
                },
            }
        )
