"""What `assay run`, `assay plan` and `assay resume` share: the options that say what a run does."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from assay.cli.arguments import Count, GroupedCommand, read_duration
from assay.cli.complete import complete_agents, complete_tasks
from assay.cli.output import ask_for_trust, echo, edition, open_registry, read_size, sandbox, variant
from assay.core.errors import UsageError
from assay.core.text import plural

if TYPE_CHECKING:
    from assay.runs.plan import Plan
    from assay.runs.plan_config import PlanConfig

_BUDGET = {"time_": "time", "steps": "steps", "tokens": "tokens", "cost": "cost"}
_RESOURCES = {"memory": "memory", "gpus": "gpus"}
_NOT_SETTINGS = ("names", "quiet", "json_", "folder", "step", "again", "failed", "view", "detect", "source", "trust")
_OF_STUDIES = ("csv_", "markdown", "table", "figure", "html")


GROUPS = {
    "Agents and models": ("agents", "models", "roles", "model_settings", "preset", "policy", "pressure", "claim"),
    "Tasks and data": ("edition", "variant", "describe", "descriptions", "selection", "feedback"),
    "Trials": ("seeds", "submit", "again", "failed", "keep", "out"),
    "Budget of a trial": ("time_", "steps", "tokens", "cost"),
    "Lab": ("memory", "gpus", "sandbox", "layout", "environment", "weights"),
    "Execution": ("cores", "attempts", "total_time", "total_cost", "on", "build", "config", "trust"),
    "Output": ("view", "quiet", "json_"),
}
"""The sections of the help of `assay run` and `assay plan`."""


class PlanCommand(GroupedCommand):
    """A command with the options of a plan, in groups."""

    groups = GROUPS


def trust_option(help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option that allows what a stranger's file asks for."""
    return click.option("--trust", is_flag=True, help=help)


