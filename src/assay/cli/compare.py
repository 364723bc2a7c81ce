"""`assay compare`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from assay.cli.arguments import RunPath
from assay.cli.output import as_json, echo, find_newest_run, imported_suite, open_registry, print_tables
from assay.core.table import to_plain

if TYPE_CHECKING:
    from assay.results.measures import Measure

_MEASURES = ["success", "honest", "valid", "percentile", "normalized", "improvement", "wins"]
_CONDITIONS = [
    "edition",
    "variant",
    "budget",
    "hardware",
    "network",
    "description",
    "selection",
    "submit",
    "claim",
    "pressure",
    "sealing",
    "data",
    "task",
    "environment",
    "metric",
    "checksum",
]


@click.command("compare")
@click.argument("runs", nargs=-1, type=RunPath(), metavar="[RUN]…")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Compare only these. Can be repeated.")
@click.option("--baseline", metavar="NAME", help="Compare each agent with this one only.  [default: each with each]")
@click.option(
    "--measure",
    type=click.Choice(_MEASURES),
    default=None,
    help="What is compared: the success rate, the rate of valid submissions, the percentile among human teams, the "
    "score between sample submission (0) and gold medal (1), the score in relation to the starter's, or the share of "
    "the other agents' trials that a trial beats.  [default: success, or wins where it does not tell agents apart]",
)
@click.option(
    "--ignore",
    multiple=True,
    type=click.Choice(_CONDITIONS),
    metavar="CONDITION",
    help=f"Compare although trials differ in this: {', '.join(_CONDITIONS)}. Can be repeated.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 100, min_open=True),
    default=None,
    metavar="POINTS",
    help="Agents at most this far apart are equivalent.  [default: that of the plan, or 5]",
)
@imported_suite
@as_json
@click.pass_obj
def compare_command(
    folders: tuple[Path, ...],
    runs: tuple[Path, ...],
    agents: tuple[str, ...],
    baseline: str | None,
    measure: str | None,
    margin: float | None,
    ignore: tuple[str, ...],
    suite: str | None,
    json_: bool,
) -> None:
    """Compare agents, paired by task: who is better on these tasks, and what is known beyond them.

    RUN is a run folder or a zip file of assay export; without one, the newest run is used. It can also be what another
    harness wrote: a job folder of Harbor, logs of Inspect, grading reports of MLE-bench, files of Every Eval Ever or
    HAL, or a CSV file with task, agent, seed, and score or success. The verdict says what they do not report.

    Two answers are given for each pair: who is better on these tasks, and what is known of tasks like these. Agents are
    compared only if they ran under the same conditions: edition, variant, budget, hardware, network, description,
    selection, submit, claim, pressure, sealing, data, task, environment, metric and checksum. Other grader code,
    processors, GPUs or load are named in the verdict.

    A run registers its plan before the first trial: measure, margin, baseline, agents, tasks and seeds. The verdict
    says whether the comparison is as planned, or exploratory and what differs. Each pair of agents that the runs have
    counts as a comparison, also with --agent, unless the plan names a baseline.

    \b
    Examples:
      assay compare runs/first
      assay compare runs/a runs/b --agent aide --agent research
      assay compare runs/first --baseline starter --measure improvement
      assay compare harbor-jobs inspect-logs --suite terminal-bench
    """
    from assay.interop.importers import read_results
    from assay.results.paired import compare_agents, select_trials
    from assay.results.verdict import comparison_tables, describe_method, describe_pair

    registry = open_registry(folders)
    rows = select_trials(read_results(runs or [find_newest_run()], registry, suite=suite).frame)
    comparisons = compare_agents(
        rows,
        agents=agents,
        baseline=baseline,
        measure=cast("Measure | None", measure),
        families=rows.families,
        ignore=ignore,
        margin=None if margin is None else margin / 100,
    )
    if json_:
        content = {"format": "comparison/3", "comparisons": comparisons}
        echo(json.dumps(to_plain(content), indent=2))
        return
    for number, comparison in enumerate(comparisons):
        if number:
            echo()
        if len(comparison.agents) == 1:
            echo(f"{comparison.suite}: not compared, because only {comparison.agents[0].agent} has trials there.")
            continue
        for position, pair in enumerate(comparison.pairs):
            headline, *details = describe_pair(comparison, pair)
            echo(headline)
            for detail in details:
                echo(f"  {detail}")
            echo()
            if position == 0:  # the answer comes first, then the numbers behind it
                print_tables(comparison_tables(comparison)[:-1])
                echo()
        for note in describe_method(comparison):
            echo(note)
