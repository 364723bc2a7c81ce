"""`assay run` and `assay resume`."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.arguments import TrialPath
from assay.cli.output import ask_for_trust, choose_progress, echo, quiet
from assay.cli.planning import (
    PlanCommand,
    execution_options,
    make_plan,
    plan_options,
    read_flags,
    trust_option,
)
from assay.cli.report import print_report
from assay.cli.view import viewing
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.core.text import plural
from assay.records import RunFolder, TrialFolder
from assay.records.fork import fork

if TYPE_CHECKING:
    from assay.runs.driver import Unstarted
    from assay.runs.plan_config import PlanConfig
    from assay.runs.planned import Allow


@click.command("run", cls=PlanCommand)
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
    from assay.runs.execute import Reporting, add_trials, choose_run_folder

    if failed and not again:
        raise UsageError("--failed requires --again")
    folders = [Path(name) for name in ctx.params["names"]]
    if again and folders and all(_is_run(folder) or (folder / "trial.json").exists() for folder in folders):
        _rerun_folders(ctx, folders, failed, quiet)
        return
    plan, config = make_plan(ctx)
    run = choose_run_folder(config)
    files = add_trials(run, [plan], config, Home.default(), Reporting(choose_progress(quiet), partial(echo, err=True)))
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
    from assay.runs.executors import ExecutorConfig
    from assay.runs.planned import check_planned
    from assay.runs.rerun import find_newest, rerun

    newest = {trial.path.name: trial for trial in (find_newest(run, trial) for trial in trials)}.values()
    chosen = [trial for trial in newest if trial.state.final and (not failed or trial.state.status == "failed")]
    check_planned(run, (trial.file for trial in chosen), ExecutorConfig(), Home.default(), _choose_answer(), _tasks())
    names = [rerun(run, trial, Home.default()).path.name for trial in chosen]
    what = "failed trials" if failed else "finished trials"
    echo(f"Rerunning {plural(len(names), 'trial')}." if names else f"There are no {what} to rerun.", err=True)
    return names


@click.command("resume")
@click.argument("folder", type=TrialPath(or_run=True), metavar="RUN|TRIAL")
@click.option("--step", type=click.IntRange(0), default=None, help="With a trial: fork it from this step.")
@trust_option("Allow a run from elsewhere to run its agent's code, use its addresses and read files outside it.")
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
      assay resume digits-research-1 --step 7
    """
    from assay.runs.plan_config import PlanConfig, config_from_flags, resolve_config
    from assay.runs.planned import inherit

    config, _ = resolve_config(config_from_flags(read_flags(ctx)), PlanConfig())
    if not (folder / "trial.json").exists():
        if step is not None:
            raise UsageError(f"--step requires a trial, and {folder} is not one")
        _execute(RunFolder(folder), config, quiet, resumed=True)
        return
    run, trial = _run_of(folder), TrialFolder(folder.resolve())
    if step is not None:
        parent, trial = trial, fork(run, trial, step)
        inherit(Home.default(), parent.file, trial.file)
        echo(f"Forked from step {step}: {trial.path.name}", err=True)
    _execute(run, config, quiet, resumed=True, only=[trial.path.name])


def _execute(
    run: RunFolder, config: "PlanConfig", quiet: bool, *, resumed: bool, only: list[str] | None = None
) -> None:
    _print_end(run, run_unfinished(run, config, quiet, resumed=resumed, only=only))


def run_unfinished(
    run: RunFolder, config: "PlanConfig", quiet: bool, *, resumed: bool = False, only: list[str] | None = None
) -> "Unstarted | None":
    """Run what is missing of a run while showing its progress; an interruption ends the command."""
    from assay.cli.live import show_run
    from assay.runs.driver import Stopped
    from assay.runs.execute import Reporting, execute_trials

    reporting = Reporting(NoProgress() if quiet else show_run(run), partial(echo, err=True))
    try:
        return execute_trials(
            run, config, Home.default(), reporting, only=only, resumed=resumed, allow=_choose_answer(), tasks=_tasks()
        )
    except Stopped:
        echo(f"error: interrupted; to continue, run: assay resume {run.path}", err=True)
        raise click.exceptions.Exit(130) from None


def _choose_answer() -> "Allow":
    """Return who says whether a run that was not planned here is trusted: the option, or the person at the terminal."""
    trust = bool(click.get_current_context().params.get("trust"))
    return lambda run, risks: ask_for_trust(f"{run}, which was not planned here,", risks, trust=trust)


def _tasks() -> tuple[Path, ...]:
    folders: tuple[Path, ...] = click.get_current_context().obj
    return folders


def _print_end(run: RunFolder, unstarted: "Unstarted | None") -> None:
    from assay.runs.execute import check_infrastructure

    print_report(run)
    echo(f"\nRun folder: {run.path}\nTo see every step, run: assay view {run.path}")
    if unstarted:
        verb = "was" if unstarted.trials == 1 else "were"
        echo(
            f"{plural(unstarted.trials, 'trial')} {verb} not started because {unstarted.why}; "
            f"to continue, run: assay resume {run.path}"
        )
    check_infrastructure(run)
