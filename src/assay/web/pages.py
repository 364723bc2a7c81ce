"""What each page shows, as data for its template."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from assay.core.errors import AssayError, RecordError, UsageError
from assay.records import TrialFolder, read_events, read_journal
from assay.records.content_store import ContentStore
from assay.records.events import SnapshotTaken, ValidationResult
from assay.records.prompts import Prompts
from assay.records.tape import finished_calls
from assay.results import figures
from assay.results.comparison import CONDITIONS, MEASURES, Measure
from assay.results.figures import draw_scores
from assay.results.outcome import Outcome
from assay.results.report import describe_caveats
from assay.results.search_tree import make_tree
from assay.results.verdict import Verdict, make_verdict
from assay.web.data_preview import preview_data
from assay.web.drawing import draw_forest
from assay.web.pair import match_trials
from assay.web.runs import RunView
from assay.web.selection import Selection, find_choices, find_published, has_published
from assay.web.trace import Block, Entry, Trace, make_trace

_MAX_TRIALS_OF_A_GROUP = 40
_MAX_VERDICTS = 3
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

    outcome: Outcome
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
            outcomes = view.outcomes
        except AssayError as error:
            rows.append(RunRow(view, problem=str(error)))
            continue
        rows.append(
            RunRow(
                view,
                trials=len(outcomes),
                pending=sum(one.pending for one in outcomes),
                failed=sum(one.failure is not None for one in outcomes),
                agents=tuple(dict.fromkeys(one.agent for one in outcomes)),
                rules=tuple(dict.fromkeys(str(one.rules) for one in outcomes)),
            )
        )
    return rows


def make_overview(view: RunView, selection: Selection) -> dict[str, Any]:
    """Return what the page of a run shows besides its verdicts, with the results of the selected trials."""
    counted = [one for one in view.outcomes if one.counts]
    sections = view.sections
    if not selection.is_empty:
        sections = view.make_sections(selection.select(view.outcomes, view.tasks))
    any_task = {task.suite: task for task in view.tasks.values()}
    published = {}
    if selection.published:
        rules = dict.fromkeys(section.rules for section in sections)
        published = {one: find_published(one, any_task[one.suite], selection) for one in rules}
    return {
        "sections": sections,
        "selection": selection,
        "choices": find_choices(counted, view.tasks),
        "published": published,
        "has_published": any(has_published(task) for task in any_task.values()),
        "colors": number_colors(view),
        "counted": counted,
        "done": sum(not one.pending for one in counted),
        "unsealed": sum(one.unsealed for one in counted),
        "caveats": [line for line in describe_caveats(view.outcomes) if not line.startswith("Unsealed")],
        "failures": Counter(one.failure_name for one in counted if one.failure is not None),
    }


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict on the page of a run, with two trials of one seed on the task with the largest difference."""

    verdict: Verdict
    measure: Measure
    example: tuple[Outcome, Outcome] | None


def make_verdicts(view: RunView) -> list[ShownVerdict]:
    """Return the verdicts that are known of a run, those on the best agents first."""
    found = []
    for comparison in view.known_verdicts:
        for pair in comparison.pairs[:_MAX_VERDICTS]:
            verdict = make_verdict(comparison, pair, view.outcomes)
            example = _find_example(view, pair.tasks[0].task, verdict)
            found.append(ShownVerdict(verdict, comparison.measure, example))
    return found


def _find_example(view: RunView, task: str, verdict: Verdict) -> tuple[Outcome, Outcome] | None:
    on_task = [one for one in view.outcomes if one.task == task and one.counts and one.ran]
    first, second = (
        {one.seed: one for one in on_task if one.agent == agent} for agent in (verdict.first, verdict.second)
    )
    return next(((first[seed], second[seed]) for seed in sorted(first) if seed in second), None)


def number_colors(view: RunView) -> dict[str, int]:
    """Return the number of each agent's color, the same on every page."""
    return figures.number_colors(one.agent for one in view.outcomes)


def judge_trial(outcome: Outcome) -> tuple[str, str]:
    """Return the mark of a trial and its kind: succeeded, valid, failed, pending, or not applicable."""
    if outcome.pending:
        return ("◌", "pending")
    if outcome.inapplicable:
        return ("–", "inapplicable")
    if outcome.failure is not None:
        return ("✕", "failed")
    medal = outcome.grade.medal if outcome.grade else None
    if medal:
        return ({"gold": "G", "silver": "S", "bronze": "B"}[medal], medal)
    return ("●", "success") if outcome.success else ("○", "valid")


def count_marks(outcomes: Sequence[Outcome]) -> list[tuple[tuple[str, str], int]]:
    """Return how many trials have each mark and kind, in a fixed order."""
    counts = Counter(judge_trial(one) for one in outcomes)
    return sorted(counts.items(), key=lambda pair: "GSB●○✕◌–".index(pair[0][0]))


def make_comparison(view: RunView, query: CompareQuery) -> dict[str, Any]:
    """Return comparisons with their figures, or why trials cannot be compared."""
    try:
        found = view.compare(query.measure, query.baseline, query.others, query.ignore)
    except UsageError as error:
        return {
            "comparisons": [],
            "forests": {},
            "matches": {},
            "verdicts": {},
            "problem": str(error),
            "agents": _agents(view, query),
        }
    shown = [(one, pair) for one in found for pair in one.pairs[:15]]
    outcomes = [one for run in (view, *query.others) for one in run.outcomes]
    return {
        "comparisons": found,
        "verdicts": {(one.suite, pair.first, pair.second): make_verdict(one, pair, outcomes) for one, pair in shown},
        "forests": {(one.suite, pair.first, pair.second): draw_forest(pair) for one, pair in shown},
        "matches": {(one.suite, pair.first, pair.second): match_trials(view.outcomes, pair) for one, pair in shown},
        "problem": None,
        "agents": _agents(view, query),
    }


