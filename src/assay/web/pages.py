"""What each page shows, as data for its template."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from starlette.datastructures import QueryParams

from assay.core.errors import AssayError, RecordError, UsageError
from assay.records import Event, TrialFolder, read_events, read_journal
from assay.records.content_store import ContentStore
from assay.records.events import SnapshotTaken, ValidationResult
from assay.records.prompts import Prompts
from assay.records.tape import finished_calls
from assay.results.cost import draw_fronts, measure_costs
from assay.results.figures import draw_scores, number_colors
from assay.results.frame import CONDITIONS, TrialRow, group_by
from assay.results.measures import MEASURES, Measure
from assay.results.paired import Comparison, PairedDifference
from assay.results.report import describe_caveats
from assay.results.search_tree import make_tree
from assay.results.verdict import Verdict, comparison_tables, make_verdict
from assay.web.data_preview import preview_data
from assay.web.drawing import draw_forest
from assay.web.pair import match_trials
from assay.web.runs import RunView
from assay.web.selection import Selection, find_choices, find_published, has_published
from assay.web.tables import make_trial_table
from assay.web.trace import Block, Entry, Trace, make_trace

Item = TypeVar("Item")

_MAX_TRIALS_OF_A_GROUP = 40
_MAX_VERDICTS = 3
_MAX_PAIRS = 15
MAX_MARKS = 8
"""Cells with more trials count the marks of their trials: a page with thousands of links takes seconds to paint."""


@dataclass(frozen=True)
class RunRow:
    """One run in the list of runs."""

    view: RunView
    trials: int = 0
    pending: int = 0
    failed: int = 0
    agents: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class FailedTrial:
    """A failed trial with the first entry of its log in which something went wrong."""

    row: TrialRow
    first: Entry | None
    problem: str | None = None


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed by the same thing."""

    name: str
    trials: tuple[FailedTrial, ...]
    count: int
    agents: Mapping[str, int]


