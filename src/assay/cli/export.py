"""`assay export`."""

from pathlib import Path

import click

from assay.cli.output import echo, open_run, run_argument
from assay.core.errors import MissingDependency, UsageError


@click.command("export")
@run_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="Write the run to this zip file, which must not exist.",
)
@click.option("--submissions", is_flag=True, help="Include the submissions. Their hashes are always included.")
@click.option(
    "--reports",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="Write grading reports in the published format, one per agent and seed.",
)
@click.option(
    "--inspect",
    "logs",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="Write logs for `inspect view`, one per agent.",
)
def export_command(folder: Path, out: Path | None, submissions: bool, reports: Path | None, logs: Path | None) -> None:
    """Export a run: one zip file for a leaderboard, grading reports, or Inspect logs.

    The zip file has the plan, logs, grades, hashes and grading reports; the same run always gives the same bytes.
    Unpacked, it is a run folder without the content of snapshots. assay aggregate reads the grading reports.

    \b
    Examples:
      assay export runs/first --out first.zip
      assay export runs/first --out first.zip --submissions --reports reports
      assay export runs/first --inspect logs
    """
    from assay.core.disk import write_json
    from assay.results.export import build_reports, export_run

    if out is None and reports is None and logs is None:
        raise UsageError("Nothing to export; pass --out FILE, --reports DIR or --inspect DIR")
    run = open_run(folder)
    digest = export_run(run, out, submissions=submissions) if out else None
    if reports:
        for name, content in build_reports(run).items():
            (reports / name).parent.mkdir(parents=True, exist_ok=True)
            write_json(reports / name, content, mode=None)
    if logs:
        try:
            from assay.interop.inspect.logs import write_eval_logs
        except ModuleNotFoundError:
            raise MissingDependency("Writing Inspect logs", "agents") from None
        written = list(write_eval_logs(run, logs))
        for path in written:
            echo(path)
        if not written:
            echo("No logs: no trial has ended.", err=True)
    if out:
        echo(f"Wrote {out} ({out.stat().st_size:,} bytes); run digest: {digest}")
