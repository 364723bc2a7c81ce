"""`assay export`."""

import json
from pathlib import Path

import click

from assay.cli.complete import complete_runs
from assay.cli.output import choose_progress, echo, find_newest_run, open_registry, open_run, print_tables, quiet
from assay.core.errors import MissingDependency, UsageError
from assay.core.table import Column, Table


@click.command("export")
@click.argument("names", nargs=-1, metavar="[RUN|TASK…]", shell_complete=complete_runs)
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
@click.option(
    "--harbor",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="Write tasks as Harbor task folders: those named, or all.",
)
@click.option(
    "--sign", "signs", is_flag=True, help="Store the digest of the run's records in its folder, and print it."
)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="With --sign: Ed25519 private key; its public key is what others check with assay verify --trust.",
)
@click.option(
    "--variant",
    metavar="NAME",
    default=None,
    help="With --harbor: the variant of the data.  [default: synthetic-0, or real where a task has no miniature]",
)
@click.option(
    "--to",
    "formats",
    nargs=2,
    multiple=True,
    type=(str, click.Path(file_okay=False, path_type=Path)),
    metavar="FORMAT DIR",
    help="Write results in the format of others, such as every-eval-ever. Can be repeated.",
)
@click.option(
    "--schema", metavar="FORMAT", help="Print the JSON schema of a file format, such as grade/1; list names all."
)
@quiet
@click.option("--json", "json_", is_flag=True, help="With --sign: print the signature as JSON.")
@click.pass_obj
def export_command(
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    out: Path | None,
    submissions: bool,
    reports: Path | None,
    logs: Path | None,
    harbor: Path | None,
    signs: bool,
    key: Path | None,
    variant: str | None,
    formats: tuple[tuple[str, Path], ...],
    schema: str | None,
    quiet: bool,
    json_: bool,
) -> None:
    """Export a run: one zip file for a leaderboard, grading reports, or other formats. Or export tasks for Harbor.

    The zip file has the plan, logs, grades, hashes and grading reports; the same run always gives the same bytes.
    Unpacked, it is a run folder without the content of snapshots. assay study aggregate reads the grading reports.

    With --sign, publish the digest where it cannot be changed later: with it, assay verify --digest detects even a log
    that was rewritten as a whole. With a key, which stays on this machine, the run is signed; keys of ssh-keygen -t
    ed25519 work, too.

    \b
    Examples:
      assay export runs/first --out first.zip
      assay export runs/first --out first.zip --submissions --reports reports
      assay export runs/first --inspect logs
      assay export runs/first --sign --key team --out first.zip
      assay export runs/first --to every-eval-ever shared
      assay export --harbor tasks pocket mlebench:low
      assay export --schema grade/1 > grade.schema.json
    """
    from assay.core.disk import write_json
    from assay.results.export import build_reports, export_run

    if schema:
        _print_schema(schema)
        return
    if harbor:
        if out or reports or logs or formats or signs:
            raise UsageError("--harbor exports tasks, not a run; drop --out, --reports, --inspect, --to and --sign")
        _export_tasks(folders, names, harbor, variant, quiet)
        return
    if (key or json_) and not signs:
        raise UsageError("--key and --json require --sign")
    if out is None and reports is None and logs is None and not formats and not signs:
        raise UsageError("Nothing to export; pass --out, --reports, --inspect, --to, --harbor or --sign")
    if len(names) > 1:
        raise UsageError(f"Only one run can be exported at a time; {len(names)} were given")
    folder = Path(names[0]) if names else find_newest_run()
    if not folder.exists():
        raise UsageError(f"{folder} does not exist; pass the folder of a run")
    if formats:
        _export_results(folders, folder, formats)
    if out is None and reports is None and logs is None and not signs:
        return
    run = open_run(folder)
    if signs:
        from assay.records.signature import sign

        signature = sign(run, key)
        echo(signature.model_dump_json(indent=2) if json_ else signature.digest)
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


def _print_schema(name: str) -> None:
    from assay.interop.schemas import FORMATS, make_schema

    if name == "list":
        rows = tuple((format, meaning) for format, (_, meaning) in FORMATS.items())
        print_tables([Table("formats", (Column("format"), Column("file", kind="prose")), rows)])
    else:
        echo(json.dumps(make_schema(name), indent=2))


def _export_results(folders: tuple[Path, ...], source: Path, formats: tuple[tuple[str, Path], ...]) -> None:
    from assay.interop.exporters import EXPORTERS
    from assay.interop.importers import read_results

    exporters = [(EXPORTERS.load(name), target) for name, target in formats]
    results = read_results([source], open_registry(folders))
    for exporter, target in exporters:
        for path in exporter.write(results, target):
            echo(path)


def _export_tasks(
    folders: tuple[Path, ...], names: tuple[str, ...], target: Path, variant: str | None, quiet: bool
) -> None:
    from assay.core.home import Home
    from assay.core.text import plural
    from assay.data.store import prepare
    from assay.interop.harbor.dataset import folder_name, write_task

    registry, home, progress = open_registry(folders), Home.default(), choose_progress(quiet)
    tasks = registry.select_all(names) if names else list(registry.tasks())
    target.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        miniature = (task.folder / "synthetic.py").is_file()
        chosen = {None: "synthetic-0" if miniature else "real", "synthetic": "synthetic-0"}.get(variant, variant)
        assert chosen is not None
        data = prepare(home, task, None, chosen, progress=progress)
        write_task(target / folder_name(task), data, home)
    echo(f"Wrote {plural(len(tasks), 'task')} to {target}; docs/harbor.md says how to run them.")
