"""`assay plan`."""

import json
import os
from dataclasses import asdict
from typing import Any

import click

from assay.cli.output import as_json, table
from assay.cli.planning import plan_options, planned
from assay.core.home import Home
from assay.records import RunFolder


@click.command("plan")
@plan_options
@as_json
@click.pass_context
def plan_command(ctx: click.Context, /, json_: bool, **said: Any) -> None:
    """Show what a plan file, or the same flags as of assay run, would do, without doing it.

    With --out, or a folder named in the plan, trials that are finished there are not counted again.

    \b
    Example:
      assay plan plan.toml
      assay plan pocket --agent automl --seeds 3 --time 60s
    """
    from assay.results.wording import counted, duration, plain
    from assay.runs.forecast import forecast

    plan, wanted = planned(ctx)
    cores = wanted.cores or len(os.sched_getaffinity(0))
    found = forecast(plan, Home.default(), cores, RunFolder(wanted.out) if wanted.out else None)
    if json_:
        totals = {"trials": found.trials, "done": found.done, "time": found.time, "cost": found.cost}
        content = {"lines": [asdict(line) for line in found.lines], "unready": found.unready, "cores": cores} | totals
        click.echo(json.dumps(content, indent=2))
        return
    rows = [
        [
            line.task,
            plain(line.agent),
            ", ".join(f"{role} {model}" for role, model in line.models.items()) or "–",
            str(line.seeds),
            str(line.done),
            f"{duration(line.time)}, {line.steps} steps",
            "unknown" if line.cost is None else f"{line.cost:.2f}",
        ]
        for line in found.lines
    ]
    table(["task", "agent", "models", "seeds", "done", "budget each", "dollars each, at most"], rows)
    click.echo("")
    for task, why in found.unready.items():
        click.echo(f"{task} is not ready: {why}")
    money = "an unknown amount (set a limit with --cost)" if found.cost is None else f"{found.cost:.2f} dollars"
    click.echo(f"{counted(found.trials, 'trial')}, {found.done} of them done.")
    click.echo(f"At most {duration(found.time)} on {counted(cores, 'core')}, and {money}.")