_WHAT = (
    click.argument("names", nargs=-1, metavar="TASK|SUITE|SPLIT|PLAN.toml…", shell_complete=complete_tasks),
    click.option(
        "--agent",
        "agents",
        multiple=True,
        metavar="NAME[,SETTING=VALUE…]",
        shell_complete=complete_agents,
        help="Agent to run, by name or as path.py:Class. Repeat to compare several.",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="PROVIDER/MODEL",
        help="Model to use. Repeat to compare several.",
    ),
    click.option(
        "--role",
        "roles",
        multiple=True,
        metavar="ROLE=MODEL",
        help="Model for a role of the agent, e.g. fast=openai/gpt-5-mini.",
    ),
    click.option(
        "--set",
        "model_settings",
        multiple=True,
        metavar="[ROLE.]NAME=VALUE",
        help="Model setting of all roles, or of one: temperature=0, fast.temperature=0.01.",
    ),
    click.option(
        "--preset",
        metavar="NAME",
        default=None,
        help="Settings of a published study: mlagentbench-paper, mlebench-aide, mlebench-aide-two-gpus, mlebench-mlab, "
        "mlebench-openhands, aira-greedy, aira-mcts, aira-evolution, aira2-hidden or mle-star. assay plan shows what "
        "it sets.",
    ),
    click.option("--seeds", default=3, show_default=True, type=Count(), help="Trials per task and agent."),
    click.option(
        "--time",
        "time_",
        metavar="DURATION",
        callback=read_duration,
        help="Time per trial.  [default: set by the task]",
    ),
    click.option("--steps", type=click.IntRange(1), default=None, help="Steps per trial.  [default: set by the task]"),
    click.option("--tokens", type=click.IntRange(1), default=None, help="Tokens per trial, over all models."),
    click.option("--cost", type=click.FloatRange(0, min_open=True), default=None, help="Cost per trial in US dollars."),
    click.option("--memory", metavar="SIZE", callback=read_size, help="Memory per trial, e.g. 8GB."),
    click.option("--gpus", type=click.IntRange(0), default=None, help="GPUs per trial."),
    click.option(
        "--describe",
        type=click.Choice(["plain", "obfuscated"]),
        default="plain",
        show_default=True,
        help="Task description to use; obfuscated does not reveal which competition the task comes from.",
    ),
    click.option(
        "--descriptions",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=None,
        metavar="DIR",
        help="Folder with your own descriptions: SUITE/TASK.md, TASK.md or TASK/description.md; with --describe "
        "obfuscated, TASK/description_obfuscated.md.",
    ),
    click.option(
        "--policy",
        metavar="NAME",
        default=None,
        help="Search policy of agents that have one, such as aide: greedy, mcts, evolution, restarts, ablation, "
        "random, or your own as path.py:function.",
    ),
    click.option(
        "--selection",
        type=click.Choice(["own", "hidden", "report"]),
        default="own",
        show_default=True,
        help="Who picks the final submission: the agent (own); Assay, among all candidates, by hidden validation rows "
        "that are split off the training data (hidden); or the agent, with Assay's pick recorded (report).",
    ),
    click.option(
        "--feedback",
        type=click.Choice(["nothing", "rank", "score"]),
        default="nothing",
        show_default=True,
        help="What an agent is told about a candidate that it offers; half of the hidden rows are then for feedback.",
    ),
    click.option(
        "--submit",
        type=click.Choice(["file", "code"]),
        default="file",
        show_default=True,
        help="What agents submit: the file that is graded, or code, which Assay runs from scratch in a fresh lab to "
        "make that file.",
    ),
    click.option(
        "--claim",
        is_flag=True,
        help="Ask agents what score they expect of their submission, with an interval, and compare it with the score.",
    ),
    click.option(
        "--pressure",
        multiple=True,
        type=click.IntRange(0, 100),
        metavar="N",
        help="Rounds after the agent's own end in which a user asks it to improve the score. Repeat to compare "
        "several: --pressure 0 --pressure 3.  [default: 0]",
    ),
    click.option(
        "--keep",
        type=click.Choice(["all", "best", "last"]),
        default="all",
        show_default=True,
        help="Submissions to keep of a trial that has ended: those of all steps and nodes; the best by the agent's own "
        "metric, and the final one; or the final one. Curves over time and forks need all.",
    ),
    trust_option("Allow the plan file to send API keys to other hosts, run code, and use files outside its folder."),
    edition,
    variant,
    sandbox,
    click.option(
        "--layout",
        type=click.Choice(["workspace", "mlebench"]),
        default="workspace",
        show_default=True,
        help="Paths in labs; mlebench: /home/data, /home/submission etc. as in MLE-bench's container, for its agents.",
    ),
    click.option(
        "--environment",
        metavar="NAME|FILE.txt",
        default=None,
        help="Python of the labs: core, torch, full-cpu, full-gpu, or a requirements file.  [default: set by the task]",
    ),
    click.option(
        "--weights",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=None,
        metavar="DIR",
        help="Folder of pretrained weights (a Hugging Face or torch cache) that labs see read-only.",
    ),
    click.option(
        "--out", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Run folder.  [default: runs/DATE]"
    ),
)

_HOW = (
    click.option("--cores", type=click.IntRange(1), default=None, help="Cores to use.  [default: all]"),
    click.option(
        "--attempts",
        type=click.IntRange(1),
        default=None,
        help="Attempts per trial after infrastructure or provider failures.  [default: 3]",
    ),
    click.option(
        "--total-time", metavar="DURATION", callback=read_duration, help="Start no new trials after this much time."
    ),
    click.option(
        "--total-cost",
        type=click.FloatRange(0, min_open=True),
        default=None,
        help="Start no new trials once the run has cost this many US dollars.",
    ),
    click.option(
        "--on",
        metavar="EXECUTOR",
        default=None,
        help="Where trials run: local, slurm, ray, or ray://HOST:PORT.  [default: local]",
    ),
    click.option(
        "--build/--no-build",
        default=None,
        help="Whether to build environments and prepare data that takes seconds, where missing.  [default: build]",
    ),
    click.option(
        "-c",
        "--config",
        "config",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set any key of a plan file, e.g. retry_wait=5s, budget.working=1h, resources.disk=20GB, "
        "slurm.partition=gpu.",
    ),
)

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add all options that say what a run does and how."""
    return _add_options(command, (*_WHAT, *_HOW))


def study_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `plan_options`, where instead of tasks there can be finished runs."""
    argument = click.argument(
        "names", nargs=-1, required=True, metavar="RUN…|TASK…|PLAN.toml", shell_complete=complete_tasks
    )
    return _add_options(command, (argument, *_WHAT[1:], *_HOW))


