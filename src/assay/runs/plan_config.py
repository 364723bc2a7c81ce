"""What a plan may say, in a file, in flags, in the environment or in a user's configuration; and which of them counts.

A flag wins over the plan file, that over the environment, that over the user's configuration; what none of them says is
left to the task and to our defaults. Each trial's record tells where its settings came from.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from assay.core.errors import UsageError
from assay.core.quantities import Bytes, Model, Seconds
from assay.lab.interface import SandboxName
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
"""Which environment variable stands for which setting."""

_GROUPS = ("budget", "resources", "roles", "model_settings")
_FORMATS = ("plan/1", "config/1")


class ChosenAgent(Model):
    """An agent and its settings."""

    name: str
    settings: dict[str, Any] = Field(default={})


class ChosenBudget(Model):
    """What each trial may use up."""

    time: Seconds | None = Field(default=None, gt=0)
    steps: int | None = Field(default=None, ge=1)
    working: Seconds | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)


class ChosenResources(Model):
    """What each trial gets of the machine."""

    cores: int | None = Field(default=None, ge=1)
    memory: Bytes | None = Field(default=None, gt=0)
    disk: Bytes | None = Field(default=None, gt=0)
    gpus: int | None = Field(default=None, ge=0)


def _agent(text: Any) -> Any:
    """`automl,share=0.5` is the agent `automl` with one setting."""
    if not isinstance(text, str):
        return text
    name, *settings = text.split(",")
    pairs = [setting.partition("=") for setting in settings]
    if wrong := [setting for setting, equals, _ in pairs if not equals]:
        raise ValueError(f"agent {name}: {wrong[0]!r} is not a setting; write {name},setting=value")
    return {"name": name, "settings": {setting: value for setting, _, value in pairs}}


def _model(text: Any) -> Any:
    return {"main": text} if isinstance(text, str) else text


_NESTED: dict[str, type[Model]] = {"agents": ChosenAgent, "budget": ChosenBudget, "resources": ChosenResources}


class PlanConfig(Model):
    """All that can be asked of a run; what is None is left open."""

    tasks: tuple[str, ...] | None = None
    agents: tuple[Annotated[ChosenAgent, BeforeValidator(_agent)], ...] | None = None
    models: tuple[Annotated[dict[str, str], BeforeValidator(_model)], ...] | None = None
    roles: dict[str, str] = Field(default={})
    model_settings: dict[str, Any] = Field(default={})
    seeds: int | None = Field(default=None, ge=1)
    edition: str | None = None
    variant: str | None = None
    sandbox: SandboxName | None = None
    describe: Describe | None = None
    descriptions: Path | None = None
    budget: ChosenBudget = ChosenBudget()
    resources: ChosenResources = ChosenResources()
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


class _File(PlanConfig):
    """A plan or a user's configuration, as it stands in a file."""

    format: Literal["plan/1", "config/1"]


def read_plan_file(path: Path) -> PlanConfig:
    """A plan file; `UsageError` names what is wrong in it."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    if content.get("format") not in _FORMATS:
        raise UsageError(f'{path}: format: a plan begins with the line: format = "plan/1"')
    return _checked(_File, content, str(path))


def config_from_environment(variables: Mapping[str, str]) -> PlanConfig:
    """What the environment asks for: see `VARIABLES`."""
    content: dict[str, Any] = {}
    for variable, key in VARIABLES.items():
        if value := variables.get(variable):
            group, _, name = key.rpartition(".")
            (content.setdefault(group, {}) if group else content)[name] = value
    return _checked(PlanConfig, content, "environment", {key: name for name, key in VARIABLES.items()})


def config_from_flags(content: Mapping[str, Any]) -> PlanConfig:
    """What flags ask for."""
    return _checked(PlanConfig, content, "flags")


def load_user_config(variables: Mapping[str, str]) -> PlanConfig:
    """What the user's own `config.toml` asks for, if there is one: the keys of a plan, `format = "config/1"`."""
    named = variables.get("ASSAY_CONFIG")
    folder = Path(variables.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser())
    path = Path(named) if named else folder / "assay" / "config.toml"
    return read_plan_file(path) if named or path.is_file() else PlanConfig()


