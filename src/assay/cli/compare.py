"""`assay compare`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from assay.cli.complete import complete_runs
from assay.cli.output import as_json, echo, find_newest_run, open_registry, open_run, print_table
from assay.core.text import plural

if TYPE_CHECKING:
    from assay.results.comparison import Comparison, Measure, PairComparison

_MAX_TASKS_SHOWN = 5
_MEASURES = ["success", "valid", "percentile", "normalized", "improvement", "wins"]
_CONDITIONS = ["edition", "variant", "budget", "hardware", "network", "description", "sealing"]


@click.command("compare")
@click.argument(
    "runs", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[RUN]…", shell_complete=complete_runs
)
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Compare only these. Can be repeated.")
@click.option("--baseline", metavar="NAME", help="Compare each agent with this one only.  [default: each with each]")
@click.option(
    "--measure",
    type=click.Choice(_MEASURES),
    default="success",
    show_default=True,
    help="What is compared: the success rate, the rate of valid submissions, the percentile among human teams, the "
    "score between sample submission (0) and gold medal (1), the gain over the starter, or the share of the other "
    "agents' trials that a trial beats.",
)
@click.option(
    "--ignore",
    multiple=True,
    type=click.Choice(_CONDITIONS),
    help="Compare although trials differ in this. Can be repeated.",
)
@as_json
@click.pass_obj
def compare_command(
    folders: tuple[Path, ...],
    runs: tuple[Path, ...],
    agents: tuple[str, ...],
    baseline: str | None,
    measure: str,
    ignore: tuple[str, ...],
    json_: bool,
) -> None:
    """Compare agents, paired by task: differences with intervals, tests and power.

    RUN is a run folder or a zip file of assay export; without one, the newest run is used.

    Trials are compared only if they were made under the same conditions: edition, variant, budget, hardware, network,
    description and sealing.

    \b
    Examples:
      assay compare runs/first
      assay compare runs/a runs/b --agent aide --agent research
      assay compare runs/first --baseline starter --measure improvement
    """
    from assay.results.comparison import collect_trials, compare_agents
    from assay.results.inference import INTERVAL_METHOD

    trials = collect_trials([open_run(run) for run in runs or [find_newest_run()]])
    strata = open_registry(folders).split_of_each({one.outcome.task for one in trials})
    comparisons = compare_agents(
        trials,
        agents=agents,
        baseline=baseline,
        measure=cast("Measure", measure),
        strata=strata,
        ignore=ignore,
    )
    if json_:
        content = {"format": "comparison/1", "interval": f"95 %: {INTERVAL_METHOD}"}
        echo(json.dumps(content | {"comparisons": [asdict(one) for one in comparisons]}, indent=2))
        return
    for number, comparison in enumerate(comparisons):
        if number:
            echo()
        _print(comparison)


def _print(comparison: "Comparison") -> None:
    from assay.results.wording import format_strength

    unit = "" if comparison.measure == "improvement" else ", of finished trials, failures included"
    echo(f"{comparison.suite}: {comparison.measure} on {plural(len(comparison.tasks), 'task')}{unit}")
    echo()
    print_table(["agent", "mean ± error", "95 % interval", "middle half", "rank strength"], [
        [
            one.agent,
            f"{_percent(one.mean)} ± {_percent(one.error)}" if one.error is not None else _percent(one.mean),
            f"{_percent(one.interval.low)} to {_percent(one.interval.high)}",
            _percent(one.iqm),
            format_strength(one),
        ]
        for one in comparison.agents
    ])  # fmt: skip
    if comparison.measure != "success":
        _print_profiles(comparison)
    for pair in comparison.pairs:
        echo()
        _print_pair(comparison, pair)
    echo()
    for line in _notes(comparison):
        echo(line)


def _print_profiles(comparison: "Comparison") -> None:
    thresholds = list(comparison.agents[0].profile)
    echo()
    print_table(
        ["share of trials above", *(f"{100 * one:.0f} %" for one in thresholds)],
        [[one.agent, *(_percent(share) for share in one.profile.values())] for one in comparison.agents],
    )


def _print_pair(comparison: "Comparison", pair: "PairComparison") -> None:
    from assay.results.verdict import make_verdict

    echo(make_verdict(comparison, pair).headline)
    method = "exact" if pair.exact else "drawn"
    details = [
        f"difference {_points(pair.difference)} points, 95 % interval {_points(pair.interval.low)} to "
        f"{_points(pair.interval.high)}, p = {_p(pair.p)} ({method} sign-flip test), {_p(pair.p_adjusted)} adjusted",
        f"a trial of {pair.first} beats one of {pair.second} with probability {pair.probability_of_improvement:.2f}",
    ]
    if pair.mcnemar is not None:
        details.append(f"McNemar's test over trials of the same task and seed: p = {_p(pair.mcnemar)}")
    if pair.detectable is not None:
        details.append(
            f"{plural(len(pair.tasks), 'task')} like these show differences of {100 * pair.detectable:.0f} points or "
            "more with 80 % power"
        )
    for detail in details:
        echo(f"  {detail}")
    differing = [task for task in pair.tasks if task.difference][:_MAX_TASKS_SHOWN]
    for task in differing:
        echo(
            f"    {_points(task.difference):>6}  {task.task.partition('/')[2]}: "
            f"{_percent(task.first)} against {_percent(task.second)}"
        )
    if more := sum(1 for task in pair.tasks if task.difference) - len(differing):
        echo(f"            and {plural(more, 'task')} more")


def _notes(comparison: "Comparison") -> list[str]:
    from assay.results.inference import INTERVAL_METHOD

    lines = [
        "±: standard error clustered by task.",
        f"Intervals: {INTERVAL_METHOD}.",
        "Rank strength: Bradley–Terry over wins by task, in Elo points around 0.",
    ]
    if len(comparison.pairs) > 1:
        lines.append(f"Adjusted: by Holm's method for {len(comparison.pairs)} comparisons.")
    if comparison.left_out:
        names = ", ".join(task.partition("/")[2] for task in comparison.left_out)
        lines.append(f"Left out, because not every agent has a result: {names}.")
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace("-", "−")


def _points(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
