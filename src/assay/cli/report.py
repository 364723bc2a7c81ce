"""`assay report`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from assay.cli.output import as_json
from assay.disk import write_whole
from assay.errors import CallError
from assay.progress import Bars
from assay.records import RunFolder


@click.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@as_json
@click.option("--csv", "csv_", is_flag=True, help="Print CSV instead of a table.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write one self-contained page.")
def report_command(folder: Path, json_: bool, csv_: bool, html: Path | None) -> None:
    """Show the results of a run: table, CSV, JSON or HTML.

    \b
    Example:
      assay report runs/first
      assay report runs/first --html report.html
      assay report runs/first --csv > results.csv
    """
    if json_ and csv_:
        raise CallError("choose one of --json and --csv")
    run = RunFolder(folder)
    if json_ or csv_:
        from assay.results import tables
        from assay.results.collect import collect
        from assay.results.statistics import cells

        collected = collect(run)
        made_at = datetime.now(UTC)
        text = tables.to_json(collected, run.name, made_at) if json_ else tables.to_csv(cells(collected))
        click.echo(text, nl=not text.endswith("\n"))
    elif not html:
        print_report(run)
    if html:
        write_page(run, html)


def print_report(run: RunFolder) -> None:
    """Print the table of a run."""
    from rich.console import Console

    from assay.results import tables
    from assay.results.collect import collect

    Console().print(tables.table(collect(run)))


def write_page(run: RunFolder, path: Path) -> None:
    """Write the page of a run."""
    from assay.results.collect import collect, panels
    from assay.results.report import html

    path.parent.mkdir(parents=True, exist_ok=True)
    with Bars().stage("drawing the page"):
        made_at = datetime.fromisoformat(run.file.created_at)
        page = html(collect(run), panels(run), title=run.name, made_at=made_at)
    write_whole(path, page)
    click.echo(f"page: {path}", err=True)
