"""Candidates of a trial scored again: that hidden rows selected the submission, and that agents learned nothing else.

What an agent was told must follow from the half of the hidden rows that answers offers. So no answer came from test
rows, nor from the rows that select.
"""

import math
from collections.abc import Iterator

from assay.agents.offers import judge_candidate, rank_of
from assay.core.home import Home
from assay.data.selection import HiddenSplit, ScoredPart, prepare_selection
from assay.data.store import load_prepared
from assay.records import TrialFile, TrialFolder, read_events
from assay.records.content_store import ContentStore
from assay.records.events import CandidateScore
from assay.records.selection import (
    MAX_CANDIDATES,
    MAX_REPLIES,
    choose_candidate,
    find_answers,
    find_offers,
    find_pick,
    round_reply,
)
from assay.runs.trial_setup import find_format_problem
from assay.tasks import Task

_RELATIVE = 1e-6
"""Another machine may add in another order."""


def find_selection_faults(folder: TrialFolder, file: TrialFile, task: Task, home: Home) -> Iterator[str]:
    """Yield what contradicts the hidden rows; `RecordError` or `NotPrepared` if they or the candidates are missing."""
    events = read_events(folder.events)
    picked = find_pick(events)
    if picked is None or picked.selection != file.selection:
        yield f"selection is {file.selection}, but the record does not show that pick"
        return
    split = prepare_selection(home, load_prepared(home, task, file.edition, file.variant))
    contents, offers = ContentStore(folder.snapshots), find_offers(events)
    scores = _Scores(split, contents)
    part: ScoredPart = "hidden" if file.feedback == "nothing" else "pick"
    recorded = {entry.candidate: entry.score for entry in picked.scores}
    judged = []
    for candidate in list(offers)[: MAX_CANDIDATES + 1]:
        problem = find_format_problem(contents.get_by_digest(candidate), task, home, file)
        entry = CandidateScore(candidate=candidate, problem=problem) if problem else scores.of(candidate, part)
        if not _equal(then := recorded.get(candidate), entry.score):
            yield f"candidate {candidate[:8]} scores {entry.score} on hidden rows; recorded was {then}"
        judged.append(entry)
    needs_code = file.submit == "code" and not task.timed
    selectable = [entry for entry in judged if not needs_code or offers[entry.candidate].code]
    chosen = choose_candidate(selectable, task.metric.direction, picked.own)
    if len(judged) == len(offers) and chosen != picked.hidden:
        yield "hidden rows select another candidate than the recorded one"
    asked: list[str] = []
    for number, answer in enumerate(find_answers(events), start=1):
        if answer.candidate is None or answer.problem:
            continue
        asked.append(answer.candidate)
        if answer.score is None and answer.rank is None:
            continue
        if file.feedback == "nothing" or len(asked) > MAX_REPLIES:
            yield f"the agent was told a result by answer {number}, although nothing more was to be told"
            return
        entry = scores.of(answer.candidate, "feedback")
        told = entry.score is not None and (
            _equal(answer.score, round_reply(entry.score, entry.error))
            if file.feedback == "score"
            else answer.rank == rank_of(entry, [scores.of(each, "feedback") for each in dict.fromkeys(asked)], task)[0]
        )
        if not told:
            yield f"answer {number} to the agent does not follow from the hidden rows that answer offers"
            return


class _Scores:
    """Scores of candidates on parts of the hidden rows, each computed once."""

    def __init__(self, split: HiddenSplit, contents: ContentStore) -> None:
        self._split, self._contents = split, contents
        self._known: dict[tuple[str, ScoredPart], CandidateScore] = {}

    def of(self, candidate: str, part: ScoredPart) -> CandidateScore:
        """Return the score of a candidate; `RecordError` if the record does not keep it."""
        key = candidate, part
        if key not in self._known:
            self._known[key] = judge_candidate(self._split, self._contents.get_by_digest(candidate), part)
        return self._known[key]


def _equal(recorded: float | None, now: float | None) -> bool:
    if recorded is None or now is None:
        return recorded == now
    return math.isclose(recorded, now, rel_tol=_RELATIVE, abs_tol=1e-9)
