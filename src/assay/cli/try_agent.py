"""`assay try`."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.arguments import read_duration
from assay.cli.complete import complete_agents, complete_tasks
from assay.cli.output import as_json, choose_progress, echo, echo_json, print_tables, quiet, sandbox
from assay.cli.planning import read_flags
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.regression import Attempt

_MAX_LINES = 10
_NOT_SETTINGS = ("agent", "history", "label", "against", "fail_on", "log", "diff", "yes", "seeds")


@click.command("try")
@click.argument("agent", required=False, metavar="AGENT[,SETTING=VALUE…]", shell_complete=complete_agents)
@click.argument("names", nargs=-1, metavar="[TASK|SUITE|SPLIT]…", shell_complete=complete_tasks)
@click.option("--label", default="", help="Label of this version.")
@click.option("--against", metavar="VERSION", help="Compare with this number or label.  [default: the version before]")
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(["worse", "broken", "unknown"]),
    help="Exit with 1 if the version is worse, if it broke where the one before has a score, or if it is not known "
    "whether it is better or worse. Can be repeated.",
)
@click.option("--log", is_flag=True, help="Show the history of versions instead.")
@click.option("--diff", is_flag=True, help="Show what changed in the code.")
@click.option(
    "--history",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of the history.  [default: runs/try/AGENT]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    help="Trials per task, by default 3; without tasks, how often the quick set is repeated, by default once.",
)
@click.option("--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="Model to use.")
@click.option(
    "--set", "model_settings", multiple=True, metavar="[ROLE.]NAME=VALUE", help="Model setting, e.g. temperature=0."
)
@click.option("--time", "time_", metavar="DURATION", callback=read_duration, help="Time per trial.  [default: 2m]")
@click.option("--steps", type=click.IntRange(1), default=None, help="Steps per trial.  [default: set by the task]")
@click.option("--tokens", type=click.IntRange(1), default=None, help="Tokens per trial, over all models.")
@click.option("--cost", type=click.FloatRange(0, min_open=True), default=None, help="Cost per trial in US dollars.")
@click.option("--cores", type=click.IntRange(1), default=None, help="Cores to use.  [default: all]")
@click.option("--yes", is_flag=True, help="Pay for models without asking.")
@sandbox
@quiet
@as_json
@click.pass_context
def try_command(
    ctx: click.Context,
    /,
    agent: str | None,
    names: tuple[str, ...],
    label: str,
    against: str | None,
    fail_on: tuple[str, ...],
    log: bool,
    diff: bool,
    history: Path | None,
    seeds: int | None,
    yes: bool,
    quiet: bool,
    json_: bool,
    **options: Any,
) -> None:
    """Try a changed agent on a quick set of tasks, and compare it with the version before.

    The quick set is pocket:smoke and miniatures of eight kinds of competitions, each with two seeds. Versions are
    compared by score, paired by task and seed. They differ in code, settings or models; the same version is not run
    again. A version with paid models says what it costs before it starts.

    \b
    Examples:
      assay try my_agent.py:Agent --label "larger network"
      assay try my_agent.py:Agent --fail-on worse --fail-on broken
      assay try my_agent.py:Agent pocket:quick --seeds 5
      assay try --log --diff
    """
    from assay.regression import try_agent
    from assay.runs.execute import Reporting

    folders: tuple[Path, ...] = ctx.obj
    if len(folders) > 1:
        raise UsageError("A run takes at most one --tasks folder")
    if log:
        _show_log(agent, history, diff, json_)
        return
    if agent is None:
        raise UsageError("No agent given; pass path.py:Class or a name, or --log for the history")
    settings = {key: value for key, value in read_flags(ctx).items() if key not in (*_NOT_SETTINGS, "tasks")}
    attempt = try_agent(
        agent,
        tasks=names,
        seeds=seeds,
        history=history,
        label=label,
        against=against,
        settings=settings,
        folder=folders[0] if folders else None,
        allow_cost=partial(_allow_cost, yes=yes),
        reporting=Reporting(choose_progress(quiet or json_), partial(echo, err=True)),
    )
    table = attempt.to_table()
    if json_:
        change = attempt.change
        echo_json(
            "try/1",
            version=attempt.version.model_dump(mode="json"),
            against=attempt.against.number if attempt.against else None,
            outcome=attempt.outcome,
            sentence=attempt.sentence,
            run=str(attempt.run.path),
            pairs=len(change.pairs) if change else 0,
            unpaired=change.unpaired if change else (),
            answers=change.answers if change else None,
            changes=table.to_records() if table else [],
            broken=[row.trial for row in attempt.broken],
            failed=attempt.list_failures(),
        )
    else:
        _show(attempt)
        if diff:
            _show_diff(attempt.history.diff(attempt.against, attempt.version))
    failed = {
        "worse": attempt.outcome == "worse",
        "broken": bool(attempt.broken),
        "unknown": attempt.outcome == "not known",
    }
    if any(failed[reason] for reason in fail_on):
        ctx.exit(1)


def _allow_cost(cost: str, *, yes: bool) -> None:
    echo(cost, err=True)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("Nobody can be asked whether to pay for that; pass --yes")
    if not click.confirm("Continue?", err=True):
        raise UsageError("Nothing was run")


def _show(attempt: "Attempt") -> None:
    echo(attempt.sentence)
    change, table = attempt.change, attempt.to_table()
    if change and change.answers:
        echo(f"On tasks like these: {change.answers.like.outcome}.")
    if change and change.unpaired:
        echo(f"Not compared: {'; '.join(change.unpaired[:3])}{'; …' if len(change.unpaired) > 3 else ''}.")
    if table:
        echo()
        print_tables([replace(table, rows=table.rows[:_MAX_LINES])])
        _say_how_many_more(len(table.rows))
    if failures := attempt.list_failures():
        echo()
        for line in failures[:_MAX_LINES]:
            echo(line)
        _say_how_many_more(len(failures))
    added, removed = attempt.lines
    since = f" since version {attempt.against.number}" if attempt.against else ""
    echo()
    echo(f"Version {attempt.version.number}: +{added} −{removed} lines of code{since}. Run folder: {attempt.run.path}")


def _say_how_many_more(lines: int) -> None:
    if lines > _MAX_LINES:
        echo(f"{lines - _MAX_LINES} more with --json")


def _show_log(agent: str | None, folder: Path | None, diff: bool, json_: bool) -> None:
    from assay.regression.history import History, find_histories, name_history
    from assay.regression.try_agent import FOLDER

    if agent and folder is None:
        folder = FOLDER / name_history(agent.partition(",")[0])
    histories = [History(folder)] if folder else find_histories(FOLDER)
    histories = [history for history in histories if history.versions()]
    if not histories:
        raise UsageError(f"No version was tried yet below {folder or FOLDER}; to try one, run: assay try path.py:Class")
    if json_:
        echo_json("try-log/1", histories=[history.to_table().to_dict() for history in histories])
        return
    for number, history in enumerate(histories):
        if number:
            echo()
        print_tables([history.to_table()])
        versions = history.versions()
        for version in versions:
            if version.result and version.result.sentence:
                echo(f"  {version.number}: {version.result.sentence}")
        if diff:
            for before, after in pairwise(versions):
                echo(f"\nVersion {before.number} to {after.name}, {after.created_at}")
                _show_diff(history.diff(before, after))


def _show_diff(lines: Iterable[str]) -> None:
    for line in lines:
        echo(line)
