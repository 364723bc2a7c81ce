"""`assay report`."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import click

from assay.cli.output import as_json, echo, make_console, run_argument
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.core.progress import ProgressBars
from assay.records import RunFolder


@click.command("report")
@run_argument
@as_json
@click.option("--csv", "csv_", is_flag=True, help="Print CSV.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a self-contained HTML page.",
)
@click.option("--paper", is_flag=True, help="Show the tables of the MLAgentBench paper: success, improvement, effort.")
@click.option("--published", is_flag=True, help="Like --paper, next to the figures published for the suite.")
def report_command(folder: Path, json_: bool, csv_: bool, html: Path | None, paper: bool, published: bool) -> None:
    """Show the results of a run as a table, CSV, JSON or HTML.

    \b
    Examples:
      assay report runs/first
      assay report runs/first --html report.html
      assay report runs/first --csv > results.csv
      assay report runs/first --paper --published
    """
    if json_ and csv_:
        raise UsageError("Pass only one of --json and --csv")
    run = RunFolder(folder)
    if paper or published:
        if csv_ or html:
            raise UsageError("--paper and --published cannot be used with --csv or --html")
        print_paper(run, with_published=published, json_=json_)
    elif json_ or csv_:
        from assay.results import tables
        from assay.results.collect import collect_outcomes
        from assay.results.statistics import summarize_cells

        outcomes = collect_outcomes(run)
        text = (
            tables.to_json(outcomes, run.name, datetime.now(UTC)) if json_ else tables.to_csv(summarize_cells(outcomes))
        )
        echo(text, nl=not text.endswith("\n"))
    elif not html:
        print_report(run)
    if html:
        write_page(run, html)


def print_report(run: RunFolder) -> None:
    """Print the results of a run as a table."""
    from assay.results import tables
    from assay.results.collect import collect_outcomes

    removed = Counter[str](trial.status for trial in run.file.removed)
    make_console().print(tables.results_table(collect_outcomes(run), removed))


def print_paper(run: RunFolder, *, with_published: bool, json_: bool) -> None:
    """Print the tables of the MLAgentBench paper for a run, with the published figures if wanted."""
    from assay.results import paper_tables
    from assay.results.collect import find_published_figures
    from assay.results.paper import evaluate_trials, summarize_paper

    figures = find_published_figures(run) if with_published else {}
    papers = summarize_paper(evaluate_trials(run))
    if json_:
        echo(paper_tables.to_json(papers, figures, run.name, datetime.now(UTC)), nl=False)
    else:
        make_console().print(paper_tables.paper_table(papers, figures))


def write_page(run: RunFolder, path: Path) -> None:
    """Write the results of a run as an HTML page."""
    from assay.results.collect import collect_outcomes, find_panels
    from assay.results.report import render_page
    from assay.results.search_tree import collect_trees

    path.parent.mkdir(parents=True, exist_ok=True)
    with ProgressBars().stage("rendering the report"):
        created_at = datetime.fromisoformat(run.file.created_at)
        page = render_page(
            collect_outcomes(run), find_panels(run), title=run.name, created_at=created_at, trees=collect_trees(run)
        )
    atomic_write(path, page)
    echo(f"Wrote {path}", err=True)
