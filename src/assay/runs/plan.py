"""A plan, and the trials that it expands to."""

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import __version__
from assay.agents import Agent, find_agent
from assay.core.errors import NotPrepared, UsageError
from assay.core.home import Home
from assay.data.store import Prepared, choose_variant, load_prepared
from assay.lab.environments import environment_folder, find_environment
from assay.lab.interface import SandboxName
from assay.models.settings import is_role
from assay.models.weights import hash_weights
from assay.records import TrialFile, trial_id
from assay.runs.descriptions import Describe, chosen_description, hash_of_description
from assay.runs.hashes import hash_inputs, hash_of_listing
from assay.tasks import Budget, Task


@dataclass(frozen=True)
class Plan:
    """Tasks × agents × models × seeds, and overrides of the tasks' own settings.

    Each entry of `models` maps roles to models. Agents that use no models run once, whatever the models.
    """

    tasks: tuple[Task, ...]
    agents: tuple[tuple[str, Mapping[str, Any]], ...]
    models: tuple[Mapping[str, str], ...] = ()
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    time: float | None = None
    steps: int | None = None
    working: float | None = None
    tokens: int | None = None
    cost: float | None = None
    edition: str | None = None
    variant: str | None = None
    sandbox: SandboxName = "bubblewrap"
    tasks_folder: Path | None = None
    environment: str | None = None
    weights: Path | None = None
    describe: Describe = "plain"
    descriptions: Path | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)

    def trials(self, home: Home, *, check_models: bool = True, check_built: bool = True) -> Iterator[TrialFile]:
        """Yield all trials in the order in which they start: all tasks with one seed before the next seed.

        Unless `check_models` is off, access to the models is checked first; unless `check_built` is off, the
        environments of labs must be built.
        """
        data = self._load_data(home)
        find_place = find_environment if check_built else environment_folder
        environments = {task.id: self.environment_of(task, data[task.id].variant) for task in self.tasks}
        places = {name: find_place(home, name) for name in dict.fromkeys(environments.values())}
        weights_digest = hash_of_listing(self.weights) if self.weights else None
        agents = [(name, find_agent(name, settings)) for name, settings in self.agents]
        if check_models and any(agent.model_use() != "none" for _, agent in agents):
            self._check_models()
        made = {
            (task.id, name): hash_inputs(task, data[task.id], places[environments[task.id]], name)
            for task in self.tasks
            for name, _ in agents
        }
        for seed in range(1, self.seeds + 1):
            for task in self.tasks:
                for name, agent in agents:
                    for models in self._models_for(name, agent):
                        place = places[environments[task.id]].name
                        needed = agent.requirements().tools
                        tools = find_environment(home, needed) if needed else None
                        weights = hash_weights(models, home)
                        hashes = made[task.id, name] | ({"weights": weights} if weights else {})
                        yield self._trial(
                            task, data[task.id], place, tools, name, agent, models, seed, hashes, weights_digest
                        )

    def _load_data(self, home: Home) -> dict[str, Prepared]:
        data: dict[str, Prepared] = {}
        missing: list[NotPrepared] = []
        for task in self.tasks:
            try:
                variant = choose_variant(home, task, self.edition, self.variant)
                data[task.id] = load_prepared(home, task, self.edition, variant)
            except NotPrepared as error:
                missing.append(error)
        if len(missing) > 1:
            raise NotPrepared(f"{len(missing)} of {len(self.tasks)} tasks are not ready; the first: {missing[0]}")
        if missing:
            raise missing[0]
        return data

    def environments(self, home: Home) -> list[str]:
        """Return the environments of the tasks' labs, by name or requirements file."""
        data = self._load_data(home)
        return list(dict.fromkeys(self.environment_of(task, data[task.id].variant) for task in self.tasks))

    def environment_of(self, task: Task, variant: str) -> str:
        """Return the environment of a task's labs: the plan's own, or that of the task for this variant."""
        return self.environment or task.environment_for(variant)

    def _models_for(self, name: str, agent: Agent) -> Iterable[Mapping[str, str]]:
        use = agent.model_use()
        if use == "none" or (use == "optional" and not self.models):
            return [{}]
        if not self.models:
            raise UsageError(f"agent {name} needs a model; pass --model PROVIDER/MODEL, e.g. openai/gpt-5")
        return self.models

    def _check_models(self) -> None:
        from assay.models import Models, Prices, settings_by_role

        settings = settings_by_role(self.model_settings)
        for models in self.models:
            Models(models, settings, prices=Prices()).check()

    def _trial(
        self,
        task: Task,
        data: Prepared,
        environment_name: str,
        tools: Path | None,
        name: str,
        agent: Agent,
        models: Mapping[str, str],
        seed: int,
        hashes: Mapping[str, str],
        weights_digest: str | None,
    ) -> TrialFile:
        required = agent.requirements()
        limits = {"working": self.working, "tokens": self.tokens, "cost": self.cost}
        asked_for = {"time": self.time, "steps": self.steps} | (limits if models else {})
        given = {limit: amount for limit, amount in asked_for.items() if amount is not None}
        budget = Budget.model_validate(task.budget_for(data.variant).model_dump() | given)
        asked = {
            "task": task.id,
            "edition": data.edition,
            "variant": data.variant,
            "agent": name,
            "settings": agent.model_dump(mode="json"),
            "models": dict(models),
            "model_settings": dict(self.model_settings) if models else {},
            "prices": dict(self.prices) if models else {},
            "seed": seed,
            "budget": budget.model_dump(exclude_none=True),
            "resources": task.resources.model_dump() | dict(self.resources),
            "resource_overrides": dict(self.resources),
            "environment": environment_name,
            "environment_from": self.environment,
            "weights": str(self.weights) if self.weights else None,
            "weights_digest": weights_digest,
            "sandbox": "none" if required.unsealed else self.sandbox,
            "network": required.network,
            "tools": tools.name if tools else None,
            **(description := chosen_description(data.task, self.describe, self.descriptions)),
            "hashes": {**hashes, "description": hash_of_description(data.task, description)},
        }
        return TrialFile.model_validate(
            asked
            | {
                "id": trial_id(asked),
                "label": agent.label(name) + (f" · {models['main']}" if models else ""),
                "tasks_folder": str(self.tasks_folder) if self.tasks_folder else None,
                "origins": self._origins(task, given),
                "versions": {"assay": __version__, "python": platform.python_version(), "system": platform.platform()},
            }
        )

    def _origins(self, task: Task, given: Mapping[str, Any]) -> dict[str, str]:
        """Return where each setting came from: a flag, plan file, environment, user config, the task, or a default."""
        defaults = Plan(tasks=(), agents=())
        named = ["agents", "models", "seeds", "edition", "variant", "sandbox"]
        named += ["environment", "weights", "describe", "descriptions"]
        chosen = {name: getattr(self, name) != getattr(defaults, name) for name in named}
        groups = (("budget", task.budget, given), ("resources", task.resources, self.resources))
        found = {name: self.origins.get(name, "flag" if chosen[name] else "default") for name in named}
        for name, value in self.model_settings.items():
            for key in [f"{name}.{own}" for own in value] if is_role(name, value) else [name]:
                found[f"model_settings.{key}"] = self.origins.get(f"model_settings.{key}", "flag")
        for group, own, ours in groups:
            for name in type(own).model_fields:
                fallback = "task.toml" if name in own.model_fields_set else "default"
                key = f"{group}.{name}"
                found[key] = self.origins.get(key, "flag") if name in ours else fallback
        return found
