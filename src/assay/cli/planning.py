"""What `assay run` and `assay plan` have in common: the options that say what a run is to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from assay.cli.output import edition, registry, sandbox, variant
from assay.core.errors import UsageError
from assay.core.quantities import parse_size
from assay.tasks import parse_duration

if TYPE_CHECKING:
    from assay.runs.plan import Plan
    from assay.runs.plan_config import PlanConfig

_BUDGET = {"time_": "time", "steps": "steps", "working": "working", "tokens": "tokens", "cost": "cost"}
_RESOURCES = {"trial_cores": "cores", "memory": "memory", "disk": "disk", "gpus": "gpus"}


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A length of time such as 90s, 10m or 1h30m, in seconds."""
    try:
        return None if value is None else parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A size such as 500MB or 4GB, in bytes."""
    try:
        return None if value is None else parse_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_OPTIONS = (
    click.argument("names", nargs=-1, metavar="TASK|SUITE|SPLIT|PLAN.toml…"),
    click.option("--agent", "agents", multiple=True, help="An agent, NAME[,setting=value…] or path.py:Class."),
    click.option(
        "--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="What agents think with; several compare."
    ),
    click.option(
        "--role", "roles", multiple=True, metavar="ROLE=MODEL", help="Another model for a role: fast, edit, review."
    ),
    click.option(
        "--set", "model_settings", multiple=True, metavar="NAME=VALUE", help="How models are asked, as temperature=0."
    ),
    click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="How many trials of each."),
    click.option(
        "--time", "time_", metavar="DURATION", callback=seconds, help="Time per trial; default: the task's budget."
    ),
    click.option("--steps", type=click.IntRange(1), default=None, help="Steps per trial; default: the task's budget."),
    click.option(
        "--working", metavar="DURATION", callback=seconds, help="Time per trial without waiting for a model's provider."
    ),
    click.option("--tokens", type=click.IntRange(1), default=None, help="Tokens per trial, of all models together."),
    click.option("--cost", type=click.FloatRange(0, min_open=True), default=None, help="Dollars per trial."),
    click.option(
        "--trial-cores", type=click.IntRange(1), default=None, help="Cores per trial; default: what the task asks for."
    ),
    click.option("--memory", metavar="SIZE", callback=_bytes, help="Memory per trial, as 8GB."),
    click.option("--disk", metavar="SIZE", callback=_bytes, help="Disk space per trial, as 20GB."),
    click.option("--gpus", type=click.IntRange(0), default=None, help="GPUs per trial."),
    click.option(
        "--describe",
        type=click.Choice(["plain", "obfuscated"]),
        default="plain",
        show_default=True,
        help="How tasks are described to agents; obfuscated says nothing that would remind of a known competition.",
    ),
    click.option(
        "--descriptions",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=None,
        metavar="DIR",
        help="Describe tasks by your own texts: SUITE/TASK.md, TASK.md or TASK/description.md in that folder.",
    ),
    edition,
    variant,
    sandbox,
    click.option("--out", type=click.Path(path_type=Path), default=None, help="The run folder; default: runs/DATE."),
)


def plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """All options that say what a run is to do; a plan file may say the same."""
    for option in reversed((*_OPTIONS, *execution_options)):
        command = option(command)
    return command


execution_options = (
    click.option("--cores", type=click.IntRange(1), default=None, help="Cores to use; default: all."),
    click.option(
        "--attempts",
        type=click.IntRange(1),
        default=None,
        help="How often a trial is taken up that the machine or a model's provider fails; default: 3.",
    ),
    click.option(
        "--retry-wait",
        metavar="DURATION",
        callback=seconds,
        help="How long to wait before the second attempt, and twice as long before each later one; default: 2s.",
    ),
    click.option("--total-time", metavar="DURATION", callback=seconds, help="Start no trial later than this from now."),
    click.option(
        "--total-cost",
        type=click.FloatRange(0, min_open=True),
        default=None,
        help="Start no trial once all trials of the run together have cost so many dollars.",
    ),
    click.option(
        "--on", metavar="PLACE", default=None, help="Where trials run: local (default), slurm, ray, or ray://HOST:PORT."
    ),
    click.option(
        "--slurm",
        multiple=True,
        metavar="KEY=VALUE",
        callback=lambda ctx, param, texts: _pairs("--slurm", texts) or None,
        help="With --on slurm: what jobs ask for besides, as partition=gpu or account=ours.",
    ),
    click.option(
        "--data-from",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=None,
        metavar="DIR",
        help="On a cluster: a shared ASSAY_HOME that machines copy prepared data from if they have none.",
    ),
    click.option(
        "--lease",
        metavar="DURATION",
        callback=seconds,
        help="How long a trial on another machine may show no sign of life before it is taken over; default: 60s.",
    ),
)
"""How a run is carried out: for `assay resume` too."""


def planned(ctx: click.Context) -> "tuple[Plan, PlanConfig]":
    """The plan that a call asks for, with its plan file, the environment and the user's configuration."""
    from assay.runs.plan_config import PlanConfig, build_plan, config_from_flags, read_plan_file, resolve_config

    folders: tuple[Path, ...] = ctx.obj
    if len(folders) > 1:
        raise UsageError("a run takes tasks from one --tasks folder at the most")
    files = [name for name in ctx.params["names"] if name.endswith(".toml")]
    if len(files) > 1:
        raise UsageError(f"one plan at a time; {' and '.join(files)} are {len(files)}")
    flags, plan = config_from_flags(_flags(ctx)), read_plan_file(Path(files[0])) if files else PlanConfig()
    wanted, origins = resolve_config(flags, plan)
    return build_plan(wanted, origins, registry(folders), folders[0] if folders else None), wanted


def _flags(ctx: click.Context) -> dict[str, Any]:
    """What was said on the command line itself, under the names that a plan file uses."""
    given = {
        name: value
        for name, value in ctx.params.items()
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }
    tasks = [name for name in ctx.params["names"] if not name.endswith(".toml")]
    settings = {name: _value(text) for name, text in _pairs("--set", given.pop("model_settings", ())).items()}
    content: dict[str, Any] = {
        "roles": _pairs("--role", given.pop("roles", ())),
        "model_settings": settings,
        "budget": {ours: given.pop(name) for name, ours in _BUDGET.items() if name in given},
        "resources": {ours: given.pop(name) for name, ours in _RESOURCES.items() if name in given},
        **({"tasks": tasks} if tasks else {}),
    }
    not_of_the_plan = ("names", "quiet", "json_")
    return content | {name: value for name, value in given.items() if name not in not_of_the_plan}


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """`fast=openai/gpt-5-mini` is a name and what it stands for."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [name for name, equals, value in pairs if not equals or not name or not value]:
        raise UsageError(f"{option} {wrong[0]}: write NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _value(text: str) -> Any:
    """A setting's value as JSON, or as text where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