@dataclass(frozen=True)
class CompareQuery:
    """What the compare page was asked for."""

    measure: Measure
    baseline: str | None
    others: tuple[RunView, ...]
    ignore: tuple[str, ...]

    @classmethod
    def read(cls, query: QueryParams, others: Sequence[RunView]) -> "CompareQuery":
        """Read it from the address; unknown values are left out."""
        measure = query.get("measure", "success")
        return cls(
            measure=measure if measure in MEASURES else "success",
            baseline=query.get("baseline") or None,
            others=tuple(others),
            ignore=tuple(name for name in query.getlist("ignore") if name in CONDITIONS),
        )

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two queries the same."""
        return self.measure, self.baseline, tuple(other.key for other in self.others), self.ignore


def summarize_runs(views: Sequence[RunView]) -> list[RunRow]:
    """Return a row for each run; one that cannot be read says why."""
    rows = []
    for view in views:
        try:
            trials = view.rows
        except AssayError as error:
            rows.append(RunRow(view, problem=str(error)))
            continue
        rows.append(
            RunRow(
                view,
                trials=len(trials),
                pending=view.pending,
                failed=sum(row.failure is not None for row in trials),
                agents=tuple(trials.agents),
                rules=tuple(dict.fromkeys(str(row.rules) for row in trials)),
            )
        )
    return rows


def make_overview(view: RunView, selection: Selection) -> dict[str, Any]:
    """Return the content of the page of a run besides its verdicts, with the results of the selected trials."""
    counted, colors = view.rows.counted, number_colors(view.rows.agents)
    sections = view.sections if selection.is_empty else view.make_sections(selection.select(view.rows))
    any_task = {task.suite: task for task in view.tasks.values()}
    rules = dict.fromkeys(section.rules for section in sections) if selection.published else ()
    return {
        "sections": sections,
        "selection": selection,
        "choices": find_choices(counted),
        "fronts": {
            section.rules: draw_fronts(measure_costs(section.rows), colors) for section in sections if section.lines[1:]
        },
        "published": {rule: find_published(rule, any_task[rule.suite], selection) for rule in rules},
        "has_published": any(has_published(task) for task in any_task.values()),
        "colors": colors,
        "counted": counted,
        "done": sum(not row.pending for row in counted),
        "unsealed": sum(row.unsealed for row in counted),
        "caveats": [line for line in describe_caveats(view.rows) if not line.startswith("Unsealed")],
        "failures": Counter(row.failure_name for row in counted if row.failure is not None),
    }


@dataclass(frozen=True)
class RunVerdict:
    """A verdict on the page of a run, with two trials of one seed on the task with the largest difference."""

    verdict: Verdict
    measure: Measure
    example: tuple[TrialRow, TrialRow] | None


def make_verdicts(view: RunView, comparisons: Sequence[Comparison]) -> list[RunVerdict]:
    """Return the verdicts on the agents of a run, those on the best agents first."""
    verdicts = []
    for comparison in comparisons:
        for pair in comparison.pairs[:_MAX_VERDICTS]:
            verdict = make_verdict(comparison, pair, view.rows)
            examples = match_trials(view.rows, pair).get(pair.tasks[0].task, [])
            verdicts.append(RunVerdict(verdict, comparison.measure, examples[0] if examples else None))
    return verdicts


def judge_trial(row: TrialRow) -> tuple[str, str]:
    """Return the mark of a trial and its kind: succeeded, valid, failed, pending, or not applicable."""
    if row.pending:
        return ("◌", "pending")
    if row.inapplicable:
        return ("–", "inapplicable")
    if row.failure is not None:
        return ("✕", "failed")
    if row.medal:
        return (row.medal[0].upper(), row.medal)
    return ("●", "success") if row.success else ("○", "valid")


def count_marks(rows: Sequence[TrialRow]) -> list[tuple[tuple[str, str], int]]:
    """Return how many trials have each mark and kind, in a fixed order."""
    counts = Counter(map(judge_trial, rows))
    return sorted(counts.items(), key=lambda pair: "GSB●○✕◌–".index(pair[0][0]))


def make_comparison(view: RunView, query: CompareQuery) -> dict[str, Any]:
    """Return comparisons with their figures, or why trials cannot be compared."""
    rows = [row for run in (view, *query.others) for row in run.rows]
    comparisons, problem = list[Comparison](), None
    try:
        comparisons = view.compare(query.measure, query.baseline, query.others, query.ignore)
    except UsageError as error:
        problem = str(error)
    pairs = [(comparison, pair) for comparison in comparisons for pair in comparison.pairs[:_MAX_PAIRS]]
    return {
        "comparisons": comparisons,
        "tables": {each.suite: replace(comparison_tables(each)[0], title="") for each in comparisons},
        "verdicts": {_key_of(each, pair): make_verdict(each, pair, rows) for each, pair in pairs},
        "forests": {_key_of(each, pair): draw_forest(pair) for each, pair in pairs},
        "matches": {_key_of(each, pair): match_trials(view.rows, pair) for each, pair in pairs},
        "problem": problem,
        "agents": list(dict.fromkeys(row.agent for row in rows)),
    }


def _key_of(comparison: Comparison, pair: PairedDifference) -> tuple[str, str, str]:
    return comparison.suite, pair.first, pair.second


def group_failures(view: RunView) -> list[FailureGroup]:
    """Return the failed trials by what they failed by, the most frequent first."""
    failed = view.rows.counted.where(lambda row: row.failure is not None)
    return [
        FailureGroup(
            name=rows[0].failure_name or "unknown",
            trials=tuple(_explain(row, view.folders[row.trial]) for row in rows[:_MAX_TRIALS_OF_A_GROUP]),
            count=len(rows),
            agents=Counter(row.agent for row in rows),
        )
        for rows in sorted(group_by(failed, lambda row: row.failure_name), key=len, reverse=True)
    ]


def make_task(view: RunView, name: str) -> dict[str, Any]:
    """Return the content of the page of a task."""
    task, colors = view.tasks[name], number_colors(view.rows.agents)
    teams = list(task.leaderboard.percentiles.values()) if task.leaderboard else []
    exclude = ("task", "title", "tokens", "cost", "reason")

    def link(row: TrialRow) -> str:
        return f"/run/{view.key}/trial/{row.trial}"

    parts = [
        (
            section.rules,
            make_trial_table(rows, colors, link, exclude),
            draw_scores(rows, task.measured, colors, teams, width=720),
        )
        for section in view.sections
        if (rows := section.rows.where(lambda row: row.task == name))
    ]
    # Quirks are kept by the editions that name them; repairs say what an edition does instead.
    notes = {edition: rules for edition, rules in task.rules.items() if rules.quirks or rules.repairs}
    return {
        "task": task,
        "parts_of_task": parts,
        "colors": colors,
        "notes": notes,
        "previews": [(rules, preview_data(task, rules.edition, rules.variant)) for rules, _, _ in parts],
        "teams": task.leaderboard.teams if task.leaderboard else None,
        "description": task.description,
    }


def make_trial(view: RunView, name: str) -> dict[str, Any] | None:
    """Return the content of the page of a trial; None if there is no such trial."""
    folder, row = view.folders.get(name), view.by_trial.get(name)
    if folder is None or row is None:
        return None
    events = read_events(folder.events)
    journal = read_journal(events, row.direction)
    tree = make_tree(journal, folder, row.title, "node", with_code=True) if journal.nodes else None
    task = view.rows.where(lambda other: other.task == row.task)
    return {
        "folder": folder,
        "file": folder.file,
        "row": row,
        "state": folder.state,
        "submission": folder.submission_entry,
        "trace": _make_trace(folder, events),
        "checks": [call.result for _, call in finished_calls(events) if isinstance(call.result, ValidationResult)],
        "tree": tree,
        "has_ungraded_nodes": any(node.node.submission and not node.score for node in (tree.nodes if tree else ())),
        "colors": number_colors(view.rows.agents),
        "neighbors": find_neighbors([other.trial for other in view.rows], name),
        "rivals": task.where(lambda other: other.seed == row.seed and other.agent != row.agent and other.ran),
        "siblings": task,
        "last_snapshot": next((event.number for event in reversed(events) if isinstance(event, SnapshotTaken)), None),
    }


def make_prompt(view: RunView, name: str, number: int) -> dict[str, Any] | None:
    """Return the whole prompt of a model call; None if there is no such call."""
    folder = view.folders.get(name)
    prompts = Prompts(read_events(folder.events)) if folder else None
    if prompts is None or number not in prompts.calls:
        return None
    return {
        "row": view.by_trial[name],
        "number": number,
        "messages": prompts.messages(number),
        "reply": prompts.reply(number),
        "tools": prompts.tools(number),
        "count": len(prompts.calls),
        "index": prompts.calls.index(number) + 1,
        "neighbors": find_neighbors(prompts.calls, number),
    }


def find_neighbors(items: Sequence[Item], item: Item) -> tuple[Item | None, Item | None]:
    """Return what is before and after an item."""
    position = items.index(item)
    return items[position - 1] if position else None, items[position + 1] if position + 1 < len(items) else None


def find_text(view: RunView, name: str, number: int, position: int) -> str | None:
    """Return one of the texts of an entry; None if there is no such text."""
    folder = view.folders.get(name)
    entry = _make_trace(folder, read_events(folder.events)).find(number) if folder else None
    blocks = [*entry.blocks, *entry.after] if entry else []
    return blocks[position].text if position < len(blocks) else None


def number_blocks(entry: Entry, after: bool) -> list[tuple[int, Block]]:
    """Return the blocks before or after the inner calls of an entry, with their positions in addresses."""
    start = len(entry.blocks) if after else 0
    return list(enumerate(entry.after if after else entry.blocks, start=start))


def _make_trace(folder: TrialFolder, events: Sequence[Event]) -> Trace:
    return make_trace(events, ContentStore(folder.snapshots), folder.snapshots)


def _explain(row: TrialRow, folder: TrialFolder) -> FailedTrial:
    try:
        events = read_events(folder.events)
        return FailedTrial(row, make_trace(events, ContentStore(folder.snapshots)).first_problem)
    except RecordError as error:
        return FailedTrial(row, None, str(error))
