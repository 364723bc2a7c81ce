"""`assay report`."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from assay.cli.arguments import RunPath
from assay.cli.output import as_json, echo, find_newest_run, imported_suite, open_registry, print_tables
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.core.progress import ProgressBars
from assay.records import RunFolder

if TYPE_CHECKING:
    from assay.interop.importers import Results
    from assay.results.frame import Frame
    from assay.results.inference import ErrorKind
    from assay.web.trials import TrialPart


@click.command("report")
@click.argument("paths", nargs=-1, type=RunPath(), metavar="[RUN]…")
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
    "--pdf",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the page as PDF, by Chromium, which must be installed.",
)
@click.option(
    "--columns",
    metavar="NAME,…",
    default=None,
    help="With --latex or --markdown: the columns of the table of agents.  [default: all]",
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
@click.option("--explain", is_flag=True, help="Also say what each column is, how it is computed, and pass@k.")
@click.option(
    "--violations", is_flag=True, help="Also show success with flagged trials as failures; see assay study violations."
)
@imported_suite
@click.pass_obj
def report_command(
    folders: tuple[Path, ...],
    paths: tuple[Path, ...],
    json_: bool,
    csv_: bool,
    markdown: bool,
    latex: bool,
    trials: bool,
    html: Path | None,
    pdf: Path | None,
    columns: str | None,
    figures: Path | None,
    error: "ErrorKind",
    explain: bool,
    violations: bool,
    suite: str | None,
) -> None:
    """Show the results of runs as a table, CSV, JSON, Markdown, LaTeX, HTML, PDF or figures.

    RUN is a run folder or a zip file of assay export; without one, the newest run is used. Several runs are reported
    together, and agents whose code, budget or other settings differ are kept apart. RUN can also be what another
    harness wrote, as for assay compare.

    \b
    Examples:
      assay report
      assay report runs/first runs/second
      assay report first.zip --html report.html --trials
      assay report runs/first --csv --trials > trials.csv
      assay report runs/first --latex --columns "agent,success,rate" > table.tex
      assay report runs/first --pdf report.pdf
      assay report runs/first --figures figures
      assay report harbor-jobs
    """
    from assay.interop.importers import read_results

    formats = {"--json": json_, "--csv": csv_, "--markdown": markdown, "--latex": latex}
    chosen = [name for name, is_chosen in formats.items() if is_chosen]
    if len(chosen) > 1:
        raise UsageError(f"Pass only one of {' and '.join(chosen)}")
    if trials and not (csv_ or html or pdf):
        raise UsageError("--trials requires --csv, --html or --pdf")
    if columns and not (latex or markdown):
        raise UsageError("--columns requires --latex or --markdown")
    results = read_results(paths or [find_newest_run()], open_registry(folders), suite=suite)
    if chosen:
        text = _format_data(results, chosen[0], trials and not html, error, columns)
        echo(text, nl=not text.endswith("\n"))
    elif not html and not pdf and not figures:
        _print_results(results.frame, results.runs, error, explain=explain)
    if violations:
        if chosen:
            raise UsageError("--violations adds to the table; it cannot be used with other formats")
        _print_violations(results.runs)
    if html:
        _write_page(results, html, with_trials=trials)
    if pdf:
        from assay.web.pdf import print_page

        with TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            _write_page(results, page, with_trials=trials, quiet=True)
            print_page(page, pdf)
        echo(f"Wrote {pdf}", err=True)
    if figures:
        _write_figures(results.frame, figures)


def _print_violations(runs: Sequence[RunFolder]) -> None:
    from assay.results.frame import read_frame
    from assay.studies.violations import compute_strict_rates, find_violations, make_rate_table

    flagged = {trial for run in runs for trial, findings in find_violations(run).items() if findings}
    echo()
    print_tables([make_rate_table(compute_strict_rates(read_frame(*runs), flagged))])


def _format_data(results: "Results", form: str, trials: bool, error: "ErrorKind", columns: str | None) -> str:
    from assay.results.estimate import summarize_tasks
    from assay.results.report import report_data, score_table, to_latex, to_markdown, trials_table

    frame = results.frame
    if trials:
        return trials_table(frame).to_csv()
    if form == "--json":
        return json.dumps(report_data(frame, results.title, datetime.now(UTC)), indent=2, allow_nan=False)
    if form == "--csv":
        return score_table(summarize_tasks(frame)).to_csv()
    names = [name.strip() for name in columns.split(",")] if columns else []
    try:
        return (
            to_markdown(frame, results.title, error, names) if form == "--markdown" else to_latex(frame, error, names)
        )
    except ValueError as problem:
        raise UsageError(f"--columns: {problem}") from None


def print_report(*runs: RunFolder) -> None:
    """Print the results of runs: who is better, then tables."""
    from assay.results.frame import read_frame

    _print_results(read_frame(*runs), runs, "tasks")


def _print_results(frame: "Frame", runs: Sequence[RunFolder], error: "ErrorKind", *, explain: bool = False) -> None:
    from assay.results.report import make_report
    from assay.results.verdict import summarize_verdicts

    removed = Counter[str](trial.status for run in runs for trial in run.file.removed)
    if tables := make_report(frame, error, explain=explain):
        if verdicts := summarize_verdicts(frame):
            echo("\n".join([*verdicts, ""]))
        print_tables(tables)
    else:
        echo("No trials yet.")
    if removed:
        echo(f"Removed from the run by its user: {', '.join(f'{n} {status}' for status, n in removed.items())}.")


def _write_page(results: "Results", path: Path, *, with_trials: bool = False, quiet: bool = False) -> None:
    """Write results as an HTML page, on request with what happened in each trial."""
    from assay.results.disclosure import disclose_agents
    from assay.results.paired import compare_if_possible
    from assay.results.search_tree import collect_trees
    from assay.web.report import render_page

    path.parent.mkdir(parents=True, exist_ok=True)
    with ProgressBars().stage("rendering the report"):
        frame = results.frame
        comparisons, refusal = compare_if_possible(frame)
        page = render_page(
            frame,
            frame.panels,
            title=results.title,
            created_at=results.created_at,
            trees=[] if with_trials else [tree for run in results.runs for tree in collect_trees(run)],
            disclosures=disclose_agents(frame),
            comparisons=comparisons,
            refusal=refusal,
            parts=_make_parts(frame) if with_trials else (),
        )
    atomic_write(path, page, mode=None)
    if not quiet:
        echo(f"Wrote {path}: open {path.resolve().as_uri()}", err=True)


def _make_parts(trials: "Frame") -> "Sequence[TrialPart]":
    from assay.web.trials import make_trial_parts

    return list(make_trial_parts(trials))


def _write_figures(frame: "Frame", folder: Path) -> None:
    from assay.web.report import write_figures

    with ProgressBars().stage("drawing the figures"):
        written = write_figures(frame, frame.panels, folder)
    echo(f"Wrote {len(written)} files to {folder}", err=True)
