"""Search inside what agents wrote, ran and saw, over all trials of a run."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.core.errors import RecordError
from assay.core.text import one_line, strip_control
from assay.records import TrialFolder, read_events
from assay.records.content_store import ContentStore
from assay.results.frame import TrialRow
from assay.web.runs import RunView
from assay.web.trace import Entry, make_trace

MIN_LENGTH = 2
_SECONDS = 4.0
"""How long one page may search; the next page goes on with the trial after the last one."""
_MAX_HITS_OF_A_TRIAL = 5
_MAX_HITS = 200
_AROUND = 70


@dataclass(frozen=True)
class Hit:
    """An entry of a trial that contains the words, and the text around them."""

    entry: Entry
    block: str
    before: str
    match: str
    after: str


@dataclass(frozen=True)
class TrialHits:
    """The first hits in one trial, and how many entries have one."""

    row: TrialRow
    hits: tuple[Hit, ...]
    count: int


@dataclass(frozen=True)
class SearchResults:
    """What a search has found so far: the trials from `start` to `end` were searched. Unreadable ones are counted."""

    words: str
    trials: tuple[TrialHits, ...]
    start: int
    end: int
    total: int
    unreadable: int

    @property
    def is_complete(self) -> bool:
        """Whether all trials were searched."""
        return self.end >= self.total


def search_run(
    view: RunView, words: str, start: int = 0, *, clock: Callable[[], float] = time.monotonic
) -> SearchResults:
    """Search the replies, commands, outputs, files and events of trials, ignoring case, from one trial on."""
    rows = [row for row in view.rows if row.ran]
    begun, found_in, hits, unreadable, end = clock(), list[TrialHits](), 0, 0, start
    for row in rows[start:]:
        if end > start and (clock() - begun > _SECONDS or hits >= _MAX_HITS):
            break
        end += 1
        try:
            trial = _search_trial(row, view.folders[row.trial], words)
        except RecordError:
            unreadable += 1
            continue
        if trial.count:
            found_in.append(trial)
            hits += len(trial.hits)
    return SearchResults(words, tuple(found_in), start, end, len(rows), unreadable)


def _search_trial(row: TrialRow, folder: TrialFolder, words: str) -> TrialHits:
    trace = make_trace(read_events(folder.events), ContentStore(folder.snapshots))
    hits = [hit for entry in trace.entries if (hit := next(_search_entry(entry, words.casefold()), None))]
    return TrialHits(row, tuple(hits[:_MAX_HITS_OF_A_TRIAL]), len(hits))


def _search_entry(entry: Entry, words: str) -> Iterator[Hit]:
    texts: Sequence[tuple[str, str]] = [("", entry.title), *((b.name, b.text) for b in (*entry.blocks, *entry.after))]
    for name, text in texts:
        position = text.casefold().find(words)
        if position >= 0:
            ends = position, position + len(words)
            parts = text[max(ends[0] - _AROUND, 0) : ends[0]], text[slice(*ends)], text[ends[1] : ends[1] + _AROUND]
            before, match, after = (one_line(strip_control(part), 2 * _AROUND) for part in parts)
            spaces = (" " if parts[0][-1:].isspace() else "", " " if parts[2][:1].isspace() else "")
            yield Hit(entry, name, before + spaces[0], match, spaces[1] + after)