def execution_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a run is executed, which `assay resume` has too."""
    return _add_options(command, _HOW)


def _add_options(command: Callable[..., None], options: Sequence[Decorator]) -> Callable[..., None]:
    for option in reversed(options):
        command = option(command)
    return command


def make_plan(ctx: click.Context) -> "tuple[Plan, PlanConfig]":
    """Return the plan of a command, from its flags, plan file, environment and user configuration."""
    from assay.runs.plan_config import PlanConfig, build_plan, config_from_flags, read_plan_file, resolve_config
    from assay.runs.trust import find_risks

    folders: tuple[Path, ...] = ctx.obj
    if len(folders) > 1:
        raise UsageError("A run takes at most one --tasks folder")
    files = [name for name in ctx.params["names"] if name.endswith(".toml")]
    if len(files) > 1:
        raise UsageError(f"Pass one plan file, not {len(files)}: {', '.join(files)}")
    plan = read_plan_file(Path(files[0])) if files else PlanConfig()
    flags = config_from_flags(read_flags(ctx))
    config, origins = resolve_config(flags, plan)
    risks = find_risks(plan, flags, Path(files[0]).absolute().parent) if files else ()
    if risks:
        ask_for_trust(files[0], risks, trust=ctx.params["trust"])
    config, suites = _add_harbor_tasks(config)
    registry = open_registry((*folders, *suites))
    return build_plan(config, origins, registry, folders[0] if folders else None, risks), config


def _add_harbor_tasks(config: "PlanConfig") -> "tuple[PlanConfig, list[Path]]":
    """Replace `harbor:PATH` by the tasks there; return the suites that hold them. Says which tasks cannot be run."""
    names, suites = list[str](), list[Path]()
    for name in config.tasks or ():
        if not name.startswith("harbor:"):
            names.append(name)
            continue
        from assay.core.home import Home
        from assay.interop.harbor.tasks import add_tasks

        path = Path(name.removeprefix("harbor:")).expanduser()
        added = add_tasks(path, Home.default())
        for folder, obstacles in added.refused.items():
            echo(f"{folder} cannot be run here: {'; '.join(obstacles)}", err=True)
        if not added.tasks:
            raise UsageError(f"No task of {path} can be run without a container image; see above why")
        if added.refused:
            echo(f"{len(added.tasks)} of {len(added.tasks) + len(added.refused)} tasks of {path} are run.", err=True)
        if added.without_network:
            echo(f"Agents of Harbor would have a network on {plural(len(added.without_network), 'task')}.", err=True)
        names += added.tasks
        suites += added.suites
    return config.model_copy(update={"tasks": tuple(names)}) if suites else config, suites


def read_flags(ctx: click.Context) -> dict[str, Any]:
    """Return the settings given on the command line itself, under the keys of a plan file."""
    flags = {
        name: value
        for name, value in ctx.params.items()
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE
        and name not in (*_NOT_SETTINGS, *_OF_STUDIES)
        and not name.startswith("study_")
    }
    content = _nested(_pairs("--config", flags.pop("config", ())), "--config")
    settings = read_model_settings(flags.pop("model_settings", ()))
    groups = {
        "roles": _pairs("--role", flags.pop("roles", ())),
        "model_settings": settings,
        "budget": {key: flags.pop(name) for name, key in _BUDGET.items() if name in flags},
        "resources": {key: flags.pop(name) for name, key in _RESOURCES.items() if name in flags},
    }
    for group, values in groups.items():
        if values:
            content[group] = {**content.get(group, {}), **values}
    tasks = [name for name in ctx.params.get("names", ()) if not name.endswith(".toml")]
    if tasks:
        content["tasks"] = tasks
    return content | flags


def read_model_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Return the model settings that were given with `--set`."""
    return _nested({name: _value(text) for name, text in _pairs("--set", texts).items()}, "--set")


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Split `fast=openai/gpt-5-mini` into a name and its value."""
    pairs = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise UsageError(f"{option} {text}: write NAME=VALUE")
        pairs[name] = value
    return pairs


def _nested(pairs: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Turn `budget.time` into a key of the table `budget`."""
    content: dict[str, Any] = {}
    for path, value in pairs.items():
        *tables, key = path.split(".")
        table = content
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise UsageError(f"{option} {path}: {name} is set to a value already")
        table[key] = value
    return content


def _value(text: str) -> Any:
    """Return the value of a setting as JSON, or as text where it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text
