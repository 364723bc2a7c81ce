"""`assay export`."""

from pathlib import Path

import click

from assay.records import RunFolder


@click.command("export")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The zip file to write; a new one."
)
@click.option("--submissions", is_flag=True, help="Pack what was handed in, too; its hashes are always in it.")
@click.option(
    "--reports",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Also write the published grading reports into this folder, one for each agent and seed.",
)
def export_command(folder: Path, out: Path, submissions: bool, reports: Path | None) -> None:
    """Pack a run into one file for a leaderboard: what was asked, logs, grades, hashes, and the published reports.

    The same run always gives the same file. Unpacked, it is a run folder without snapshots; assay aggregate reads the
    reports.

    \b
    Example:
      assay export runs/first --out first.zip
      assay export runs/first --out first.zip --submissions --reports reports
    """
    from assay.disk import write_json
    from assay.results.export import export, published_reports

    run = RunFolder(folder)
    head = export(run, out, submissions=submissions)
    if reports:
        for place, content in published_reports(run).items():
            (reports / place).parent.mkdir(parents=True, exist_ok=True)
            write_json(reports / place, content)
    click.echo(f"{out}, {out.stat().st_size:,} bytes; the head of the run is {head}")
