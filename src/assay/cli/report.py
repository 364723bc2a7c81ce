"""`assay report`."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from assay.cli.complete import complete_runs
from assay.cli.output import as_json, echo, find_newest_run, make_console, open_run
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.core.progress import ProgressBars
from assay.records import RunFolder


@click.command("report")
@click.argument(
    "paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[RUN]…", shell_complete=complete_runs
)
@as_json
@click.option("--csv", "csv_", is_flag=True, help="Print CSV: a row per agent and task.")
@click.option("--trials", is_flag=True, help="With --csv: a row per trial.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a self-contained HTML page.",
)
@click.option("--paper", is_flag=True, help="Show the tables of the MLAgentBench paper: success, improvement, effort.")
@click.option(
    "--violations", is_flag=True, help="Also show success with flagged trials as failures; see assay study violations."
)
@click.option("--published", is_flag=True, help="Like --paper, next to the figures published for the suite.")
def report_command(
    paths: tuple[Path, ...],
    json_: bool,
    csv_: bool,
    trials: bool,
    html: Path | None,
    paper: bool,
    published: bool,
    violations: bool,
) -> None:
    """Show the results of runs as a table, CSV, JSON or HTML.

    RUN is a run folder or a zip file of assay export; without one, the newest run is used. Several runs are reported
    together, and agents whose code, budget or other settings differ are kept apart.

    \b
    Examples:
      assay report
      assay report runs/first runs/second
      assay report first.zip --html report.html
      assay report runs/first --csv --trials > trials.csv
      assay report runs/first --paper --published
    """
    if json_ and csv_:
        raise UsageError("Pass only one of --json and --csv")
    if trials and not csv_:
        raise UsageError("--trials requires --csv")
    runs = [open_run(path) for path in paths or [find_newest_run()]]
    if paper or published:
        if csv_ or html:
            raise UsageError("--paper and --published cannot be used with --csv or --html")
        for run in runs:
            print_paper(run, with_published=published, json_=json_)
    elif json_ or csv_:
        text = _format_data(runs, json_, trials)
        echo(text, nl=not text.endswith("\n"))
    elif not html:
        print_report(*runs)
    if violations:
        if paper or published or json_ or csv_:
            raise UsageError("--violations adds to the table; it cannot be used with other formats")
        _print_violations(runs)
    if html:
        write_page(runs, html)


def _print_violations(runs: Sequence[RunFolder]) -> None:
    from assay.cli.study import print_strict_rates
    from assay.results.collect import collect_outcomes
    from assay.studies.violations import compute_strict_rates, find_violations

    flagged = {trial for run in runs for trial, findings in find_violations(run).items() if findings}
    print_strict_rates(compute_strict_rates(collect_outcomes(*runs), flagged))


def _format_data(runs: Sequence[RunFolder], json_: bool, trials: bool) -> str:
    from assay.results import tables
    from assay.results.collect import collect_outcomes
    from assay.results.statistics import summarize_cells

    if trials:
        from assay.results.trial_rows import trials_to_csv

        return trials_to_csv(runs)
    outcomes = collect_outcomes(*runs)
    if json_:
        return tables.to_json(outcomes, _title(runs), datetime.now(UTC))
    return tables.to_csv(summarize_cells(outcomes))


def _title(runs: Sequence[RunFolder]) -> str:
    return ", ".join(run.name for run in runs)


def print_report(*runs: RunFolder) -> None:
    """Print the results of runs as a table."""
    from assay.results import tables
    from assay.results.collect import collect_outcomes

    removed = Counter[str](trial.status for run in runs for trial in run.file.removed)
    make_console().print(tables.results_table(collect_outcomes(*runs), removed))


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


def write_page(runs: Sequence[RunFolder], path: Path) -> None:
    """Write the results of runs as an HTML page."""
    from assay.results.collect import collect_outcomes, find_panels
    from assay.results.report import render_page
    from assay.results.search_tree import collect_trees

    path.parent.mkdir(parents=True, exist_ok=True)
    with ProgressBars().stage("rendering the report"):
        page = render_page(
            collect_outcomes(*runs),
            find_panels(*runs),
            title=_title(runs),
            created_at=max(datetime.fromisoformat(run.file.created_at) for run in runs),
            trees=[tree for run in runs for tree in collect_trees(run)],
        )
    atomic_write(path, page)
    echo(f"Wrote {path}: open {path.resolve().as_uri()}", err=True)
