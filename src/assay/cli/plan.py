"""`assay plan`."""

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import as_json, echo, print_table
from assay.cli.planning import make_plan, plan_options
from assay.core.home import Home
from assay.records import RunFolder

if TYPE_CHECKING:
    from assay.runs.plan import Plan
    from assay.runs.plan_config import PlanConfig


@click.command("plan")
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
    from assay.core.quantities import format_duration
    from assay.core.text import plural
    from assay.runs.forecast import forecast

    plan, config = make_plan(ctx)
    cores = config.cores or len(os.sched_getaffinity(0))
    preset = _used_preset(plan, config)
    result = forecast(plan, Home.default(), cores, RunFolder(config.out) if config.out else None)
    if json_:
        content = {
            "lines": [asdict(line) for line in result.lines],
            "unready": result.unready,
            "preset": preset and asdict(preset),
            "cores": cores,
            "trials": result.trials,
            "done": result.done,
            "time": result.time,
            "cost": result.cost,
        }
        echo(json.dumps(content, indent=2))
        return
    rows = [
        [
            line.task,
            line.agent,
            ", ".join(f"{role}={model}" for role, model in line.models.items()) or "–",
            str(line.seeds),
            str(line.done),
            f"{format_duration(line.time)}, {line.steps} steps",
            "unknown" if line.cost is None else f"${line.cost:.2f}",
        ]
        for line in result.lines
    ]
    print_table(["task", "agent", "models", "seeds", "done", "budget per trial", "max cost per trial"], rows)
    echo()
    if preset:
        echo(f"Preset {preset.name}: {preset.title}\n{preset.source}")
        print_table(["setting", "value"], [[key, json.dumps(value)] for key, value in preset.settings.items()])
        for key, origin in preset.overridden.items():
            echo(f"{key} is set by {origin} instead.")
        echo()
    for task, why in result.unready.items():
        echo(f"{task} is not ready: {why}")
    cost = "unknown (set a limit with --cost)" if result.cost is None else f"${result.cost:.2f}"
    echo(f"{plural(result.trials, 'trial')}, {result.done} done.")
    if config.out and (config.out / "run.json").exists():
        from assay.runs.forecast import expected_cost

        if expected := expected_cost(RunFolder(config.out), result.trials - result.done):
            cost_by_mean, finished = expected
            echo(f"Expected cost, by the mean of {plural(finished, 'finished trial')}: ${cost_by_mean:.2f}.")
    echo(f"Maximum time: {format_duration(result.time)} on {plural(cores, 'core')}. Maximum cost: {cost}.")


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
