"""The settings of a run, from flags, the plan file, the environment and the user's configuration.

Flags take precedence over the plan file, the preset, the environment and the user's configuration, in this order. What
none of them sets is left to the task and the defaults. Each trial's record says where its settings came from.
"""

import os
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from assay.agents.agent import agent_class, agent_names
from assay.core.errors import RecordError, UsageError
from assay.core.home import find_user_config
from assay.core.quantities import Bytes, Model, Seconds
from assay.core.text import describe_validation_error, did_you_mean
from assay.core.untrusted import read_toml
from assay.lab.interface import Layout, SandboxName
from assay.lab.sandboxes import check_sandbox
from assay.models.prices import Price
from assay.models.settings import ModelSettings, is_role, settings_by_role
from assay.records.registration import MAX_SEEDS, Measure, PlannedComparison
from assay.records.state import Feedback, Keep, Selection, SubmitMode
from assay.runs.descriptions import Describe
from assay.runs.plan import Plan
from assay.tasks import Registry

VARIABLES = {
    "ASSAY_SEEDS": "seeds",
    "ASSAY_EDITION": "edition",
    "ASSAY_VARIANT": "variant",
    "ASSAY_SANDBOX": "sandbox",
    "ASSAY_TIME": "budget.time",
    "ASSAY_STEPS": "budget.steps",
    "ASSAY_WORKING": "budget.working",
    "ASSAY_TOKENS": "budget.tokens",
    "ASSAY_COST": "budget.cost",
    "ASSAY_CORES": "cores",
    "ASSAY_ATTEMPTS": "attempts",
}
"""The environment variables and the settings that they set."""

DEFAULT_SEEDS = 3
_GROUPS = ("budget", "resources", "roles", "model_settings")
_FORMATS = ("plan/1", "config/1")


class AgentConfig(Model):
    """An agent and its settings."""

    name: str
    settings: dict[str, Any] = Field(default={})


class BudgetConfig(Model):
    """Limits of each trial."""

    time: Seconds | None = Field(default=None, gt=0)
    steps: int | None = Field(default=None, ge=1)
    working: Seconds | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)


class ResourcesConfig(Model):
    """Resources of each trial."""

    cores: int | None = Field(default=None, ge=1)
    memory: Bytes | None = Field(default=None, gt=0)
    disk: Bytes | None = Field(default=None, gt=0)
    gpus: int | None = Field(default=None, ge=0)


def parse_agent(text: Any) -> Any:
    """`automl,share=0.5` is the agent `automl` with one setting."""
    if not isinstance(text, str):
        return text
    name, *settings = text.split(",")
    pairs = [setting.partition("=") for setting in settings]
    if wrong := [setting for setting, equals, _ in pairs if not equals]:
        raise ValueError(f"agent {name}: {wrong[0]!r} is not a setting; write {name},setting=value")
    return {"name": name, "settings": {setting: value for setting, _, value in pairs}}


def _parse_model(text: Any) -> Any:
    return {"main": text} if isinstance(text, str) else text


_Agent = Annotated[AgentConfig, BeforeValidator(parse_agent, json_schema_input_type=AgentConfig | str)]
_Models = Annotated[dict[str, str], BeforeValidator(_parse_model, json_schema_input_type=dict[str, str] | str)]
_NESTED: dict[str, type[Model]] = {"agents": AgentConfig, "budget": BudgetConfig, "resources": ResourcesConfig}


class PlanConfig(Model):
    """All settings of a run; None means not set."""

    preset: str | None = Field(default=None, description="settings of a published study, by name; see `assay plan`")
    tasks: tuple[str, ...] | None = None
    agents: tuple[_Agent, ...] | None = None
    models: tuple[_Models, ...] | None = None
    roles: dict[str, str] = Field(default={})
    model_settings: dict[str, Any] = Field(default={})
    prices: dict[str, Price] | None = Field(
        default=None, description="own prices by model, in dollars per million tokens"
    )
    seeds: int | None = Field(default=None, ge=1, le=MAX_SEEDS)
    edition: str | None = None
    variant: str | None = None
    sandbox: Annotated[SandboxName, AfterValidator(check_sandbox)] | None = None
    environment: str | None = Field(default=None, description="Python of labs, by name or requirements file")
    weights: Path | None = Field(default=None, description="folder of pretrained weights that labs see read-only")
    build: bool | None = Field(default=None, description="whether missing environments are built; they are by default")
    layout: Layout | None = Field(default=None, description="paths in labs: workspace, or mlebench as in its container")
    describe: Describe | None = None
    descriptions: Path | None = None
    selection: Selection | None = Field(default=None, description="who picks the final submission, on what")
    feedback: Feedback | None = Field(default=None, description="what agents are told about candidates they offer")
    submit: SubmitMode | None = Field(default=None, description="whether a file is submitted, or code that makes it")
    policy: str | None = Field(default=None, description="search policy of agents that have one")
    claim: bool | None = Field(default=None, description="whether agents claim a score for their submission")
    pressure: tuple[Annotated[int, Field(ge=0, le=100)], ...] | None = Field(
        default=None, description="rounds in which a user asks for a better score; several to compare them"
    )
    keep: Keep | None = Field(default=None, description="which submissions stay in the record of an ended trial")
    measure: Measure | None = Field(default=None, description="what agents are compared by, registered with the plan")
    margin: float | None = Field(default=None, gt=0, le=1, description="agents at most this far apart are equivalent")
    baseline: str | None = Field(default=None, description="agent that the others are compared with; else each pair")
    sequential: bool | None = Field(default=None, description="whether seeds and tasks may be added after results")
    budget: BudgetConfig = BudgetConfig()
    resources: ResourcesConfig = ResourcesConfig()
    out: Path | None = None
    cores: int | None = Field(default=None, ge=1)
    attempts: int | None = Field(default=None, ge=1)
    retry_wait: Seconds | None = Field(default=None, ge=0)
    total_time: Seconds | None = Field(default=None, gt=0)
    total_cost: float | None = Field(default=None, gt=0)
    on: str | None = None
    slurm: dict[str, str] | None = None
    data_from: Path | None = None
    lease: Seconds | None = Field(default=None, gt=0)

    @property
    def comparison(self) -> PlannedComparison:
        """The comparison that is registered before the first trial."""
        names = ("measure", "margin", "baseline", "sequential")
        chosen = {name: value for name in names if (value := getattr(self, name)) is not None}
        return PlannedComparison.model_validate(chosen)