def group_failures(view: RunView) -> list[FailureGroup]:
    """Return the failed trials by what they failed by, the most frequent first."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in view.outcomes:
        if outcome.counts and outcome.failure is not None:
            groups.setdefault(outcome.failure_name or "unknown", []).append(outcome)
    folders = {folder.path.name: folder for folder in view.folder.trials()}
    return [
        FailureGroup(
            name=name,
            trials=tuple(_explain(one, folders[one.trial]) for one in same[:_MAX_TRIALS_OF_A_GROUP]),
            count=len(same),
            agents=Counter(one.agent for one in same),
        )
        for name, same in sorted(groups.items(), key=lambda pair: -len(pair[1]))
    ]


def make_task(view: RunView, name: str) -> dict[str, Any]:
    """Return what the page of a task shows."""
    task, colors = view.tasks[name], number_colors(view)
    parts = []
    for section in view.sections:
        trials = [one for one in section.outcomes if one.task == name]
        if trials:
            teams = list(task.leaderboard.percentiles.values()) if task.leaderboard else []
            parts.append((section.rules, trials, draw_scores(trials, task.measured, colors, teams, width=720)))
    shown = [rules for rules, _, _ in parts]
    # Quirks are kept by the editions that name them; repairs say what an edition does instead.
    notes = {edition: rules for edition, rules in task.rules.items() if rules.quirks or rules.repairs}
    return {
        "task": task,
        "parts_of_task": parts,
        "colors": colors,
        "notes": notes,
        "previews": [(rules, preview_data(task, rules.edition, rules.variant)) for rules in shown],
        "teams": task.leaderboard.teams if task.leaderboard else None,
        "description": task.description,
    }


def make_trial(view: RunView, name: str) -> dict[str, Any] | None:
    """Return what the page of a trial shows; None if there is no such trial."""
    folder = view.trial(name)
    if folder is None:
        return None
    file, outcome = folder.file, view.by_trial[name]
    events = read_events(folder.events)
    journal = read_journal(events, outcome.direction)
    checks = [call.result for _, call in finished_calls(events) if isinstance(call.result, ValidationResult)]
    order = [one.trial for one in view.outcomes]
    place = order.index(name)
    tree = make_tree(journal, folder, outcome.title, "node", with_code=True) if journal.nodes else None
    return {
        "folder": folder,
        "file": file,
        "outcome": outcome,
        "state": folder.state,
        "submission": folder.submission_entry,
        "trace": make_trace(events, ContentStore(folder.snapshots), folder.snapshots),
        "checks": checks,
        "tree": tree,
        "has_ungraded_nodes": any(one.node.submission and not one.score for one in (tree.nodes if tree else ())),
        "colors": number_colors(view),
        "before": order[place - 1] if place else None,
        "after": order[place + 1] if place + 1 < len(order) else None,
        "rivals": [
            one
            for one in view.outcomes
            if (one.task, one.seed) == (outcome.task, outcome.seed) and one.agent != outcome.agent and one.ran
        ],
        "siblings": [one for one in view.outcomes if one.task == outcome.task],
        "last_snapshot": next((one.number for one in reversed(events) if isinstance(one, SnapshotTaken)), None),
        "place": name,
    }


def make_prompt(view: RunView, name: str, number: int) -> dict[str, Any] | None:
    """Return the whole prompt of a model call; None if there is no such call."""
    folder = view.trial(name)
    if folder is None:
        return None
    prompts = Prompts(read_events(folder.events))
    if number not in prompts.calls:
        return None
    calls = prompts.calls
    place = calls.index(number)
    return {
        "outcome": view.by_trial[name],
        "number": number,
        "messages": prompts.messages(number),
        "reply": prompts.reply(number),
        "tools": prompts.tools(number),
        "count": len(calls),
        "index": place + 1,
        "before": calls[place - 1] if place else None,
        "after": calls[place + 1] if place + 1 < len(calls) else None,
    }


def find_text(view: RunView, name: str, number: int, place: int) -> str | None:
    """Return one of the texts of an entry; None if there is no such text."""
    folder = view.trial(name)
    if folder is None:
        return None
    entry = make_trace(read_events(folder.events), ContentStore(folder.snapshots), folder.snapshots).find(number)
    if entry is None:
        return None
    blocks = [*entry.blocks, *entry.after]
    return blocks[place].text if place < len(blocks) else None


def number_blocks(entry: Entry, after: bool) -> list[tuple[int, Block]]:
    """Return the blocks before or after the inner calls of an entry, with their places in addresses."""
    start = len(entry.blocks) if after else 0
    return list(enumerate(entry.after if after else entry.blocks, start=start))


def _trace(folder: TrialFolder, events: Sequence[Any]) -> Trace:
    return make_trace(events, ContentStore(folder.snapshots))


def _explain(outcome: Outcome, folder: TrialFolder) -> FailedTrial:
    try:
        return FailedTrial(outcome, _trace(folder, read_events(folder.events)).first_problem)
    except RecordError as error:
        return FailedTrial(outcome, None, str(error))


def _agents(view: RunView, query: CompareQuery) -> list[str]:
    outcomes = [one for run in (view, *query.others) for one in run.outcomes]
    return list(dict.fromkeys(one.agent for one in outcomes))
