"""What each page shows, as data for its template."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

from starlette.datastructures import QueryParams

from assay.core.claim import Standing, format_limits, format_rate
from assay.core.errors import AssayError, RecordError, UsageError
from assay.core.figure import Axis, Figure, Rows
from assay.core.text import one_line, plural
from assay.core.values import format_change, format_number, format_points
from assay.interop.trajectories import read_steps
from assay.records import Event, TrialFolder, read_events, read_journal
from assay.records.content_store import ContentStore
from assay.records.events import SnapshotTaken, ValidationResult
from assay.records.lease import appears_held
from assay.records.prompts import Prompts
from assay.records.tape import finished_calls
from assay.results.cost import draw_fronts, measure_costs
from assay.results.estimate import Summary
from assay.results.figures import draw_scores, number_colors
from assay.results.frame import CONDITIONS, Frame, TrialRow, group_by
from assay.results.measures import MEASURES, Measure
from assay.results.paired import Comparison, PairedDifference
from assay.results.report import describe_caveats, format_medals_or_rank, format_score, format_trial_result
from assay.results.search_tree import make_tree
from assay.results.verdict import Verdict, comparison_tables, make_verdict
from assay.runs.status import TrialStatus, describe_trial, utc_now
from assay.web.data_preview import preview_data
from assay.web.drawing import draw_forest
from assay.web.heat import choose_heat
from assay.web.imported import trace_steps
from assay.web.pair import match_trials
from assay.web.runs import RunView
from assay.web.selection import Selection, find_choices, find_published, has_published
from assay.web.tables import make_trial_table
from assay.web.trace import Block, Entry, Trace, make_trace

Item = TypeVar("Item")
RunState = Literal["done", "running", "waiting", "interrupted", "unreadable"]

_MAX_PAIRS = 15
_MAX_RUNNING = 50
_MAX_BARS = 12
MAX_MARKS = 8
"""Cells with more trials count the marks of their trials: a page with thousands of links takes seconds to paint."""


@dataclass(frozen=True)
class RunRow:
    """One run in the list: `result` is its best agent, `seconds` the time from its first start to its last end."""

    view: RunView
    created_at: datetime | None = None
    state: RunState = "unreadable"
    trials: int = 0
    done: int = 0
    failed: int = 0
    tasks: int = 0
    agents: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    result: str = ""
    seconds: float | None = None
    cost: float | None = None
    problem: str | None = None


@dataclass(frozen=True)
class FailureGroup:
    """Trials of which the same is said: what they failed by, and its reason. `first` is the first wrong step of one."""

    name: str
    reason: str
    trials: tuple[TrialRow, ...]
    first: Entry | None = None
    problem: str | None = None

    @property
    def agents(self) -> Counter[str]:
        """How many of them are each agent's."""
        return Counter(row.agent for row in self.trials)


@dataclass(frozen=True)
class MatrixCell:
    """What is known of one agent against another: the difference in points, the kind of verdict, and its sentence."""

    points: str
    kind: str
    headline: str
    link: str


