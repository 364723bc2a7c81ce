"""`assay plan`."""

import json
import os
from dataclasses import asdict
from typing import Any

import click

from assay.cli.output import as_json, echo, print_table
from assay.cli.planning import make_plan, plan_options
from assay.core.home import Home
from assay.records import RunFolder


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
    """
    from assay.core.quantities import format_duration
    from assay.core.text import plural
    from assay.runs.forecast import forecast

    plan, config = make_plan(ctx)
    cores = config.cores or len(os.sched_getaffinity(0))
    result = forecast(plan, Home.default(), cores, RunFolder(config.out) if config.out else None)
    if json_:
        content = {
            "lines": [asdict(line) for line in result.lines],
            "unready": result.unready,
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
    for task, why in result.unready.items():
        echo(f"{task} is not ready: {why}")
    cost = "unknown (set a limit with --cost)" if result.cost is None else f"${result.cost:.2f}"
    echo(f"{plural(result.trials, 'trial')}, {result.done} done.")
    echo(f"Maximum time: {format_duration(result.time)} on {plural(cores, 'core')}. Maximum cost: {cost}.")