def resolve_config(
    flags: PlanConfig, plan: PlanConfig, variables: Mapping[str, str] = os.environ
) -> tuple[PlanConfig, dict[str, str]]:
    """What counts, and for each setting where it came from."""
    layers = [
        ("flag", flags),
        ("plan file", plan),
        ("environment", config_from_environment(variables)),
        ("user config", load_user_config(variables)),
    ]
    content: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for key, value in _settings(layer).items():
            if key not in origins:
                origins[key] = origin
                group, _, name = key.partition(".")
                (content.setdefault(group, {}) if name else content)[name or group] = value
    return PlanConfig.model_validate(content), origins


def build_plan(
    wanted: PlanConfig, origins: Mapping[str, str], known: Registry, tasks_folder: Path | None = None
) -> Plan:
    """The plan that follows, for tasks that are known."""
    if not wanted.tasks:
        raise UsageError("run what? Name tasks, a suite or a split, or a plan file that does")
    if not wanted.agents:
        raise UsageError("who is to work? Name an agent with --agent, or in the plan file")
    _check_model_settings(wanted.model_settings)
    named = {name: value for name in ("edition", "variant", "sandbox", "describe") if (value := getattr(wanted, name))}
    return Plan(
        tasks=tuple(known.chosen(wanted.tasks)),
        agents=tuple({str(agent): (agent.name, agent.settings) for agent in wanted.agents}.values()),
        models=tuple({str(one): {**one, **wanted.roles} for one in wanted.models or ()}.values()),
        model_settings=wanted.model_settings,
        seeds=wanted.seeds or 1,
        descriptions=wanted.descriptions,
        tasks_folder=tasks_folder,
        resources=wanted.resources.model_dump(exclude_none=True),
        origins=origins,
        **wanted.budget.model_dump(),
        **named,
    )


def _check_model_settings(settings: Mapping[str, Any]) -> None:
    from assay.models.settings import ModelSettings

    try:
        ModelSettings.model_validate(dict(settings))
    except ValidationError as error:
        known = list(ModelSettings.model_fields)
        faults = [_fault(one["type"], ("model_settings", *one["loc"]), one["msg"], {}, known) for one in error.errors()]
        raise UsageError("; ".join(faults)) from None


def _settings(wanted: PlanConfig) -> dict[str, Any]:
    """The settings that are not left open, those of groups by their full names."""
    content = wanted.model_dump(exclude_none=True, exclude_unset=True, exclude={"format"})
    flat = {key: value for key, value in content.items() if key not in _GROUPS}
    return flat | {f"{group}.{name}": value for group in _GROUPS for name, value in content.get(group, {}).items()}


def _checked(
    model: type[PlanConfig], content: Mapping[str, Any], where: str, names: Mapping[str, str] | None = None
) -> PlanConfig:
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        faults = [_fault(fault["type"], fault["loc"], fault["msg"], names or {}) for fault in error.errors()]
        raise UsageError(f"{where}: {'; '.join(dict.fromkeys(faults))}") from None


def _fault(
    kind: str,
    place: Sequence[int | str],
    message: str,
    names: Mapping[str, str],
    known: Sequence[str] | None = None,
) -> str:
    key = ".".join(str(part) for part in place)
    if kind != "extra_forbidden":
        return f"{names.get(key, key)}: {message.removeprefix('Value error, ')}"
    known = known or list((_NESTED.get(str(place[0]), _File) if len(place) > 1 else _File).model_fields)
    near = difflib.get_close_matches(str(place[-1]), known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
    return f"{key}: there is no such setting; {hint}"
