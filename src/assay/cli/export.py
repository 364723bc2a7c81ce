"""`assay export`."""

from pathlib import Path

import click

from assay.core.errors import UsageError
from assay.records import RunFolder


@click.command("export")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), default=None, help="The zip file to write; a new one."
)
@click.option("--submissions", is_flag=True, help="Pack what was handed in, too; its hashes are always in it.")
@click.option(
    "--reports",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Write the published grading reports into this folder, one for each agent and seed.",
)
@click.option(
    "--inspect",
    "logs",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Write logs for `inspect view` into this folder, one for each agent.",
)
def export_command(folder: Path, out: Path | None, submissions: bool, reports: Path | None, logs: Path | None) -> None:
    """Pack a run into one file for a leaderboard: what was asked, logs, grades, hashes, and the published reports.

    The same run always gives the same file. Unpacked, it is a run folder without snapshots; assay aggregate reads the
    reports.

    \b
    Example:
      assay export runs/first --out first.zip
      assay export runs/first --out first.zip --submissions --reports reports
      assay export runs/first --inspect logs
    """
    from assay.core.disk import write_json
    from assay.results.export import export, published_reports

    if out is None and reports is None and logs is None:
        raise UsageError("nothing to write: name a zip file with --out, or a folder with --reports or --inspect")
    run = RunFolder(folder)
    head = export(run, out, submissions=submissions) if out else None
    if reports:
        for place, content in published_reports(run).items():
            (reports / place).parent.mkdir(parents=True, exist_ok=True)
            write_json(reports / place, content)
    if logs:
        try:
            from assay.interop.inspect.logs import write_eval_logs
        except ModuleNotFoundError as error:
            raise UsageError(f"logs for Inspect need more packages: pip install 'assay[agents]' ({error})") from None
        for path in write_eval_logs(run, logs):
            click.echo(path)
    if out:
        click.echo(f"{out}, {out.stat().st_size:,} bytes; the head of the run is {head}")
