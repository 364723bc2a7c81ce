"""`assay run` and `assay resume`."""

from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.complete import complete_trials
from assay.cli.output import choose_progress, echo, quiet
from assay.cli.planning import execution_options, make_plan, plan_options, read_flags
from assay.cli.report import print_report
from assay.cli.view import viewing
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.core.text import plural
from assay.records import RunFolder, TrialFolder
from assay.records.fork import fork

if TYPE_CHECKING:
    from assay.runs.driver import Unstarted
    from assay.runs.plan import Plan
    from assay.runs.plan_config import PlanConfig


@click.command("run")
@plan_options
@click.option(
    "--again",
    is_flag=True,
    help="Rerun finished trials: those of the plan, or the RUN or TRIAL folders given instead of tasks.",
)
@click.option("--failed", is_flag=True, help="With --again: only failed trials.")
@click.option("--view", is_flag=True, help="Show the run in the browser while it is in progress, like assay view.")
@quiet
@click.pass_context
def run_command(ctx: click.Context, /, again: bool, failed: bool, view: bool, quiet: bool, **options: Any) -> None:
    """Run agents on tasks and grade their submissions.

    The same command with the same --out runs only what is missing, so it can be repeated after any interruption. The
    code of an agent is part of a trial: after a change to it, the same command adds new trials, and reports keep the
    versions apart. With --again, finished trials are run once more; the new ones replace them in reports, which say so.

    A plan file has the same settings as the flags; flags take precedence. assay plan shows what would be done.

    \b
    Examples:
      assay run pocket --agent starter --agent automl --time 60s --out runs/first
      assay run pocket --agent research --model openai/gpt-5 --cost 5
      assay run plan.toml --seeds 1
      assay run --again --failed runs/first
      assay run --again runs/first/trials/digits-automl-1-0a1b2c3d4e
    """
    from assay.runs.executors import ExecutorConfig, check_executor_config

    if failed and not again:
        raise UsageError("--failed requires --again")
    folders = [Path(name) for name in ctx.params["names"]]
    if again and folders and all(_is_run(folder) or (folder / "trial.json").exists() for folder in folders):
        _rerun_folders(ctx, folders, failed, quiet)
        return
    plan, config = make_plan(ctx)
    check_executor_config(ExecutorConfig.model_validate(_executor_settings(config)))
    run = RunFolder(config.out or Path("runs") / f"{datetime.now():%Y-%m-%d-%H%M%S}")
    if config.build is not False:
        build_environments(plan, quiet)
    files = list(plan.trials(Home.default()))
    run.add(files)
    others = sorted({file.variant for file in files if file.variant != "real"})
    if others and config.variant is None:
        echo(f"Using {', '.join(others)} data where it is the only variant that is prepared.", err=True)
    if again:
        _rerun(run, [TrialFolder(run.path / "trials" / file.id) for file in files], failed)
    with viewing(run.path) if view else nullcontext():
        _execute(run, config, quiet, resumed=False)


def _rerun_folders(ctx: click.Context, folders: list[Path], failed: bool, quiet: bool) -> None:
    """Rerun the trials of a run, or trials by their folders."""
    from assay.runs.plan_config import PlanConfig, config_from_flags, resolve_config

    flags = read_flags(ctx)
    flags.pop("tasks")
    config, _ = resolve_config(config_from_flags(flags), PlanConfig())
    runs = {folder.resolve() if _is_run(folder) else folder.resolve().parent.parent for folder in folders}
    if len(runs) > 1:
        raise UsageError(f"--again takes one run at a time, not {len(runs)}")
    run = RunFolder(folders[0]) if _is_run(folders[0]) else _run_of(folders[0])
    trials = [TrialFolder(folder.resolve()) for folder in folders if not _is_run(folder)]
    names = _rerun(run, trials or [trial for trial in run.trials() if trial.file.parent is None], failed)
    _execute(run, config, quiet, resumed=True, only=names)


