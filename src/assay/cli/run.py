"""`assay run` and `assay resume`."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import echo, quiet
from assay.cli.planning import execution_options, make_plan, plan_options, read_flags
from assay.cli.report import print_report
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.core.text import plural
from assay.records import RunFolder, TrialFolder
from assay.records.fork import fork

if TYPE_CHECKING:
    from assay.runs.driver import Unstarted
    from assay.runs.plan_config import PlanConfig


@click.command("run")
@plan_options
@quiet
@click.pass_context
def run_command(ctx: click.Context, /, quiet: bool, **options: Any) -> None:
    """Run agents on tasks and grade their submissions.

    The same command with the same --out runs only what is missing, so it can be repeated after any interruption. A plan
    file has the same settings as the flags; flags take precedence. assay plan shows what would be done.

    \b
    Examples:
      assay run pocket --agent starter --agent automl --seeds 3 --time 60s --out runs/first
      assay run pocket --agent research --model openai/gpt-5 --role fast=openai/gpt-5-mini --cost 5
      assay run plan.toml --seeds 1
    """
    plan, config = make_plan(ctx)
    run = RunFolder(config.out or Path("runs") / f"{datetime.now():%Y-%m-%d-%H%M%S}")
    run.add(list(plan.trials(Home.default())))
    _execute(run, config, quiet, resumed=False)


@click.command("resume")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN|TRIAL")
@click.option("--step", type=click.IntRange(0), default=None, help="With a trial: fork it from this step.")
@execution_options
@quiet
@click.pass_context
def resume_command(ctx: click.Context, /, folder: Path, step: int | None, quiet: bool, **options: Any) -> None:
    """Resume an interrupted run, or one trial of it. Finished trials are left alone.

    A trial continues from its last step, with its files, messages and remaining budget. Trials that failed because of
    the infrastructure or a model's provider are tried again. With --step, the trial stays as it is and a new trial
    continues from that step.

    \b
    Examples:
      assay resume runs/first
      assay resume runs/first/trials/digits-research-1-0a1b2c3d4e --step 7
    """
    from assay.runs.plan_config import PlanConfig, config_from_flags, resolve_config

    config, _ = resolve_config(config_from_flags(read_flags(ctx)), PlanConfig())
    if not (folder / "trial.json").exists():
        if step is not None:
            raise UsageError(f"--step requires a trial, and {folder} is not one")
        _execute(RunFolder(folder), config, quiet, resumed=True)
        return
    run, trial = RunFolder(folder.resolve().parent.parent), TrialFolder(folder.resolve())
    if step is not None:
        trial = fork(run, trial, step)
        echo(f"Forked from step {step}: {trial.path}", err=True)
    _execute(run, config, quiet, resumed=True, only=trial.path.name)


def _execute(run: RunFolder, config: "PlanConfig", quiet: bool, *, resumed: bool, only: str | None = None) -> None:
    from assay.cli.live import show_run
    from assay.runs.driver import Stopped, execute_run
    from assay.runs.executors import ExecutorConfig, load_executor_config, make_executor, save_executor_config
    from assay.runs.retry import Allowance, Retries

    chosen = {"attempts": config.attempts, "wait": config.retry_wait}
    retries = Retries(**{name: value for name, value in chosen.items() if value is not None})  # type: ignore[arg-type]
    given = {name: value for name in ("on", "slurm", "data_from", "lease") if (value := getattr(config, name))}
    # A resumed run continues where it ran before, unless another executor is given.
    previous = load_executor_config(run) if resumed and "on" not in given else ExecutorConfig()
    executor_config = ExecutorConfig.model_validate(previous.model_dump() | given)
    executor = make_executor(executor_config, run, Home.default(), cores=config.cores, retries=retries)
    save_executor_config(run, executor_config)
    try:
        unstarted = execute_run(
            run,
            executor,
            only=only,
            progress=NoProgress() if quiet else show_run(run),
            retries=retries,
            allowance=Allowance(config.total_time, config.total_cost),
        )
    except Stopped:
        echo(f"error: interrupted; to continue, run: assay resume {run.path}", err=True)
        raise click.exceptions.Exit(130) from None
    _print_end(run, unstarted)


def _print_end(run: RunFolder, unstarted: "Unstarted | None") -> None:
    print_report(run)
    echo(f"\nRun folder: {run.path}\nFor an HTML page, run: assay report {run.path} --html report.html")
    if unstarted:
        verb = "was" if unstarted.trials == 1 else "were"
        echo(
            f"{plural(unstarted.trials, 'trial')} {verb} not started because {unstarted.why}; "
            f"to continue, run: assay resume {run.path}"
        )
    failed = [trial for trial in run.trials() if trial.state.cause == "infrastructure"]
    if failed:
        raise AssayError(
            f"{len(failed)} of {len(run.file.trials)} trials could not run ({failed[0].state.reason}); "
            f"to try again, run: assay resume {run.path}"
        )
