"""`assay aggregate`."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from assay.cli.output import as_json, echo, open_registry, print_table
from assay.results.aggregate import ERROR_KINDS, Aggregate, ErrorKind, aggregate_reports, read_reports


@click.command("aggregate")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--split", required=True, help="Suite, split such as mlebench:low or just low, or a file with task names."
)
@click.option("--seeds", type=click.IntRange(1), default=None, help="Number of seeds to use.  [default: all]")
@click.option("--pad-missing", is_flag=True, help="Count missing reports as failures instead of failing.")
@click.option(
    "--error",
    type=click.Choice(["tasks", "seeds", "attempts"]),
    default="tasks",
    show_default=True,
    help="Kind of standard error: clustered by task, over seeds (published README), or pooled (published paper).",
)
@as_json
@click.pass_obj
def aggregate_command(
    folders: tuple[Path, ...],
    reports: tuple[Path, ...],
    split: str,
    seeds: int | None,
    pad_missing: bool,
    error: ErrorKind,
    json_: bool,
) -> None:
    """Aggregate grading reports over seeds: medal rates, standard errors, pass@k.

    Reads the reports of assay grade-batch and those of the published benchmark.

    \b
    Examples:
      assay aggregate seed1/*_grading_report.json seed2/*_grading_report.json --split low
      assay aggregate *_grading_report.json --split low --error seeds
    """
    registry = open_registry(folders)
    tasks = registry.names(split)
    result = aggregate_reports(
        read_reports(reports), tasks, seeds=seeds, pad_missing=pad_missing, strata=registry.split_of_each(tasks)
    )
    if json_:
        content = {"format": "aggregate/2", "split": split, "interval": "bootstrap over tasks, then seeds, 95 %"}
        echo(json.dumps(content | asdict(result), indent=2))
        return
    padded = f", {result.padded} missing reports counted as failures" if result.padded else ""
    echo(f"{result.competitions} competitions × {result.seeds} seeds{padded}")
    rows = [
        [
            name.removesuffix("_percentage").replace("_", " "),
            f"{rate.mean:.2f} ± {_format(rate.errors[error])}",
            f"{rate.low:.1f} to {rate.high:.1f}",
            *(_format(rate.errors[kind]) for kind in ERROR_KINDS),
            "  ".join(f"{value:.2f}" for value in rate.per_seed),
        ]
        for name, rate in result.rates.items()
    ]
    errors = [f"± {kind}" for kind in ERROR_KINDS]
    print_table(["rate, %", "mean ± error", "95 % interval", *errors, "by seed"], rows)
    for line in _notes(result, error):
        echo(line)


def _notes(result: Aggregate, error: ErrorKind) -> list[str]:
    half = max(1, result.seeds // 2)
    lines = [
        f"one medal in k attempts, %: {_by_k('pass@', result.pass_at)}",
        f"a medal in all k attempts, %: {_by_k('pass^', result.pass_all)}",
        f"±: standard error {ERROR_KINDS[error]}. Interval: bootstrap over tasks, then seeds, within splits.",
    ]
    if result.seeds > 2:
        lines.append(f"pass@k beyond k = {half} (half of the seeds) is noisy.")
    if result.seeds > 1 and any(rate.errors["seeds"] == 0 and 0 < rate.mean < 100 for rate in result.rates.values()):
        lines.append("An error of 0.00 over seeds says that the seeds agree, not that the rate is certain.")
    return lines


def _by_k(name: str, probabilities: Mapping[int, float]) -> str:
    return "  ".join(f"{name}{k} {value:.2f}" for k, value in probabilities.items())


def _format(error: float | None) -> str:
    return "–" if error is None else f"{error:.2f}"
