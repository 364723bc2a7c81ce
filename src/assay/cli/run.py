"""`assay run` and `assay resume`."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import edition, quiet, registry, sandbox, variant
from assay.cli.report import print_report
from assay.errors import AssayError, CallError
from assay.home import Home
from assay.progress import Bars, Silent
from assay.records import RunFolder, TrialFolder
from assay.records.fork import fork
from assay.tasks import seconds_of

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A length of time such as 90s, 10m or 1h30m, in seconds."""
    try:
        return None if value is None else seconds_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("run")
@click.argument("names", nargs=-1, required=True, metavar="TASK|SUITE|SPLIT…")
@click.option(
    "--agent", "agents", multiple=True, required=True, help="An agent, NAME[,setting=value…] or path.py:Class."
)
@click.option(
    "--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="What agents think with; several are compared."
)
@click.option(
    "--role", "roles", multiple=True, metavar="ROLE=MODEL", help="Another model for a role: fast, edit, review."
)
@click.option(
    "--set", "model_settings", multiple=True, metavar="NAME=VALUE", help="How models are asked, as temperature=0."
)
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="How many trials of each.")
@click.option(
    "--time", "time_", metavar="DURATION", callback=_seconds, help="Time per trial; default: the task's budget."
)
@click.option("--steps", type=click.IntRange(1), default=None, help="Steps per trial; default: the task's budget.")
@click.option(
    "--working", metavar="DURATION", callback=_seconds, help="Time per trial without waiting for a model's provider."
)
@click.option("--tokens", type=click.IntRange(1), default=None, help="Tokens per trial, of all models together.")
@click.option("--cost", type=click.FloatRange(0, min_open=True), default=None, help="Dollars per trial.")
@edition
@variant
@sandbox
@click.option("--out", type=click.Path(path_type=Path), default=None, help="The run folder; default: runs/DATE.")
@click.option("--cores", type=click.IntRange(1), default=None, help="Cores to use; default: all.")
@quiet
@click.pass_obj
def run_command(
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    agents: tuple[str, ...],
    models: tuple[str, ...],
    roles: tuple[str, ...],
    model_settings: tuple[str, ...],
    seeds: int,
    time_: float | None,
    steps: int | None,
    working: float | None,
    tokens: int | None,
    cost: float | None,
    edition: str | None,
    variant: str,
    sandbox: "SandboxName",
    out: Path | None,
    cores: int | None,
    quiet: bool,
) -> None:
    """Let agents work on tasks, and grade what they hand in.

    The same call with the same folder does only what is missing, so it can be repeated after any interruption.

    \b
    Example:
      assay run pocket --agent starter --agent automl --seeds 3 --time 60s --out runs/first
      assay run pocket --agent research --model openai/gpt-5 --role fast=openai/gpt-5-mini --cost 5
    """
    from assay.runs.plan import Plan

    if len(folders) > 1:
        raise CallError("a run takes tasks from one --tasks folder at the most")
    known = registry(folders)
    plan = Plan(
        tasks=tuple(known.chosen(names)),
        agents=tuple(_agent(text) for text in dict.fromkeys(agents)),
        models=tuple({"main": model, **_pairs("--role", roles)} for model in dict.fromkeys(models)),
        model_settings={name: _value(text) for name, text in _pairs("--set", model_settings).items()},
        seeds=seeds,
        time=time_,
        steps=steps,
        working=working,
        tokens=tokens,
        cost=cost,
        edition=edition,
        variant=variant,
        sandbox=sandbox,
        tasks_folder=folders[0] if folders else None,
    )
    run = RunFolder(out or Path("runs") / f"{datetime.now():%Y-%m-%d-%H%M%S}")
    run.add(list(plan.trials(Home.default())))
    _execute(run, cores, quiet)


@click.command("resume")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN|TRIAL")
@click.option("--step", type=click.IntRange(0), default=None, help="With a trial: begin a new one from that step.")
@click.option("--cores", type=click.IntRange(1), default=None, help="Cores to use; default: all.")
@quiet
def resume_command(folder: Path, step: int | None, cores: int | None, quiet: bool) -> None:
    """Go on with a run, or with one trial of it, after any interruption; finished trials are left alone.

    A trial goes on from its last step, with its files, its messages and what is left of its budget. With --step it is
    left as it is, and a new trial goes on from the step that is named.

    \b
    Example:
      assay resume runs/first
      assay resume runs/first/trials/digits-research-1-0a1b2c3d4e --step 7
    """
    if not (folder / "trial.json").exists():
        if step is not None:
            raise CallError(f"--step goes with a trial; {folder} is not one")
        _execute(RunFolder(folder), cores, quiet)
        return
    run, trial = RunFolder(folder.resolve().parent.parent), TrialFolder(folder.resolve())
    if step is not None:
        trial = fork(run, trial, step)
        click.echo(f"A new trial goes on from step {step}: {trial.path}", err=True)
    _execute(run, cores, quiet, only=trial.path.name)


def _execute(run: RunFolder, cores: int | None, quiet: bool, only: str | None = None) -> None:
    from assay.runs.local import Stopped, execute

    try:
        execute(run, Home.default(), cores=cores, only=only, progress=Silent() if quiet else Bars())
    except Stopped:
        click.echo(f"assay: stopped; go on with: assay resume {run.path}", err=True)
        raise click.exceptions.Exit(130) from None
    print_report(run)
    click.echo(f"\nThe run is in {run.path}; as a page: assay report {run.path} --html report.html")
    broken = [trial for trial in run.trials() if trial.state.cause == "infrastructure"]
    if broken:
        told = f"{len(broken)} of {len(run.file.trials)} trials could not run"
        raise AssayError(f"{told} ({broken[0].state.why}); try again with: assay resume {run.path}")


def _agent(text: str) -> tuple[str, dict[str, str]]:
    """`automl,share=0.5` is the agent `automl` with one setting."""
    name, *settings = text.split(",")
    pairs = [setting.partition("=") for setting in settings]
    if wrong := [setting for setting, equals, _ in pairs if not equals]:
        raise CallError(f"agent {name}: {wrong[0]!r} is not a setting; write {name},setting=value")
    return name, {setting: value for setting, _, value in pairs}


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """`fast=openai/gpt-5-mini` is a name and what it stands for."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [name for name, equals, value in pairs if not equals or not name or not value]:
        raise CallError(f"{option} {wrong[0]}: write NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _value(text: str) -> Any:
    """A setting's value as JSON, or as text where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
