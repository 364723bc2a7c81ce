"""What the commands of studies share: runs to study or to make first, and options that mean the same in all of them."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from assay.cli.output import choose_progress, echo, open_run
from assay.cli.planning import make_plan
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.text import plural
from assay.records import RunFolder

if TYPE_CHECKING:
    from assay.results.comparison import Measure
    from assay.runs.plan import Plan
    from assay.studies.paired import PairedDifference

_MEASURES = ["success", "valid", "percentile", "normalized", "improvement", "wins"]
measure_option = click.option(
    "--measure",
    type=click.Choice(_MEASURES),
    default="success",
    show_default=True,
    callback=lambda ctx, param, value: cast("Measure", value),
    help="What is compared; see assay compare.",
)
figure_option = click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg", help="Draw a figure."
)


def find_runs_to_study(
    ctx: click.Context, vary: "Callable[[Plan, bool], Sequence[Plan]]", quiet: bool
) -> list[RunFolder]:
    """Return the runs that were given, or run the plan at every level of what is varied.

    `vary` is called with the plan and with whether it runs on this machine.
    """
    names = [Path(name) for name in ctx.params["names"]]
    given = [path for path in names if (path / "run.json").exists() or path.suffix == ".zip"]
    if given:
        if len(given) < len(names):
            raise UsageError("Pass either finished runs, or tasks and a plan to run")
        return [open_run(path) for path in given]
    from assay.cli.run import run_unfinished
    from assay.runs.execute import Reporting, add_trials, check_infrastructure, choose_run_folder

    plan, config = make_plan(ctx)
    plans = vary(plan, config.on in (None, "local"))
    run = choose_run_folder(config)
    add_trials(run, plans, config, Home.default(), Reporting(choose_progress(quiet), partial(echo, err=True)))
    unstarted = run_unfinished(run, config, quiet)
    echo(f"Run folder: {run.path}", err=True)
    if unstarted:
        raise UsageError(f"{plural(unstarted.trials, 'trial')} not started because {unstarted.why}; repeat the command")
    check_infrastructure(run)
    return [run]


def write_figure(path: Path | None, draw: Callable[[], str]) -> None:
    """Draw a figure if one is wanted."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, draw())
        echo(f"Wrote {path}", err=True)


def echo_difference(one: "PairedDifference") -> None:
    """Print a paired difference: the means, the difference, how sure it is, and what could have been found."""
    test = "exact" if one.exact else "drawn"
    interval = f"{format_points(one.interval.low)} to {format_points(one.interval.high)}"
    echo(
        f"  {one.first} {format_share(one.first_mean)}, {one.second} {format_share(one.second_mean)}: difference "
        f"{format_points(one.difference)} points, 95 % interval {interval}, p = {one.p:.3f} ({test} sign-flip test)"
    )
    echo(f"  {plural(one.pairs, 'pair')} on {plural(len(one.tasks), 'task')}{_unpaired(one)}")
    if one.mcnemar is not None:
        echo(f"  McNemar's test over pairs of trials: p = {one.mcnemar:.3f}")
    if one.detectable is not None:
        echo(
            f"  Power: {plural(len(one.tasks), 'task')} like these show {100 * one.detectable:.0f} points or more in "
            f"four of five studies; 5 points take {one.tasks_needed:,} tasks."
        )
    else:
        echo("  Power: unknown, because the differences do not vary between tasks.")


def format_share(share: float | None) -> str:
    """Return a share such as `12.5 %`."""
    return "–" if share is None else f"{100 * share:.1f} %".replace("-", "−")


def format_points(share: float | None) -> str:
    """Return a difference in points such as `+3.1`."""
    return "–" if share is None else f"{100 * share:+.1f}".replace("-", "−")


def _unpaired(one: "PairedDifference") -> str:
    return f"; left out without a partner: {plural(one.unpaired, 'trial')}" if one.unpaired else ""
