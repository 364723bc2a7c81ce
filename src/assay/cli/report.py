"""`assay report`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from assay.cli.output import as_json
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.core.progress import ProgressBars
from assay.records import RunFolder


@click.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@as_json
@click.option("--csv", "csv_", is_flag=True, help="Print CSV instead of a table.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write one self-contained page.")
@click.option("--paper", is_flag=True, help="The MLAgentBench paper's tables: success, improvement, how the work went.")
@click.option("--published", is_flag=True, help="The same, beside the figures published for the suite.")
def report_command(folder: Path, json_: bool, csv_: bool, html: Path | None, paper: bool, published: bool) -> None:
    """Show the results of a run: table, CSV, JSON or HTML.

    \b
    Example:
      assay report runs/first
      assay report runs/first --html report.html
      assay report runs/first --csv > results.csv
      assay report runs/first --paper --published
    """
    if json_ and csv_:
        raise UsageError("choose one of --json and --csv")
    run = RunFolder(folder)
    if paper or published:
        if csv_ or html:
            raise UsageError("--paper and --published print tables, or with --json JSON; not --csv, not --html")
        print_paper(run, beside=published, json_=json_)
    elif json_ or csv_:
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


def print_paper(run: RunFolder, *, beside: bool, json_: bool) -> None:
    """Print the paper's tables of a run, beside published figures if these are wanted."""
    from rich.console import Console

    from assay.results import paper_tables
    from assay.results.collect import published_figures
    from assay.results.paper import evaluated, papers

    figures = published_figures(run) if beside else {}
    made = papers(evaluated(run))
    if json_:
        click.echo(paper_tables.to_json(made, figures, run.name, datetime.now(UTC)), nl=False)
    else:
        Console().print(paper_tables.tables(made, figures))


def write_page(run: RunFolder, path: Path) -> None:
    """Write the page of a run."""
    from assay.results.collect import collect, panels
    from assay.results.report import html

    path.parent.mkdir(parents=True, exist_ok=True)
    with ProgressBars().stage("drawing the page"):
        made_at = datetime.fromisoformat(run.file.created_at)
        page = html(collect(run), panels(run), title=run.name, made_at=made_at)
    atomic_write(path, page)
    click.echo(f"page: {path}", err=True)
