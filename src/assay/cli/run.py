"""`assay run` and `assay resume`."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import quiet
from assay.cli.planning import execution_options, plan_options, planned
from assay.cli.report import print_report
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.records import RunFolder, TrialFolder
from assay.records.fork import fork

if TYPE_CHECKING:
    from assay.runs.plan_config import PlanConfig


@click.command("run")
@plan_options
@quiet
@click.pass_context
def run_command(ctx: click.Context, /, quiet: bool, **said: Any) -> None:
    """Let agents work on tasks, and grade what they hand in.

    The same call with the same folder does only what is missing, so it can be repeated after any interruption. A plan
    file says what flags say; a flag wins over it. assay plan shows what would be done.

    \b
    Example:
      assay run pocket --agent starter --agent automl --seeds 3 --time 60s --out runs/first
      assay run pocket --agent research --model openai/gpt-5 --role fast=openai/gpt-5-mini --cost 5
      assay run plan.toml --seeds 1
    """
    plan, wanted = planned(ctx)
    run = RunFolder(wanted.out or Path("runs") / f"{datetime.now():%Y-%m-%d-%H%M%S}")
    run.add(list(plan.trials(Home.default())))
    _execute(run, wanted, quiet, anew=True)


def _execution_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(execution_options):
        command = option(command)
    return command


@click.command("resume")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN|TRIAL")
@click.option("--step", type=click.IntRange(0), default=None, help="With a trial: begin a new one from that step.")
@_execution_options
@quiet
def resume_command(folder: Path, step: int | None, quiet: bool, **said: Any) -> None:
    """Go on with a run, or with one trial of it, after any interruption; finished trials are left alone.

    A trial goes on from its last step, with its files, its messages and what is left of its budget. What the machine or
    a model's provider failed is tried again. With --step the trial is left as it is, and a new one goes on from the
    step that is named.

    \b
    Example:
      assay resume runs/first
      assay resume runs/first/trials/digits-research-1-0a1b2c3d4e --step 7
    """
    from assay.runs.plan_config import PlanConfig, config_from_flags, resolve_config

    wanted, _ = resolve_config(
        config_from_flags({name: value for name, value in said.items() if value is not None}), PlanConfig()
    )
    if not (folder / "trial.json").exists():
        if step is not None:
            raise UsageError(f"--step goes with a trial; {folder} is not one")
        _execute(RunFolder(folder), wanted, quiet)
        return
    run, trial = RunFolder(folder.resolve().parent.parent), TrialFolder(folder.resolve())
    if step is not None:
        trial = fork(run, trial, step)
        click.echo(f"A new trial goes on from step {step}: {trial.path}", err=True)
    _execute(run, wanted, quiet, only=trial.path.name)


def _execute(run: RunFolder, wanted: "PlanConfig", quiet: bool, only: str | None = None, anew: bool = False) -> None:
    from assay.cli.live import watching
    from assay.runs.driver import Stopped, execute_run
    from assay.runs.executors import ExecutorConfig, load_executor_config, make_executor, save_executor_config
    from assay.runs.retry import Allowance, Retries

    chosen = {"attempts": wanted.attempts, "wait": wanted.retry_wait}
    retries = Retries(**{name: value for name, value in chosen.items() if value is not None})  # type: ignore[arg-type]
    said = {name: value for name in ("on", "slurm", "data_from", "lease") if (value := getattr(wanted, name))}
    # Where a run goes on that is taken up again: where it was, unless something else is said.
    before = ExecutorConfig() if anew or "on" in said else load_executor_config(run)
    place = ExecutorConfig.model_validate(before.model_dump() | said)
    executor = make_executor(place, run, Home.default(), cores=wanted.cores, retries=retries)
    save_executor_config(run, place)
    try:
        left = execute_run(
            run,
            executor,
            only=only,
            progress=NoProgress() if quiet else watching(run),
            retries=retries,
            allowance=Allowance(wanted.total_time, wanted.total_cost),
        )
    except Stopped:
        click.echo(f"assay: stopped; go on with: assay resume {run.path}", err=True)
        raise click.exceptions.Exit(130) from None
    print_report(run)
    click.echo(f"\nThe run is in {run.path}; as a page: assay report {run.path} --html report.html")
    if left:
        trials = "1 trial was" if left.trials == 1 else f"{left.trials} trials were"
        click.echo(f"{trials} not started, because {left.why}; go on with: assay resume {run.path}")
    broken = [trial for trial in run.trials() if trial.state.cause == "infrastructure"]
    if broken:
        told = f"{len(broken)} of {len(run.file.trials)} trials could not run"
        raise AssayError(f"{told} ({broken[0].state.why}); try again with: assay resume {run.path}")
