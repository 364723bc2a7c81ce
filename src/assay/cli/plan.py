"""`assay plan`."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import as_json, echo, echo_json, print_tables
from assay.cli.planning import PlanCommand, make_plan, plan_options
from assay.core.errors import MissingDependency
from assay.core.home import Home
from assay.core.table import Column, Table
from assay.records import RunFolder, list_newest_runs

if TYPE_CHECKING:
    from assay.runs.plan import Plan
    from assay.runs.plan_config import PlanConfig


_COLUMNS = (
    Column("task", min_width=16),
    Column("agent", min_width=12),
    Column("models", drop=1),  # the agent's name has the main one
    Column("seeds", kind="integer"),
    Column("done", kind="integer", drop=2),
    Column("budget", "budget per trial", min_width=30),
    Column("cost", "max cost", kind="cost"),
)
_FORECAST = ("lines", "unready", "environments", "unbuilt", "trials", "done", "time", "cost")


@click.command("plan", cls=PlanCommand)
@plan_options
@as_json
@click.pass_context
def plan_command(ctx: click.Context, /, json_: bool, **options: Any) -> None:
    """Show what a run would do, its maximum time and cost, without running anything.

    Takes the arguments of assay run. With --out, or a folder in the plan file, trials that are finished there are
    counted as done. Agents given as path.py:Class are imported, which executes that file on this machine: use only
    plans that you trust.

    \b
    Examples:
      assay plan plan.toml
      assay plan pocket --agent automl --seeds 3 --time 60s
      assay plan mlebench:low --preset mlebench-aide --model openai/gpt-4o
    """
    from assay.core.quantities import format_cost, format_duration
    from assay.core.text import plural
    from assay.lab.environments import describe_size
    from assay.lab.host.gpus import gpu_numbers
    from assay.lab.host.memory import machine_memory
    from assay.runs.forecast import expected_cost, find_shortfalls, forecast

    plan, config = make_plan(ctx)
    cores = config.cores or len(os.sched_getaffinity(0))
    preset = _used_preset(plan, config)
    result = forecast(plan, Home.default(), cores, RunFolder(config.out) if config.out else None)
    expected = expected_cost(result.lines, map(RunFolder, _earlier_runs(config.out)))
    if json_:
        facts = {name: getattr(result, name) for name in _FORECAST}
        echo_json("forecast/1", **facts, preset=preset, cores=cores, expected_cost=expected and expected[0])
        return
    rows = [
        (
            line.task,
            line.agent,
            ", ".join(f"{role}={model}" for role, model in line.models.items()) or None,
            line.seeds,
            line.done,
            f"{format_duration(line.time)}, {line.steps} steps" + (f", {line.tokens:,} tokens" if line.tokens else ""),
            format_cost(line.cost),
        )
        for line in result.lines
    ]
    print_tables([Table("plan", _COLUMNS, tuple(rows))])
    echo()
    if preset:
        echo(f"Preset {preset.name}: {preset.title}\n{preset.source}")
        settings = [(key, json.dumps(value)) for key, value in preset.settings.items()]
        print_tables([Table("preset", (Column("setting"), Column("value")), tuple(settings))])
        for key, origin in preset.overridden.items():
            echo(f"{key} is set by {origin} instead.")
        echo()
    _print_unready(result.unready)
    if result.environments:
        echo(f"Lab environment: {', '.join(result.environments)}")
    if plan.layout != "workspace":
        echo(f"Layout of labs: {plan.layout}")
    for name in result.unbuilt:
        echo(f"The run builds environment {name} first ({describe_size(name)}).")
    if model_settings := _model_settings(plan):
        echo(f"Model settings: {', '.join(model_settings)}.")
        _print_dropped(plan)
    if config.on in (None, "local"):
        for sentence in find_shortfalls(result.lines, cores, machine_memory(), len(gpu_numbers())):
            echo(f"This machine cannot give what is planned: {sentence}.")
    cost = "unknown (set a limit with --cost)" if result.cost is None else f"${result.cost:.2f}"
    without = f", without {plural(len(result.unready), 'task')} not ready" if result.unready else ""
    echo(f"{plural(result.trials, 'trial')}, {result.done} done{without}.")
    if expected:
        echo(f"Expected cost: {format_cost(expected[0])}, by the mean of {plural(expected[1], 'finished trial')}.")
    echo(f"Maximum time: {format_duration(result.time)} on {plural(cores, 'core')}. Maximum cost: {cost}.")


def _print_dropped(plan: "Plan") -> None:
    """Print the settings that models would not get, if the client library is installed that knows."""
    try:
        dropped = plan.find_dropped()
    except MissingDependency:
        return
    for models, roles in zip(plan.models, dropped.values(), strict=True):
        for role, names in roles.items():
            echo(f"Not sent to {models.get(role, models['main'])} ({role}), whose client drops it: {', '.join(names)}.")


def _model_settings(plan: "Plan") -> list[str]:
    """Return the settings of models, and those of single roles, as they are written after --set."""
    from assay.models.settings import is_role

    texts = []
    for name, value in plan.model_settings.items():
        by_key = {f"{name}.{key}": own for key, own in value.items()} if is_role(name, value) else {name: value}
        texts += [f"{key}={json.dumps(own)}" for key, own in by_key.items()]
    return texts


def _earlier_runs(out: Path | None) -> list[Path]:
    """Return the runs whose trials tell what others may cost: those below this folder, and the one planned for."""
    planned = [out] if out and (out / "run.json").exists() else []
    return list({path.resolve(): path for path in [*planned, *list_newest_runs(Path())]})


def _print_unready(unready: Mapping[str, str]) -> None:
    """Print the tasks that cannot be run yet, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for task, why in unready.items():
        by_reason.setdefault(why.replace(task, "TASK"), []).append(task)
    for reason, tasks in by_reason.items():
        what, _, advice = reason.partition("; ")
        echo(f"Not ready: {', '.join(tasks)}: {what.removeprefix('TASK ')}")
        if advice:
            echo(f"  {advice.replace('TASK', ' '.join(tasks))}")


@dataclass(frozen=True)
class _UsedPreset:
    name: str
    title: str
    source: str
    settings: dict[str, Any]
    overridden: dict[str, str]


def _used_preset(plan: "Plan", config: "PlanConfig") -> _UsedPreset | None:
    """Return what a preset sets in this plan, and which of its settings are overridden."""
    from assay.runs.plan_config import flat_settings, load_preset

    if config.preset is None:
        return None
    preset = load_preset(config.preset)
    used: dict[str, Any] = {}
    overridden: dict[str, str] = {}
    for key, value in flat_settings(preset.plan).items():
        origin = plan.origins[key]
        if origin == f"preset {config.preset}":
            used[key] = value
        else:
            overridden[key] = origin
    return _UsedPreset(config.preset, preset.title, preset.source.strip(), used, overridden)