@dataclass(frozen=True)
class CompareQuery:
    """What the compare page was asked for."""

    measure: Measure | None
    baseline: str | None
    others: tuple[RunView, ...]
    ignore: tuple[str, ...]

    @classmethod
    def read(cls, query: QueryParams, others: Sequence[RunView]) -> "CompareQuery":
        """Read it from the address; unknown values are left out."""
        measure = query.get("measure")
        return cls(
            measure=measure if measure in MEASURES else None,
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
            rows.append(_summarize_run(view))
        except AssayError as error:
            rows.append(RunRow(view, problem=str(error)))
    return rows


def _summarize_run(view: RunView) -> RunRow:
    counted, best = view.rows.counted, view.sections[0].lines[0] if view.sections else None
    starts, ends = ([time for row in counted if (time := getattr(row, name))] for name in ("started_at", "ended_at"))
    costs = [row.cost for row in counted if not row.pending]
    return RunRow(
        view,
        created_at=view.created_at,
        state=find_state(view),
        trials=len(counted),
        done=sum(not row.pending for row in counted),
        failed=sum(row.failure is not None for row in counted),
        tasks=len({row.task for row in counted}),
        agents=tuple(view.rows.agents),
        rules=tuple(dict.fromkeys(str(row.rules) for row in counted)),
        result=f"{one_line(best.agent, 40)} {format_rate(best.success)}" if best and best.success else "",
        seconds=(max(ends) - min(starts)).total_seconds() if starts and ends else None,
        cost=None if None in costs else sum(cost for cost in costs if cost),
    )


def find_state(view: RunView) -> RunState:
    """Return whether a run is done, running, waiting for its first trial, or interrupted."""
    unfinished = [row for row in view.rows.counted if row.pending]
    if not unfinished:
        return "done"
    if any(row.record and appears_held(row.record.folder.path) for row in unfinished):
        return "running"
    return "waiting" if len(unfinished) == len(view.rows.counted) else "interrupted"


def find_running(view: RunView) -> list[TrialStatus]:
    """Return what the trials that are running now do, the longest first."""
    now = utc_now()
    statuses = [describe_trial(row.record, now, row.agent) for row in view.rows if row.record and _is_running(row)]
    return sorted(statuses, key=lambda status: -status.elapsed)[:_MAX_RUNNING]


def _is_running(row: TrialRow) -> bool:
    return row.pending and row.record is not None and appears_held(row.record.folder.path)


def make_overview(view: RunView, selection: Selection) -> dict[str, Any]:
    """Return the content of the page of a run besides its verdicts, with the results of the selected trials."""
    counted, colors = view.rows.counted, number_colors(view.rows.agents)
    sections = view.sections if selection.is_empty else view.make_sections(selection.select(view.rows))
    any_task = {task.suite: task for task in view.tasks.values()}
    published = sections if selection.published else []
    heats = {section.rules: choose_heat(section.rows) for section in sections}
    return {
        "sections": sections,
        "heats": heats,
        "selection": selection,
        "choices": find_choices(counted),
        "fronts": {
            section.rules: draw_fronts(measure_costs(section.rows), colors) for section in sections if section.lines[1:]
        },
        "published": {
            section.rules: find_published(
                section.rules, section.rows.tasks, any_task[section.rules.suite].folder.parent
            )
            for section in published
        },
        "has_published": any(has_published(task) for task in any_task.values()),
        "colors": colors,
        "counted": counted,
        "done": sum(not row.pending for row in counted),
        "cost": sum(row.cost or 0.0 for row in counted),
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
    """Return the verdict on the two best agents of each comparison."""
    verdicts = []
    for comparison in comparisons:
        for pair in comparison.pairs[:1]:
            verdict = make_verdict(comparison, pair, view.rows)
            examples = match_trials(view.rows, pair).get(pair.tasks[0].task, [])
            verdicts.append(RunVerdict(verdict, comparison.measure, examples[0] if examples else None))
    return verdicts


def find_standings(comparison: Comparison | None) -> dict[str, Standing]:
    """Return the ranks that a comparison leaves open to each agent that has one, and how likely it is the best."""
    agents = comparison.agents if comparison else ()
    return {summary.agent: summary.standing for summary in agents if summary.standing}


def make_matrix(comparison: Comparison, run: str | None = None) -> dict[tuple[str, str], MatrixCell]:
    """Return what is known of each agent against each other one; on the pages of a run, each leads to its pair."""
    cells = {}
    for pair in comparison.pairs:
        headline = make_verdict(comparison, pair).headline
        link = f"/run/{run}/compare?measure={comparison.measure}#{name_pair(pair)}" if run else ""
        for sign, agents in ((1, (pair.first, pair.second)), (-1, (pair.second, pair.first))):
            claim = pair.claim if sign > 0 else pair.claim.reversed()
            words = f"{headline} {format_limits(claim)} points on tasks like these."
            cells[agents] = MatrixCell(format_points(claim.value), _judge_pair(pair, sign), words, link)
    return cells


def _judge_pair(pair: PairedDifference, sign: int) -> str:
    """Return the kind of a verdict: on tasks like these where that is known, otherwise on these tasks only."""
    like, these = pair.answers.like.outcome, pair.answers.these.outcome
    if like == "equivalent":
        return "equivalent"
    outcome, suffix = (like, "") if like in ("better", "worse") else (these, "-here")
    if outcome not in ("better", "worse"):
        return "unknown"
    return ("better" if (outcome == "better") == (sign > 0) else "worse") + suffix


def name_pair(pair: PairedDifference) -> str:
    """Return the id of a pair on the page that compares agents."""
    return f"pair-{hashlib.sha256(f'{pair.first} {pair.second}'.encode()).hexdigest()[:10]}"


def describe_cell(trials: Sequence[TrialRow], summary: Summary) -> str:
    """Return what a cell says when the pointer rests on it: mean and error, rank or medals, and each seed's score."""
    seeds = [f"seed {row.seed}: {_describe_seed(row)}" for row in trials[:12]]
    rank = f"{'' if summary.medals else 'rank '}{format_medals_or_rank(summary)}" if summary.score else ""
    percentile = f"percentile {summary.percentile.mean:.0f}" if summary.percentile else ""
    change = f"{format_change(summary.improvement.mean)} over the starter" if summary.improvement else ""
    tied = "tied: these trials do not show which of the best is better" if summary.tied else ""
    return "\n".join(filter(None, [format_score(summary), rank, percentile, change, tied, *seeds]))


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
        "colors": number_colors(row.agent for row in rows),
    }


def _key_of(comparison: Comparison, pair: PairedDifference) -> tuple[str, str, str]:
    return comparison.suite, pair.first, pair.second


def _describe_seed(row: TrialRow) -> str:
    return format_trial_result(row) + (f" {format_number(row.score)}" if row.score is not None else "")


def group_failures(view: RunView) -> list[FailureGroup]:
    """Return the failed trials by what they failed by and its reason, the most frequent first."""
    failed = view.rows.counted.where(lambda row: row.failure is not None)
    groups = sorted(group_by(failed, lambda row: (row.failure_name, _generalize(row.reason))), key=len, reverse=True)
    return [_explain(tuple(rows), view) for rows in groups]


def draw_failures(groups: Sequence[FailureGroup], colors: Mapping[str, int]) -> Figure | None:
    """Draw how many trials of each agent failed by what."""
    counts = Counter((group.name, row.agent) for group in groups for row in group.trials)
    names = list(dict.fromkeys(group.name for group in groups))[:_MAX_BARS]
    agents = [agent for agent in colors if any((name, agent) in counts for name in names)]
    labels = [(name, agent) for name in names for agent in agents if counts[name, agent]]
    if not labels:
        return None
    titles = [f"{name}, {one_line(agent, 30)}" for name, agent in labels]
    notes = [str(counts[label]) for label in labels]
    axis = Axis("failed trials", "integer", low=0)
    figure = Figure("failures", "Failed trials by cause and agent", axis, Rows(titles, notes, height=18), width=760)
    for row, (name, agent) in enumerate(labels):
        hover = f"{agent}: {plural(counts[name, agent], 'trial')}, {name}"
        figure.bar((0, row - 0.35), (counts[name, agent], row + 0.35), color=colors[agent], hover=hover)
    return figure


def _generalize(reason: str | None) -> str:
    """Return a reason without what differs between trials: numbers, addresses and times."""
    return re.sub(r"0x[0-9a-f]+|\d[\d.,:]*", "#", one_line(reason or "", 200))


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
            draw_scores(rows, task.measured, colors, teams, width=960),
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
        "now": describe_trial(row.record, utc_now(), row.agent) if row.record and _is_running(row) else None,
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


def make_imported_trial(view: RunView, row: TrialRow) -> dict[str, Any]:
    """Return the content of the page of a trial that another harness reports."""
    task = view.rows.where(lambda other: other.task == row.task)
    facts = [(name, value) for name, value in Frame([row]).to_table().to_records()[0].items() if value is not None]
    return {
        "row": row,
        "facts": [(name.replace("_", " "), str(value)) for name, value in facts],
        "trace": trace_steps(read_steps(row)),
        "colors": number_colors(view.rows.agents),
        "neighbors": find_neighbors([other.trial for other in view.rows], row.trial),
        "siblings": task,
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
    return make_trace(events, ContentStore(folder.snapshots), folder.snapshots, with_prompts=True)


def _explain(rows: tuple[TrialRow, ...], view: RunView) -> FailureGroup:
    """Return a group with the first wrong step of its first trial."""
    name, reason, folder = rows[0].failure_name or "unknown", rows[0].reason or "", view.folders.get(rows[0].trial)
    if folder is None:
        return FailureGroup(name, reason, rows)
    try:
        events = read_events(folder.events)
        first = make_trace(events, ContentStore(folder.snapshots)).first_problem
        return FailureGroup(name, reason, rows, first)
    except RecordError as error:
        return FailureGroup(name, reason, rows, problem=str(error))
