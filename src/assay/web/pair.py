"""Two trials of one task side by side, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.records import read_events
from assay.records.content_store import ContentStore
from assay.results.comparison import PairComparison
from assay.results.outcome import Outcome
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


def match_trials(outcomes: Sequence[Outcome], pair: PairComparison) -> dict[str, list[tuple[Outcome, Outcome]]]:
    """Return the trials of two agents on the same task with the same seed, by task, in the order of the comparison."""
    found = {(one.agent, one.task, one.seed): one for one in outcomes if one.counts and one.ran}
    matched = {}
    for task in pair.tasks[:_MAX_TASKS]:
        seeds = sorted(seed for agent, name, seed in found if (agent, name) == (pair.first, task.task))
        both = [
            (found[pair.first, task.task, seed], found[pair.second, task.task, seed])
            for seed in seeds
            if (pair.second, task.task, seed) in found
        ]
        if both:
            matched[task.task] = both
    return matched


def make_pair(view: RunView, *names: str) -> dict[str, Any] | None:
    """Return what the page of two trials shows; None if there are no such trials or their tasks differ."""
    folders = [view.trial(name) for name in names]
    outcomes = [view.by_trial.get(name) for name in names]
    if None in folders or None in outcomes or len({one.task for one in outcomes if one}) != 1:
        return None
    traces = [
        make_trace(read_events(folder.events), ContentStore(folder.snapshots), folder.snapshots)
        for folder in folders
        if folder
    ]
    return {
        "sides": list(zip(outcomes, traces, strict=True)),
        "steps": align_steps(*traces),
        "links": [
            TraceLinks(f"/run/{view.key}/trial/{name}", f"{side}-") for side, name in zip("ab", names, strict=True)
        ],
    }


def align_steps(first: Trace, second: Trace) -> list[AlignedStep]:
    """Return the entries of two trials by step; what is between two steps stays between them."""
    sides = [_by_place(trace) for trace in (first, second)]
    return [
        AlignedStep(None if between else number, *(side.get((number, between), ()) for side in sides))
        for number, between in sorted({*sides[0], *sides[1]})
    ]


def _by_place(trace: Trace) -> dict[tuple[int, bool], tuple[Entry, ...]]:
    """Return entries by the number of their step, or of the step before them, and whether they are after it."""
    found: dict[tuple[int, bool], tuple[Entry, ...]] = {}
    last = -1
    for step in trace.steps:
        last = last if step.number is None else step.number
        place = (last, step.number is None)
        found[place] = (*found.get(place, ()), *step.entries)
    return found