class _ConfigFile(PlanConfig):
    """A plan file or a user's configuration file."""

    format: Literal["plan/1", "config/1"]


def read_plan_file(path: Path) -> PlanConfig:
    """Read a plan file; `UsageError` says what is wrong with it."""
    try:
        content = read_toml(path)
    except RecordError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        near = sorted(str(other) for other in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        raise UsageError(f"{path}: {error.strerror}" + (f"; {did_you_mean(str(path), near)}" if near else "")) from None
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    if content.get("format") not in _FORMATS:
        raise UsageError(f'{path}: format: a plan starts with the line: format = "plan/1"')
    return _validate(_ConfigFile, content, str(path))


class Preset(Model):
    """The settings of a published study, and where they come from."""

    format: Literal["preset/1"]
    title: str
    source: str
    plan: PlanConfig


def load_preset(name: str) -> Preset:
    """Return the preset called `name`."""
    file = files("assay.runs").joinpath("presets", f"{name}.toml")
    if name not in preset_names():
        raise UsageError(f"no preset is called {name!r}; {did_you_mean(name, preset_names())}")
    return Preset.model_validate(tomllib.loads(file.read_text("utf-8")))


def preset_names() -> list[str]:
    """Return the names of all presets."""
    presets = files("assay.runs").joinpath("presets").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in presets if file.name.endswith(".toml"))


def flat_settings(config: PlanConfig) -> dict[str, Any]:
    """Return the settings that are set, by their dotted names."""
    return {key.replace("/", "."): value for key, value in list_settings(config).items()}


def config_from_environment(variables: Mapping[str, str]) -> PlanConfig:
    """Return the settings in environment variables; see `VARIABLES`."""
    content: dict[str, Any] = {}
    for variable, key in VARIABLES.items():
        if value := variables.get(variable):
            group, _, name = key.rpartition(".")
            (content.setdefault(group, {}) if group else content)[name] = value
    return _validate(PlanConfig, content, "environment", {key: name for name, key in VARIABLES.items()})


def config_from_flags(content: Mapping[str, Any]) -> PlanConfig:
    """Return the settings in command-line flags."""
    return _validate(PlanConfig, content, "flags")


def load_user_config(variables: Mapping[str, str]) -> PlanConfig:
    """Read the user's `config.toml`, if there is one: the keys of a plan, with `format = "config/1"`."""
    path = find_user_config(variables)
    return read_plan_file(path) if variables.get("ASSAY_CONFIG") or path.is_file() else PlanConfig()


def resolve_config(
    flags: PlanConfig, plan: PlanConfig, variables: Mapping[str, str] = os.environ
) -> tuple[PlanConfig, dict[str, str]]:
    """Merge the layers by precedence, and return the result and where each setting came from."""
    name = flags.preset or plan.preset
    layers = [
        ("flag", flags),
        ("plan file", plan),
        (f"preset {name}", load_preset(name).plan if name else PlanConfig()),
        ("environment", config_from_environment(variables)),
        ("user config", load_user_config(variables)),
    ]
    content: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for key, value in list_settings(layer).items():
            if key not in origins:
                origins[key] = origin
                *tables, last = key.split("/")
                table = content
                for group in tables:
                    table = table.setdefault(group, {})
                table[last] = value
    merged = PlanConfig.model_validate(content | ({"preset": name} if name else {}))
    return merged, {key.replace("/", "."): origin for key, origin in origins.items()}


