"""A plan, and the trials that it expands to."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from assay.agents import Agent, Requirements, find_agent
from assay.core.errors import NotPrepared, UsageError
from assay.core.home import Home
from assay.data.selection import find_obstacle
from assay.data.store import Prepared, choose_variant, load_prepared
from assay.lab.environments import environment_folder, find_environment
from assay.lab.interface import Layout, SandboxName
from assay.lab.sandboxes import AUTO, check_layout
from assay.lab.sandboxes.choice import choose_sandbox
from assay.models.settings import is_role
from assay.models.weights import hash_weights
from assay.records import TrialFile, TrialPlan
from assay.records.state import Feedback, Keep, Selection, SubmitMode
from assay.runs.descriptions import Describe, choose_description, hash_description
from assay.runs.hashes import current_versions, hash_inputs, hash_of_listing
from assay.tasks import Budget, Task
from assay.tasks.model import Resources
from assay.tasks.registry import SUITES

_WITH_ORIGIN = (
    "agents",
    "models",
    "seeds",
    "edition",
    "variant",
    "sandbox",
    "layout",
    "environment",
    "weights",
    "describe",
    "descriptions",
    "selection",
    "feedback",
    "submit",
    "claim",
    "pressure",
    "keep",
)


def check_selection(data: Iterable[Prepared]) -> None:
    """Raise `UsageError` if no hidden part can be split off one of the tasks."""
    obstacles = {prepared.task.id: reason for prepared in data if (reason := find_obstacle(prepared.task))}
    if obstacles:
        listed = "; ".join(f"{task}: {reason}" for task, reason in obstacles.items())
        raise UsageError(f"no hidden part can be split off: {listed}. assay tasks --selection lists where it can")


@dataclass(frozen=True)
class _Pair:
    """A task with an agent: what all their trials have in common."""

    task: Task
    data: Prepared
    name: str
    agent: Agent
    environment: str
    tools: str | None
    hashes: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """Tasks × agents × models × seeds, and overrides of the tasks' own settings.

    Each entry of `models` maps roles to models, each of `pressure` is a number of rounds. Agents that use no models run
    once, whatever the models. `origins` says where settings come from, such as `flag`; settings without an origin come
    from the plan itself.
    """

    tasks: tuple[Task, ...]
    agents: tuple[tuple[str, Mapping[str, Any]], ...]
    models: tuple[Mapping[str, str], ...] = ()
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    budget: Mapping[str, float] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)
    edition: str | None = None
    variant: str | None = None
    sandbox: SandboxName = "auto"
    tasks_folder: Path | None = None
    environment: str | None = None
    weights: Path | None = None
    layout: Layout = "workspace"
    describe: Describe = "plain"
    descriptions: Path | None = None
    selection: Selection = "own"
    feedback: Feedback = "nothing"
    submit: SubmitMode = "file"
    claim: bool = False
    pressure: tuple[int, ...] = (0,)
    keep: Keep = "all"
    origins: Mapping[str, str] = field(default_factory=dict)
    trusted: tuple[str, ...] = ()

    def trials(self, home: Home, *, check_models: bool = True, check_built: bool = True) -> Iterator[TrialFile]:
        """Yield all trials in the order in which they start: all tasks with one seed before the next seed.

        Unless `check_models` is off, trials say which settings their models would not get; unless `check_built` is off,
        the environments of labs must be built.
        """
        agents = [(name, find_agent(name, settings)) for name, settings in self.agents]
        pairs = self._pair_up(agents, home, find_environment if check_built else environment_folder)
        asks = check_models and any(agent.model_use() != "none" for _, agent in agents)
        dropped = self.find_dropped() if asks else {}
        for seed in range(1, self.seeds + 1):
            for pair in pairs:
                for models, pressure in product(self._models_for(pair.name, pair.agent), self.pressure):
                    file = self._make_trial(pair, models, hash_weights(models, home), seed, pressure, home)
                    yield file.model_copy(update={"dropped_settings": dropped.get(str(models), {}) if models else {}})

    def _pair_up(
        self, agents: Iterable[tuple[str, Agent]], home: Home, find_folder: Callable[[Home, str], Path]
    ) -> list[_Pair]:
        pairs = []
        data = self.load_data(home)
        for task in self.tasks:
            environment = find_folder(home, self.environment_of(task, data[task.id].variant))
            for name, agent in agents:
                required = agent.requirements().tools
                tools = find_environment(home, required).name if required else None
                hashes = hash_inputs(task, data[task.id], environment, name)
                pairs.append(_Pair(task, data[task.id], name, agent, environment.name, tools, hashes))
        return pairs

    def load_data(self, home: Home) -> dict[str, Prepared]:
        """Return the prepared data of the tasks by their id; raise `NotPrepared` if any is missing."""
        data: dict[str, Prepared] = {}
        missing: list[NotPrepared] = []
        for task in self.tasks:
            try:
                variant = choose_variant(home, task, self.edition, self.variant)
                data[task.id] = load_prepared(home, task, self.edition, variant)
            except NotPrepared as error:
                missing.append(error)
        if len(missing) > 1:
            raise NotPrepared(
                f"{len(missing)} of {len(self.tasks)} tasks are not ready. The first of them:\n{missing[0]}"
            )
        if missing:
            raise missing[0]
        if self.selection != "own":
            check_selection(data.values())
        return data

    def environments(self, home: Home) -> list[str]:
        """Return the environments of the tasks' labs, by name or requirements file."""
        data = self.load_data(home)
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

    def find_dropped(self) -> dict[str, dict[str, list[str]]]:
        """Return the model settings of each role that providers' clients do not send, for each entry of `models`."""
        from assay.models import settings_by_role
        from assay.models.dropped import find_dropped

        settings = settings_by_role(self.model_settings)
        return {str(models): find_dropped(models, settings) for models in self.models}

    def _make_trial(
        self, pair: _Pair, models: Mapping[str, str], model_weights: str | None, seed: int, pressure: int, home: Home
    ) -> TrialFile:
        task, data, required = pair.task, pair.data, pair.agent.requirements()
        limits = {name: amount for name, amount in self.budget.items() if models or name in ("time", "steps")}
        describe, description = choose_description(data.task, self.describe, self.descriptions)
        # A worker, maybe on another machine, need not have this user's configuration, where the suite was found.
        folder = self.tasks_folder or (None if task.suite in SUITES.names() else task.folder.parent)
        hashes = dict(pair.hashes) | ({"weights": model_weights} if model_weights else {})
        plan = TrialPlan(
            task=task.id,
            edition=data.edition,
            variant=data.variant,
            agent=pair.name,
            settings=pair.agent.model_dump(mode="json"),
            models=dict(models),
            model_settings=dict(self.model_settings) if models else {},
            seed=seed,
            budget=Budget.model_validate(task.budget_for(data.variant).model_dump() | limits),
            resource_overrides=dict(self.resources),
            environment=pair.environment,
            weights_digest=self._weights_digest,
            sandbox=self._choose_sandbox(home, required),
            layout=self.layout,
            describe=describe,
            description=description,
            pressure=pressure,
            tools=pair.tools,
            selection=self.selection,
            feedback=self.feedback,
            submit=self.submit,
            claim=self.claim,
            hashes={**hashes, "description": hash_description(data.task, describe, description)},
        )
        return TrialFile(
            **dict(plan),
            id=plan.trial_id,
            label=pair.agent.label(pair.name) + (f" · {models['main']}" if models else ""),
            prices=dict(self.prices) if models else {},
            resources=Resources.model_validate(task.resources.model_dump() | dict(self.resources)),
            environment_from=self.environment,
            weights=str(self.weights) if self.weights else None,
            network=required.network,
            tasks_folder=str(folder) if folder else None,
            planned_seeds=self.seeds,
            keep=self.keep,
            origins=self._find_origins(task, limits),
            trusted=self.trusted,
            versions=current_versions(),
        )

    def _choose_sandbox(self, home: Home, required: Requirements) -> SandboxName:
        """Return the sandbox of a trial; the strongest that works here is decided now, as it identifies the trial."""
        sandbox = "none" if required.unsealed else self.sandbox
        if sandbox == AUTO:
            sandbox = choose_sandbox(home, required.network).name
        if self.layout != "workspace" and required.network != "models":
            raise UsageError(f"layout {self.layout} is for agents that run in the lab, such as external")
        check_layout(sandbox, self.layout)
        return sandbox

    @cached_property
    def _weights_digest(self) -> str | None:
        return hash_of_listing(self.weights) if self.weights else None

    def _find_origins(self, task: Task, limits: Mapping[str, float]) -> dict[str, str]:
        """Return where each setting came from: a flag, plan file, environment, user config, the task, or a default."""
        origins: dict[str, str] = {}
        for setting in fields(self):
            if setting.name in _WITH_ORIGIN:
                fallback = "default" if getattr(self, setting.name) == setting.default else "plan"
                origins[setting.name] = self.origins.get(setting.name, fallback)
        for name, value in self.model_settings.items():
            for key in [f"{name}.{own}" for own in value] if is_role(name, value) else [name]:
                origins[f"model_settings.{key}"] = self.origins.get(f"model_settings.{key}", "plan")
        for group, own, overrides in (("budget", task.budget, limits), ("resources", task.resources, self.resources)):
            for name in type(own).model_fields:
                fallback = "task.toml" if name in own.model_fields_set else "default"
                key = f"{group}.{name}"
                origins[key] = self.origins.get(key, "plan") if name in overrides else fallback
        return origins
