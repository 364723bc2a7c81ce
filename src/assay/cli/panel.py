"""`assay new panel`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.audit.reference_panel import keep_measurements, measure_panel, save_measurements
from assay.cli.output import (
    as_json,
    choose_progress,
    echo,
    edition,
    load_data,
    open_registry,
    print_tables,
    quiet,
    sandbox,
    variant,
)
from assay.core.home import Home
from assay.core.table import Column, Table

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName


@click.command("panel")
@click.argument("task")
@edition
@variant
@sandbox
@click.option("--seeds", default=5, show_default=True, type=click.IntRange(1), help="Number of runs of the starter.")
@click.option("--panel-seeds", default=3, show_default=True, type=click.IntRange(1), help="Runs of each solution.")
@click.option("--write", "store", is_flag=True, help="Also store the figures in the task's folder, for all machines.")
@quiet
@as_json
@click.pass_obj
def panel_command(
    folders: tuple[Path, ...],
    task: str,
    edition: str | None,
    variant: str | None,
    sandbox: "SandboxName",
    seeds: int,
    panel_seeds: int,
    store: bool,
    quiet: bool,
    json_: bool,
) -> None:
    """Measure the starter and the reference solutions of a task, each in a fresh lab.

    The figures are stored with the task's prepared data: from then on, grades of this edition and variant say how much
    better than the starter a submission is, and whether that is a success.

    \b
    Examples:
      assay new panel pocket/house-price
      assay new panel mlagentbench/feedback --variant synthetic-0 --seeds 3
    """
    known = open_registry(folders).task(task)
    progress = choose_progress(quiet or json_)
    home = Home.default()
    chosen = load_data(home, known, edition, variant).variant
    measured = measure_panel(
        home,
        known,
        edition=edition,
        variant=chosen,
        sandbox=sandbox,
        seeds=seeds,
        panel_seeds=panel_seeds,
        progress=progress,
    )
    path = keep_measurements(home, known, measured)
    if store:
        path = save_measurements(known, measured)
    if json_:
        echo(measured.model_dump_json(indent=2))
        return
    stored = {solution.name: solution.score for solution in known.measured.panel} if known.measured else {}
    columns = (Column("solution"), *(Column(name, kind="number") for name in ("score", "spread", "stored score")))
    rows = [
        (solution.name, solution.score, solution.spread, stored.get(solution.name), solution.seconds)
        for solution in measured.panel
    ]
    echo(f"starter: {measured.baseline:.5f} ± {measured.baseline_spread:.3g} over {measured.baseline_seeds} seeds")
    if rows:
        print_tables([Table("panel", (*columns, Column("time", kind="duration")), tuple(rows))])
    echo(f"Stored in {path}")
