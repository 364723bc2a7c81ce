"""`assay report`."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.complete import complete_runs
from assay.cli.output import as_json, echo, find_newest_run, open_run, print_tables
from assay.core.disk import atomic_write
from assay.core.errors import MissingDependency, UsageError
from assay.core.progress import ProgressBars
from assay.records import RunFolder

if TYPE_CHECKING:
    from assay.results.frame import Frame
    from assay.results.inference import ErrorKind
    from assay.web.trials import TrialPart


@click.command("report")
@click.argument(
    "paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[RUN]…", shell_complete=complete_runs
)
@as_json
@click.option("--csv", "csv_", is_flag=True, help="Print CSV: a row per agent and task.")
@click.option("--markdown", is_flag=True, help="Print Markdown tables.")
@click.option("--latex", is_flag=True, help="Print LaTeX tables, which need the package booktabs.")
@click.option("--trials", is_flag=True, help="With --csv: a row per trial. With --html: what happened in each trial.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a self-contained HTML page.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the figures as SVG and PNG.",
)
@click.option(
    "--error",
    type=click.Choice(["tasks", "seeds", "attempts"]),
    default="tasks",
    show_default=True,
    help="Kind of standard error: clustered by task, over seeds, or as if all attempts were independent.",
)
@click.option(
    "--violations", is_flag=True, help="Also show success with flagged trials as failures; see assay study violations."
)
def report_command(
    paths: tuple[Path, ...],
    json_: bool,
    csv_: bool,
    markdown: bool,
    latex: bool,
    trials: bool,
    html: Path | None,
    figures: Path | None,
    error: "ErrorKind",
    violations: bool,
) -> None:
    """Show the results of runs as a table, CSV, JSON, Markdown, LaTeX, HTML or figures.

    RUN is a run folder or a zip file of assay export; without one, the newest run is used. Several runs are reported
    together, and agents whose code, budget or other settings differ are kept apart.

    \b
    Examples:
      assay report
      assay report runs/first runs/second
      assay report first.zip --html report.html --trials
      assay report runs/first --csv --trials > trials.csv
      assay report runs/first --latex > table.tex
      assay report runs/first --figures figures
    """
    formats = {"--json": json_, "--csv": csv_, "--markdown": markdown, "--latex": latex}
    chosen = [name for name, is_chosen in formats.items() if is_chosen]
    if len(chosen) > 1:
        raise UsageError(f"Pass only one of {' and '.join(chosen)}")
    if trials and not (csv_ or html):
        raise UsageError("--trials requires --csv or --html")
    runs = [open_run(path) for path in paths or [find_newest_run()]]
    if chosen:
        text = _format_data(runs, chosen[0], trials and not html, error)
        echo(text, nl=not text.endswith("\n"))
    elif not html and not figures:
        print_report(*runs, error=error)
    if violations:
        if chosen:
            raise UsageError("--violations adds to the table; it cannot be used with other formats")
        _print_violations(runs)
    if html:
        write_page(runs, html, with_trials=trials)
    if figures:
        _write_figures(runs, figures)


def _print_violations(runs: Sequence[RunFolder]) -> None:
    from assay.results.frame import read_frame
    from assay.studies.violations import compute_strict_rates, find_violations, make_rate_table

    flagged = {trial for run in runs for trial, findings in find_violations(run).items() if findings}
    echo()
    print_tables([make_rate_table(compute_strict_rates(read_frame(*runs), flagged))])


def _format_data(runs: Sequence[RunFolder], form: str, trials: bool, error: "ErrorKind") -> str:
    from assay.results.estimate import summarize_tasks
    from assay.results.frame import read_frame
    from assay.results.report import report_data, score_table, to_latex, to_markdown, trials_table

    frame = read_frame(*runs)
    if trials:
        return trials_table(frame).to_csv()
    if form == "--json":
        return json.dumps(report_data(frame, _title(runs), datetime.now(UTC)), indent=2, allow_nan=False)
    if form == "--csv":
        return score_table(summarize_tasks(frame)).to_csv()
    return to_markdown(frame, _title(runs), error) if form == "--markdown" else to_latex(frame, error)


def _title(runs: Sequence[RunFolder]) -> str:
    return ", ".join(run.name for run in runs)


def print_report(*runs: RunFolder, error: "ErrorKind" = "tasks") -> None:
    """Print the results of runs as a table."""
    from assay.results.frame import read_frame
    from assay.results.report import make_report

    removed = Counter[str](trial.status for run in runs for trial in run.file.removed)
    if tables := make_report(read_frame(*runs), error):
        print_tables(tables)
    else:
        echo("No trials yet.")
    if removed:
        echo(f"Removed from the run by its user: {', '.join(f'{n} {status}' for status, n in removed.items())}.")


def write_page(runs: Sequence[RunFolder], path: Path, *, with_trials: bool = False) -> None:
    """Write the results of runs as an HTML page, on request with what happened in each trial."""
    from assay.results.disclosure import disclose_agents
    from assay.results.frame import read_frame
    from assay.results.paired import compare_if_possible
    from assay.results.search_tree import collect_trees
    from assay.web.report import render_page

    path.parent.mkdir(parents=True, exist_ok=True)
    with ProgressBars().stage("rendering the report"):
        frame = read_frame(*runs)
        comparisons, refusal = compare_if_possible(frame)
        page = render_page(
            frame,
            frame.panels,
            title=_title(runs),
            created_at=max(datetime.fromisoformat(run.file.created_at) for run in runs),
            trees=[] if with_trials else [tree for run in runs for tree in collect_trees(run)],
            disclosures=disclose_agents(frame),
            comparisons=comparisons,
            refusal=refusal,
            parts=_make_parts(frame) if with_trials else (),
        )
    atomic_write(path, page, mode=None)
    echo(f"Wrote {path}: open {path.resolve().as_uri()}", err=True)


def _make_parts(trials: "Frame") -> "Sequence[TrialPart]":
    try:
        from assay.web.trials import make_trial_parts
    except ImportError:
        raise MissingDependency("The HTML report", "web") from None
    return list(make_trial_parts(trials))


def _write_figures(runs: Sequence[RunFolder], folder: Path) -> None:
    from assay.results.frame import read_frame
    from assay.web.report import write_figures

    with ProgressBars().stage("drawing the figures"):
        frame = read_frame(*runs)
        written = write_figures(frame, frame.panels, folder)
    echo(f"Wrote {len(written)} files to {folder}", err=True)
