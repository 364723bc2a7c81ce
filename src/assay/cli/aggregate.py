"""`assay study aggregate`."""

import json
from collections.abc import Mapping
from pathlib import Path

import click

from assay.cli.output import as_json, echo, open_registry, print_tables
from assay.core.claim import Claim, format_rate
from assay.core.errors import UsageError
from assay.core.table import Column, Formatted, Table, Value
from assay.core.text import one_line, plural
from assay.results.aggregate import Aggregate, aggregate_reports, read_reports_by_agent
from assay.results.inference import ERROR_KINDS, INTERVAL_METHOD, ErrorKind


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

    Reads the reports of assay grade and assay export, and those of the published benchmark. Reports of several
    agents are aggregated separately. Results on data that is not real have no medals.

    \b
    Examples:
      assay study aggregate seed1/*.json seed2/*.json --split low
      assay study aggregate *_grading_report.json --split low --error seeds
    """
    registry = open_registry(folders)
    tasks = registry.names(split)
    families = registry.family_of_each(tasks)
    by_agent = read_reports_by_agent(reports)
    results = {}
    for agent, reports_of_agent in by_agent.items():
        try:
            results[agent] = aggregate_reports(
                reports_of_agent, tasks, seeds=seeds, pad_missing=pad_missing, families=families
            )
        except UsageError as problem:
            raise UsageError(f"{one_line(agent)}: {problem}" if agent else str(problem)) from None
    if json_:
        head = {"format": "aggregate/3", "split": split, "interval": f"95%: {INTERVAL_METHOD}"}
        contents = [head | {"agent": agent} | result.to_dict() for agent, result in results.items()]
        echo(json.dumps(contents[0] if len(contents) == 1 else contents, indent=2))
        return
    for number, (agent, result) in enumerate(results.items()):
        if number:
            echo()
        if agent or len(results) > 1:
            echo(one_line(agent or "agent not named"))
        _print_aggregate(result, error)


def _print_aggregate(result: Aggregate, error: ErrorKind) -> None:
    padded = f", {result.padded} missing reports counted as failures" if result.padded else ""
    rows: list[tuple[Value, ...]] = [
        (
            name.removesuffix("_percentage").replace("_", " "),
            Formatted(rate.claim, f"{rate.mean:.2f} ± {_format(rate.errors[error])}"),
            Formatted(rate.claim, f"{rate.low:.1f} to {rate.high:.1f}"),
            *(_format(rate.errors[kind]) for kind in ERROR_KINDS),
            "  ".join(f"{value:.2f}" for value in rate.per_seed),
        )
        for name, rate in result.rates.items()
    ]
    columns = [Column("rate, %"), Column("mean ± error", kind="rate"), Column("95% interval", kind="limits")]
    columns += [Column(f"± {kind}", kind="number", drop=2) for kind in ERROR_KINDS]
    columns.append(Column("by seed", kind="prose", drop=1))
    title = f"{plural(result.competitions, 'competition')} × {plural(result.seeds, 'seed')}{padded}"
    print_tables([Table("rates", tuple(columns), tuple(rows), title, tuple(_notes(result, error)))])


def _notes(result: Aggregate, error: ErrorKind) -> list[str]:
    half, medals = max(1, result.seeds // 2), not result.variants
    lines = [f"±: standard error {ERROR_KINDS[error]}.", f"Interval: {INTERVAL_METHOD}."]
    if medals:
        lines[:0] = [
            f"one medal in k attempts: {_by_k('pass@', result.pass_at)}",
            f"a medal in all k attempts: {_by_k('pass^', result.pass_all)}",
        ]
    else:
        data = ", ".join(result.variants)
        lines.insert(0, f"No medals: these are results on {data} data, which no human team has seen.")
    if medals and result.seeds > 1:
        lines.append(f"Warning: pass@k and pass^k beyond k = {half} (half of the seeds) are noisy.")
    if result.seeds > 1 and any(rate.errors["seeds"] == 0 and 0 < rate.mean < 100 for rate in result.rates.values()):
        lines.append("Warning: an error of 0.00 over seeds says that the seeds agree, not that the rate is certain.")
    return lines


def _by_k(name: str, probabilities: Mapping[int, Claim]) -> str:
    return "  ".join(f"{name}{k} {format_rate(claim, 2)}" for k, claim in probabilities.items())


def _format(error: float | None) -> str:
    return "–" if error is None else f"{error:.2f}"
