"""Two trials of one task side by side, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.records import read_events
from assay.records.content_store import ContentStore
from assay.results.frame import TrialRow
from assay.results.paired import PairedDifference
from assay.web.markup import TraceLinks
from assay.web.runs import RunView
from assay.web.trace import Entry, Trace, make_trace

_MAX_TASKS = 100


@dataclass(frozen=True)
class AlignedStep:
    """What two trials did in the same step; None where it is before, between or after steps."""

    number: int | None
    first: tuple[Entry, ...]
    second: tuple[Entry, ...]


def match_trials(rows: Sequence[TrialRow], pair: PairedDifference) -> dict[str, list[tuple[TrialRow, TrialRow]]]:
    """Return the trials of two agents on the same task with the same seed, by task, in the order of the comparison."""
    trials = {(row.agent, row.task, row.seed): row for row in rows if row.counts and row.ran}
    matches = {}
    for task in pair.tasks[:_MAX_TASKS]:
        seeds = sorted(seed for agent, name, seed in trials if (agent, name) == (pair.first, task.task))
        both = [
            (trials[pair.first, task.task, seed], trials[pair.second, task.task, seed])
            for seed in seeds
            if (pair.second, task.task, seed) in trials
        ]
        if both:
            matches[task.task] = both
    return matches


def make_pair(view: RunView, *names: str) -> dict[str, Any] | None:
    """Return the content of the page of two trials; None if there are no such trials or their tasks differ."""
    if not all(name in view.folders and name in view.by_trial for name in names):
        return None
    rows, folders = [view.by_trial[name] for name in names], [view.folders[name] for name in names]
    if rows[0].task != rows[1].task:
        return None
    traces = [
        make_trace(read_events(folder.events), ContentStore(folder.snapshots), folder.snapshots, with_prompts=True)
        for folder in folders
    ]
    return {
        "sides": list(zip(rows, traces, strict=True)),
        "steps": align_steps(*traces),
        "links": [
            TraceLinks(f"/run/{view.key}/trial/{name}", f"{side}-") for side, name in zip("ab", names, strict=True)
        ],
    }


def align_steps(first: Trace, second: Trace) -> list[AlignedStep]:
    """Return the entries of two trials by step; what is between two steps stays between them."""
    sides = [_by_position(trace) for trace in (first, second)]
    return [
        AlignedStep(None if between else number, *(side.get((number, between), ()) for side in sides))
        for number, between in sorted({*sides[0], *sides[1]})
    ]


def _by_position(trace: Trace) -> dict[tuple[int, bool], tuple[Entry, ...]]:
    """Return entries by the number of their step, or of the step before them, and whether they are after it."""
    entries: dict[tuple[int, bool], tuple[Entry, ...]] = {}
    last = -1
    for step in trace.steps:
        last = last if step.number is None else step.number
        position = (last, step.number is None)
        entries[position] = (*entries.get(position, ()), *step.entries)
    return entries
