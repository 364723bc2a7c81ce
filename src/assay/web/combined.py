"""One leaderboard over several runs, grouped by what is comparable."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from assay.core.errors import AssayError
from assay.results.frame import TrialRow, group_by, make_registry, read_frame
from assay.results.paired import Comparison
from assay.web.conditions import Conditions, compare_rows, find_conditions
from assay.web.leaderboard import Line, make_lines, rank_on_common_tasks
from assay.web.runs import RunView


@dataclass(frozen=True)
class CombinedRow:
    """An agent over all runs that have trials of it under the same conditions."""

    line: Line
    runs: tuple[RunView, ...]
    trials: Sequence[TrialRow]
    conditions: Conditions


@dataclass(frozen=True)
class CombinedGroup:
    """Agents that are comparable, the best first, each compared with the first."""

    conditions: Conditions
    rows: tuple[CombinedRow, ...]
    comparisons: Sequence[Comparison]
    refusal: str | None
    """Why they are not compared, if they are not."""


def combine_runs(views: Sequence[RunView]) -> list[CombinedGroup]:
    """Return the agents of all runs that can be read.

    A trial that is in several runs counts once, and agents whose code, settings or budget differ are kept apart.
    """
    readable = list[RunView]()
    for view in views:
        with suppress(AssayError):
            readable += [view] if view.rows and not view.imported else []
    frame = read_frame(*(view.folder for view in readable))
    registry = make_registry([row.record.file for row in frame if row.record])
    by_path = {view.folder.path: view for view in readable}
    rows = []
    for trials in frame.group_by(lambda row: (row.rules, row.agent)):
        for line in make_lines(trials, trials.families):
            folders = (row.record.folder.path.parent.parent for row in trials if row.record)
            runs = tuple(dict.fromkeys(by_path[folder] for folder in folders))
            rows.append(CombinedRow(line, runs, trials, find_conditions(trials, registry)))
    groups = []
    for group in group_by(rows, lambda row: row.conditions):
        lines = rank_on_common_tasks([row.line for row in group], frame.families)
        ranked = [replace(row, line=line) for row, line in zip(group, lines, strict=True)]
        best_first = sorted(ranked, key=lambda row: row.line.order)
        compared = compare_rows([row for each in best_first for row in each.trials], best_first[0].line.agent)
        groups.append(CombinedGroup(group[0].conditions, tuple(best_first), *compared))
    return sorted(groups, key=lambda group: (group.conditions.rules, group.conditions.split, group.conditions.time))
