"""`assay panel`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.audit.reference_panel import measure_panel, save_measurements
from assay.cli.output import as_json, edition, quiet, registry, sandbox, table
from assay.core.home import Home
from assay.core.progress import NoProgress, ProgressBars

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName


@click.command("panel")
@click.argument("task")
@edition
@sandbox
@click.option(
    "--seeds", default=5, show_default=True, type=click.IntRange(1), help="Runs of the starter for its spread."
)
@click.option("--write", "keep", is_flag=True, help="Keep the figures in the task's folder, with date and versions.")
@quiet
@as_json
@click.pass_obj
def panel_command(
    folders: tuple[Path, ...],
    task: str,
    edition: str | None,
    sandbox: "SandboxName",
    seeds: int,
    keep: bool,
    quiet: bool,
    json_: bool,
) -> None:
    """Measure a task's starter and reference solutions again, each in a fresh lab.

    \b
    Example:
      assay panel pocket/house-price
    """
    found, home = registry(folders).task(task), Home.default()
    progress = NoProgress() if quiet or json_ else ProgressBars()
    measured = measure_panel(home, found, edition=edition, sandbox=sandbox, seeds=seeds, progress=progress)
    if keep:
        save_measurements(found, measured)
    if json_:
        click.echo(measured.model_dump_json(indent=2))
        return
    kept = {solution.name: solution.score for solution in found.measured.panel} if found.measured else {}
    rows = [
        [one.name, f"{one.score:.5f}", f"{kept[one.name]:.5f}" if one.name in kept else "", f"{one.seconds:.1f} s"]
        for one in measured.panel
    ]
    click.echo(
        f"starter: {measured.baseline:.5f} ± {measured.baseline_spread:.3g} over {measured.baseline_seeds} seeds"
    )
    table(["solution", "score", "kept figure", "time"], rows)
