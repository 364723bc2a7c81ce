"""`assay aggregate`."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from assay.cli.output import as_json, echo, open_registry, print_table
from assay.results.aggregate import aggregate_reports, read_reports


@click.command("aggregate")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--split", required=True, help="Suite, split such as mlebench:low or just low, or a file with task names."
)
@click.option("--seeds", type=click.IntRange(1), default=None, help="Number of seeds to use.  [default: all]")
@click.option("--pad-missing", is_flag=True, help="Count missing reports as failures instead of failing.")
@as_json
@click.pass_obj
def aggregate_command(
    folders: tuple[Path, ...], reports: tuple[Path, ...], split: str, seeds: int | None, pad_missing: bool, json_: bool
) -> None:
    """Aggregate grading reports over seeds: medal rates, standard errors, pass@k.

    Reads the reports of assay grade-batch and those of the published benchmark.

    \b
    Examples:
      assay aggregate seed1/*_grading_report.json seed2/*_grading_report.json --split low
    """
    tasks = open_registry(folders).names(split)
    result = aggregate_reports(read_reports(reports), tasks, seeds=seeds, pad_missing=pad_missing)
    if json_:
        content = {"format": "aggregate/1", "split": split, "interval": "Wilson score over all trials, 95 %"}
        echo(json.dumps(content | asdict(result), indent=2))
        return
    padded = f", {result.padded} missing reports counted as failures" if result.padded else ""
    echo(f"{result.competitions} competitions × {result.seeds} seeds{padded}")
    rows = [
        [
            name.removesuffix("_percentage").replace("_", " "),
            f"{rate.mean:.2f} ± {rate.standard_error:.2f}",
            f"{rate.low:.1f}–{rate.high:.1f}",
            "  ".join(f"{value:.2f}" for value in rate.per_seed),
        ]
        for name, rate in result.rates.items()
    ]
    print_table(["rate, %", "mean ± standard error", "95 % interval", "by seed"], rows)
    pass_at = "  ".join(f"pass@{k} {value:.2f}" for k, value in result.pass_at.items())
    echo(f"any medal in k attempts, %: {pass_at}")
    echo("Intervals: Wilson score over all trials of all seeds.")
