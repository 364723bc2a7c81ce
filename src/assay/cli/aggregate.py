"""`assay aggregate`."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from assay.cli.output import as_json, registry, table
from assay.results.aggregate import aggregate, read_reports


@click.command("aggregate")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--split", required=True, help="A suite, a split such as mlebench:low or just low, or a file of task names."
)
@click.option("--seeds", type=click.IntRange(1), default=None, help="How many seeds to use; default: all there are.")
@click.option("--pad-missing", is_flag=True, help="Count missing reports as failures instead of refusing.")
@as_json
@click.pass_obj
def aggregate_command(
    folders: tuple[Path, ...], reports: tuple[Path, ...], split: str, seeds: int | None, pad_missing: bool, json_: bool
) -> None:
    """Add up grading reports over seeds: medal rates, standard errors, pass@k.

    Reports are those of `assay grade --batch` and those of the published benchmark alike.

    \b
    Example:
      assay aggregate seed1/*_grading_report.json seed2/*_grading_report.json --split low
    """
    added = aggregate(read_reports(reports), registry(folders).names(split), seeds=seeds, pad_missing=pad_missing)
    if json_:
        interval = "Wilson score over all trials, 95 %"
        click.echo(
            json.dumps({"format": "aggregate/1", "split": split, "interval": interval, **asdict(added)}, indent=2)
        )
        return
    click.echo(
        f"{added.competitions} competitions × {added.seeds} seeds" + (f", {added.padded} padded" * bool(added.padded))
    )
    rows = [
        [
            name.removesuffix("_percentage").replace("_", " "),
            f"{rate.mean:.2f} ± {rate.standard_error:.2f}",
            f"{rate.low:.1f}–{rate.high:.1f}",
            "  ".join(f"{value:.2f}" for value in rate.per_seed),
        ]
        for name, rate in added.rates.items()
    ]
    table(["rate, %", "mean ± standard error", "95 % interval", "by seed"], rows)
    click.echo("any medal in k tries, %: " + "  ".join(f"pass@{k} {value:.2f}" for k, value in added.pass_at.items()))
    click.echo("The interval is Wilson's, over all trials of all seeds; it stays within 0 and 100.")
