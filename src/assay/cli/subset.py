"""`assay study subset`."""

from pathlib import Path

import click

from assay.cli.arguments import RunPath
from assay.cli.output import as_json, echo, open_run, print_tables
from assay.core.errors import UsageError


@click.command("subset")
@click.argument("runs", nargs=-1, required=True, type=RunPath(), metavar="RUN…")
@click.option(
    "--correlation",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    help="The rank correlation with all tasks that the subset has to reach.",
)
@as_json
def subset_command(runs: tuple[Path, ...], correlation: float, json_: bool) -> None:
    """Find the fewest tasks that rank agents like all tasks do.

    It fits difficulties of tasks and abilities of agents (a Rasch model) to the successes of at least ten agents on the
    tasks that all of them have, and adds the most informative tasks first. The correlation is that of agents whose
    results had no part in choosing the tasks.

    \b
    Examples:
      assay study subset runs/all
      assay study subset runs/a runs/b --correlation 0.95 --json
    """
    import json

    from assay.core.table import to_plain
    from assay.results.ability import choose_subset, collect_successes, describe_subset, subset_tables
    from assay.results.frame import read_frame

    frame = read_frame(*(open_run(run) for run in runs))
    rules = {row.rules for row in frame if row.counts}
    if len(rules) > 1:
        raise UsageError(f"These trials are of different rules: {'; '.join(map(str, sorted(rules)))}")
    samples = collect_successes(frame)
    subset = choose_subset(samples, correlation)
    tables = subset_tables(subset, samples)
    if json_:
        content = {
            "format": "subset/1",
            "tasks": list(subset.tasks),
            "correlation": subset.correlation,
            "interval": vars(subset.interval),
            "target": subset.target,
            "tables": {table.name: table.to_dict() for table in tables},
        }
        echo(json.dumps(to_plain(content), indent=2, allow_nan=False))
    else:
        echo(describe_subset(subset))
        echo()
        print_tables(tables[:2])
    if not subset.reached:
        raise click.exceptions.Exit(1)
