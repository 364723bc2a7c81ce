"""One leaderboard over several runs, grouped by what is comparable."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.errors import AssayError, UsageError
from assay.results.collect import collect_summaries, make_registry
from assay.results.comparison import Comparison, compare_agents, select_trials
from assay.results.disclosure import SummaryAndOutcome
from assay.results.statistics import group_by
from assay.web.conditions import Conditions, find_conditions
from assay.web.leaderboard import Line, make_lines
from assay.web.runs import RunView


@dataclass(frozen=True)
class CombinedRow:
    """An agent over all runs that have trials of it under the same conditions."""

    line: Line
    runs: tuple[RunView, ...]
    trials: tuple[SummaryAndOutcome, ...]


@dataclass(frozen=True)
class CombinedGroup:
    """Agents that are comparable, the best first, each compared with the first."""

    conditions: Conditions
    rows: tuple[CombinedRow, ...]
    comparisons: tuple[Comparison, ...]


def combine_runs(views: Sequence[RunView]) -> list[CombinedGroup]:
    """Return the agents of all runs that can be read.

    A trial that is in several runs counts once, and agents whose code, settings or budget differ are kept apart.
    """
    readable = [view for view in views if _is_readable(view)]
    trials = collect_summaries(*(view.folder for view in readable))
    registry = make_registry([trial.file for trial, _ in trials])
    by_path = {view.folder.path: view for view in readable}
    rows = []
    for same in group_by(trials, lambda pair: (pair[1].rules, pair[1].agent)):
        strata = {outcome.task: outcome.split for _, outcome in same}
        for line in make_lines([outcome for _, outcome in same], strata):
            runs = dict.fromkeys(by_path[trial.folder.path.parent.parent] for trial, _ in same)
            rows.append((find_conditions(same, registry), CombinedRow(line, tuple(runs), tuple(same))))
    groups = []
    for group in group_by(rows, lambda pair: pair[0]):
        best_first = sorted((row for _, row in group), key=lambda row: (-(row.line.success or 0.0), row.line.agent))
        groups.append(CombinedGroup(group[0][0], tuple(best_first), tuple(_compare(best_first))))
    return sorted(groups, key=lambda one: (one.conditions.rules, one.conditions.split, one.conditions.time))


def _is_readable(view: RunView) -> bool:
    try:
        view.load()
    except AssayError:
        return False
    return True


def _compare(rows: Sequence[CombinedRow]) -> list[Comparison]:
    """Compare each agent with the best one; nothing where a condition that the page does not show differs."""
    trials = [trial for row in rows for trial in row.trials]
    strata = {outcome.task: outcome.split for _, outcome in trials}
    try:
        return compare_agents(select_trials(row for _, row in trials), baseline=rows[0].line.agent, strata=strata)
    except UsageError:
        return []