def _run_of(trial: Path) -> RunFolder:
    """Return the run of a trial, by the shorter of its names: from here, or from the root."""
    path = trial.resolve().parent.parent
    return RunFolder(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").exists()


def _rerun(run: RunFolder, trials: list[TrialFolder], failed: bool) -> list[str]:
    """Add reruns of finished trials, and return their ids."""
    from assay.runs.rerun import find_newest, rerun

    newest = {trial.path.name: trial for trial in (find_newest(run, trial) for trial in trials)}.values()
    chosen = [trial for trial in newest if trial.state.final and (not failed or trial.state.status == "failed")]
    names = [rerun(run, trial, Home.default()).path.name for trial in chosen]
    what = "failed trials" if failed else "finished trials"
    echo(f"Rerunning {plural(len(names), 'trial')}." if names else f"There are no {what} to rerun.", err=True)
    return names


def build_environments(plan: "Plan", quiet: bool) -> None:
    """Build the environments that labs need and this machine lacks, after saying how large they are."""
    from assay.lab.environments import build_environment, describe_size, is_built

    home = Home.default()
    for name in plan.environments(home):
        if not is_built(home, name):
            echo(f"Building environment {name} ({describe_size(name)}); --no-build refuses this.", err=True)
            build_environment(home, name, choose_progress(quiet))


@click.command("resume")
@click.argument(
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="RUN|TRIAL",
    shell_complete=complete_trials,
)
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
    run, trial = _run_of(folder), TrialFolder(folder.resolve())
    if step is not None:
        trial = fork(run, trial, step)
        echo(f"Forked from step {step}: {trial.path.name}", err=True)
    _execute(run, config, quiet, resumed=True, only=[trial.path.name])


def _execute(
    run: RunFolder, config: "PlanConfig", quiet: bool, *, resumed: bool, only: list[str] | None = None
) -> None:
    unstarted = execute_trials(run, config, quiet, resumed=resumed, only=only)
    _print_end(run, unstarted)


def execute_trials(
    run: RunFolder, config: "PlanConfig", quiet: bool, *, resumed: bool = False, only: list[str] | None = None
) -> "Unstarted | None":
    """Run what is missing of a run, and return what was not started; an interruption ends the command."""
    from assay.cli.live import show_run
    from assay.runs.driver import Stopped, execute_run
    from assay.runs.executors import ExecutorConfig, load_executor_config, make_executor, save_executor_config
    from assay.runs.retry import Allowance, Retries

    chosen = {"attempts": config.attempts, "wait": config.retry_wait}
    retries = Retries(**{name: value for name, value in chosen.items() if value is not None})  # type: ignore[arg-type]
    given = _executor_settings(config)
    # A resumed run continues where it ran before, unless another executor is given.
    previous = load_executor_config(run) if resumed and "on" not in given else ExecutorConfig()
    executor_config = ExecutorConfig.model_validate(previous.model_dump() | given)
    _warn(run)
    executor = make_executor(executor_config, run, Home.default(), cores=config.cores, retries=retries)
    save_executor_config(run, executor_config)
    try:
        return execute_run(
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


def _executor_settings(config: "PlanConfig") -> dict[str, Any]:
    return {name: value for name in ("on", "slurm", "data_from", "lease") if (value := getattr(config, name))}


def _warn(run: RunFolder) -> None:
    """Warn of what could lead to wrong conclusions: a busy machine, and trials of older versions of an agent."""
    from assay.runs.hashes import is_outdated
    from assay.runs.machine_load import describe_load, read_load

    unfinished = [trial for trial in run.trials() if not trial.state.final]
    if unfinished and (busy := describe_load(read_load())):
        echo(f"warning: {busy}", err=True)
    outdated = [trial for trial in unfinished if is_outdated(trial.file)]
    if outdated:
        echo(
            f"warning: {plural(len(outdated), 'unfinished trial')} of an earlier version of an agent will not "
            f"be run; to remove them, run: assay clean {run.path} --outdated",
            err=True,
        )


def _print_end(run: RunFolder, unstarted: "Unstarted | None") -> None:
    print_report(run)
    echo(f"\nRun folder: {run.path}\nFor an HTML page, run: assay report {run.path} --html report.html")
    if unstarted:
        verb = "was" if unstarted.trials == 1 else "were"
        echo(
            f"{plural(unstarted.trials, 'trial')} {verb} not started because {unstarted.why}; "
            f"to continue, run: assay resume {run.path}"
        )
    check_infrastructure(run)


def check_infrastructure(run: RunFolder) -> None:
    """Raise an error if trials failed because of the infrastructure, not of an agent."""
    failed = [trial for trial in run.trials() if trial.state.cause == "infrastructure"]
    if failed:
        raise AssayError(
            f"{len(failed)} of {len(run.file.trials)} trials could not run ({failed[0].state.reason}); "
            f"to try again, run: assay resume {run.path}"
        )