def build_plan(
    config: PlanConfig,
    origins: Mapping[str, str],
    known: Registry,
    tasks_folder: Path | None = None,
    trusted: tuple[str, ...] = (),
) -> Plan:
    """Build the plan for tasks of a registry; `trusted` is what the user allowed the plan file to do."""
    if not config.tasks:
        raise UsageError("No tasks given; pass task names, a suite, a split or a plan file")
    if agent := next((name for name in config.tasks if name in agent_names()), None):
        raise UsageError(f"{agent} is an agent, not a task: pass --agent {agent}")
    tasks = tuple(known.select_all(config.tasks))
    if not config.agents:
        raise UsageError("No agent given; pass --agent NAME, or set agents in the plan file")
    if suite := next((agent.name for agent in config.agents if agent.name.partition(":")[0] in known.suites), None):
        raise UsageError(f"{suite} is a suite, not an agent: pass it without --agent")
    for suite in [part.rpartition("=")[0] for part in (config.variant or "").split(",") if "=" in part]:
        if suite not in known.suites:
            raise UsageError(f"variant: no suite is named {suite!r}; {did_you_mean(suite, list(known.suites))}")
    check_model_settings(config.model_settings)
    if config.feedback not in (None, "nothing") and config.selection in (None, "own"):
        raise UsageError("feedback needs hidden rows: pass --selection hidden or --selection report with it")
    if config.submit == "code" and config.layout == "mlebench":
        raise UsageError("code is rerun in labs with the layout workspace only; drop --layout, or --submit code")
    if config.keep not in (None, "all") and (config.selection not in (None, "own") or config.submit == "code"):
        raise UsageError("with hidden rows or --submit code all candidates are evidence: drop --keep")
    names = ("edition", "variant", "sandbox", "layout", "describe", "selection", "feedback", "submit", "claim", "keep")
    named = {name: value for name in names if (value := getattr(config, name))}
    return Plan(
        tasks=tasks,
        agents=tuple({str(agent): (agent.name, agent.settings) for agent in _with_policy(config)}.values()),
        models=tuple({str(models): {**models, **config.roles} for models in config.models or ()}.values()),
        model_settings=config.model_settings,
        prices={name: price.model_dump(exclude_none=True) for name, price in (config.prices or {}).items()},
        seeds=config.seeds or DEFAULT_SEEDS,
        descriptions=config.descriptions,
        pressure=tuple(dict.fromkeys(config.pressure or (0,))),
        environment=_locate(config.environment),
        weights=config.weights.expanduser().resolve() if config.weights else None,
        tasks_folder=tasks_folder,
        resources=config.resources.model_dump(exclude_none=True),
        budget=config.budget.model_dump(exclude_none=True),
        origins={"seeds": "default", **origins},
        trusted=trusted,
        **named,
    )


def _with_policy(config: PlanConfig) -> list[AgentConfig]:
    """Return the agents, those that search with the policy of the plan unless they name their own."""
    agents = list(config.agents or ())
    if config.policy is None:
        return agents
    searching = [agent for agent in agents if "policy" in agent_class(agent.name).model_fields]
    if not searching:
        names = ", ".join(agent.name for agent in agents)
        raise UsageError(f"--policy: {names} has no search policy; pass --agent aide")
    return [
        agent.model_copy(update={"settings": {"policy": config.policy, **agent.settings}})
        if agent in searching
        else agent
        for agent in agents
    ]


def _locate(environment: str | None) -> str | None:
    """Return the name of an environment, or the absolute path of its requirements file."""
    if environment and environment.endswith(".txt"):
        return str(Path(environment).expanduser().resolve())
    return environment


def check_model_settings(settings: Mapping[str, Any]) -> dict[str, ModelSettings]:
    """Return the model settings of each role; `UsageError` says which are wrong."""
    try:
        return settings_by_role(settings)
    except ValidationError as error:
        known = {"": ModelSettings.model_fields}
        raise UsageError(f"model_settings: {describe_validation_error(error, known)}") from None


def list_settings(config: PlanConfig) -> dict[str, Any]:
    """Return the settings that are set by their paths, with `/` because role names and options may contain dots."""
    content = config.model_dump(exclude_none=True, exclude_unset=True, exclude={"format", "preset"})
    flat = {key: value for key, value in content.items() if key not in _GROUPS}
    for group in _GROUPS:
        for name, value in content.get(group, {}).items():
            if group == "model_settings" and is_role(name, value):
                flat |= {f"{group}/{name}/{setting}": own for setting, own in value.items()}
            else:
                flat[f"{group}/{name}"] = value
    return flat


def _validate(
    model: type[PlanConfig], content: Mapping[str, Any], where: str, names: Mapping[str, str] | None = None
) -> PlanConfig:
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        known = {table: nested.model_fields for table, nested in _NESTED.items()} | {"": _ConfigFile.model_fields}
        raise UsageError(f"{where}: {describe_validation_error(error, known, names)}") from None
