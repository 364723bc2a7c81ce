"""`assay clean`."""

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from assay.cli.arguments import TrialPath
from assay.cli.output import echo
from assay.core.errors import UsageError
from assay.core.quantities import format_size
from assay.core.text import plural
from assay.records import RunFolder, TrialFolder


@click.command("clean")
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    type=TrialPath(or_run=True),
    metavar="RUN|TRIAL…",
)
@click.option("--failed", is_flag=True, help="Of a run, remove only failed trials.")
@click.option("--outdated", is_flag=True, help="Of a run, remove only trials of an earlier version of an agent.")
@click.option("--replaced", is_flag=True, help="Of a run, remove only trials that were rerun.")
@click.option("--forks", is_flag=True, help="Of a run, remove only forked trials.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def clean_command(
    folders: tuple[Path, ...], failed: bool, outdated: bool, replaced: bool, forks: bool, yes: bool
) -> None:
    """Remove trials or whole runs from the disk.

    The run keeps the ids of removed trials, and its reports say how many there are: results without the failures would
    mislead. Trials that are running are not removed.

    \b
    Examples:
      assay clean runs/first --outdated
      assay clean runs/first/trials/digits-automl-1-0a1b2c3d4e
      assay clean runs/old --yes
    """
    filters = {"failed": failed, "outdated": outdated, "replaced": replaced, "forks": forks}
    conditions = {name for name, chosen in filters.items() if chosen}
    for folder in folders:
        if (folder / "trial.json").exists():
            if conditions:
                raise UsageError(f"--{min(conditions)} requires a run, and {folder} is a trial")
            trial = TrialFolder(folder.resolve())
            _remove_trials(RunFolder(trial.path.parent.parent), [trial], yes)
            continue
        run = RunFolder(folder)
        trials = _select(run, conditions)
        if not trials and (conditions or not run.file.trials):
            echo(f"{folder}: nothing to remove")
        if trials and conditions:
            _remove_trials(run, trials, yes)
        elif not conditions:
            _remove_run(run, yes)


def _select(run: RunFolder, conditions: set[str]) -> list[TrialFolder]:
    """Return the trials that match any of the filters, or all if there are none."""
    from assay.runs.hashes import is_outdated

    trials = list(run.trials())
    if not conditions:
        return trials
    superseded = {trial.file.replaces for trial in trials}
    chosen = []
    for trial in trials:
        matches = {
            "failed": trial.state.status == "failed",
            "outdated": is_outdated(trial.file),
            "replaced": trial.path.name in superseded,
            "forks": trial.file.parent is not None,
        }
        if any(matches[name] for name in conditions):
            chosen.append(trial)
    return chosen


def _remove_trials(run: RunFolder, trials: list[TrialFolder], yes: bool) -> None:
    _check_idle(trials)
    for trial in trials:
        echo(f"  {trial.path.name}  {trial.state.status}")
    what = f"{plural(len(trials), 'trial')} of {run.path} ({_size(trial.path for trial in trials)})"
    _confirm(what, yes)
    run.remove(trials)
    echo(f"Removed {what}")


def _confirm(what: str, yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise UsageError(f"Not removing {what} without confirmation; pass --yes")
    if not yes:
        click.confirm(f"Remove {what}?", abort=True)


def _remove_run(run: RunFolder, yes: bool) -> None:
    import shutil

    _check_idle(list(run.trials()))
    what = f"the run {run.path} with {plural(len(run.file.trials), 'trial')} ({_size([run.path])})"
    _confirm(what, yes)
    shutil.rmtree(run.path)
    echo(f"Removed {what}")


def _check_idle(trials: list[TrialFolder]) -> None:
    from assay.records.lease import appears_held

    for trial in trials:
        if appears_held(trial.path):
            raise UsageError(f"{trial.path.name} is running; stop it first")


def _size(folders: Iterable[Path]) -> str:
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return format_size(sum(path.stat().st_size for path in files))
