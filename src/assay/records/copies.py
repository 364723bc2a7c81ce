"""Copies of trials: a trial that was copied as another seed, or under another name.

Two trials of a deterministic agent have the same commands, outputs and submissions, but never the same times: when each
event took place is recorded to the microsecond, and how long a call took to the millisecond. Two conversations with a
model differ in what it replied. So a copy has the times of another trial, or its replies. Models that run on one
machine, or that follow a script, repeat their replies; so may one that is asked for its most likely tokens only.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from assay.core.quantities import FiniteFloat, Model, Sha256
from assay.models.messages import Message
from assay.records.consistency import find_duration
from assay.records.events import CallFinished, Event, ModelResult, Started, Submitted
from assay.records.trial import TrialFile

_REPEATING = ("local/", "scripted/", "mockllm/")
_MAX_INTERVALS = 256
_PRECISION = 1e-4
"""Seconds by which two intervals may differ: the sum of a forger's small changes, but less than chance varies."""
_LONG_INTERVAL = 0.1
_MIN_INTERVALS = 5
_MIN_SHARE = 0.8
_SHORT = 0.01
_SERIES = 6
"""Consecutive durations of at least 10 ms, in ms, that do not repeat by chance: three calls, two durations of each."""
_LONG_REPLY = 200
_MIN_CHARACTERS = 1000


class Fingerprint(Model):
    """What only one trial can have: the seconds between its events, how long its calls took by its clock, and digests
    of long replies with their lengths."""

    trial: str
    task: str
    agent: str
    starter: bool = False
    submission: Sha256 | None = None
    intervals: tuple[FiniteFloat, ...] = ()
    durations: tuple[FiniteFloat, ...] = ()
    replies: tuple[tuple[Sha256, int], ...] = ()


def take_fingerprint(file: TrialFile, events: Sequence[Event]) -> Fingerprint:
    """Return the fingerprint of a trial; of a fork, that of what it did itself."""
    first = next((event.number for event in events if isinstance(event, Started) and event.trial == file.id), 0)
    own = events[first:]
    submitted = next((event for event in own if isinstance(event, Submitted)), None)
    intervals = (later.time - earlier.time for earlier, later in pairwise(own))
    durations = (duration for event in own if isinstance(event, CallFinished) for duration in _durations(event))
    texts = dict[str, int]()
    if not _repeats_replies(file):
        for event in own:
            if isinstance(event, CallFinished) and isinstance(event.result, ModelResult) and event.result.reply:
                text = _text_of(event.result.reply.message)
                if len(text) >= _LONG_REPLY:
                    texts[hashlib.sha256(text.encode(errors="replace")).hexdigest()] = len(text)
    return Fingerprint(
        trial=file.id,
        task=f"{file.task} {file.edition} {file.variant}",
        agent=file.model_copy(update={"seed": 0, "task": "any/task"}).trial_id,
        starter=file.agent == "starter",
        submission=submitted.submission.sha256 if submitted else None,
        intervals=tuple(round(interval.total_seconds(), 6) for interval in islice(intervals, _MAX_INTERVALS)),
        durations=tuple(islice(durations, _MAX_INTERVALS)),
        replies=tuple(texts.items()),
    )


class CopyFinder:
    """Finds copies among the trials that are added to it."""

    def __init__(self) -> None:
        self._by_total: dict[int, list[Fingerprint]] = defaultdict(list)
        self._by_interval: dict[int, set[str]] = defaultdict(set)
        self._by_durations: dict[tuple[float, ...], str] = {}
        self._by_reply: dict[str, set[str]] = defaultdict(set)

    def add(self, new: Fingerprint) -> str | None:
        """Add a trial; return which one it is a copy of, and why, or None if it is not."""
        reason = self.find(new)
        self._by_total[_bucket(sum(new.intervals), _MAX_INTERVALS * _PRECISION)].append(new)
        for interval in _long_intervals(new):
            self._by_interval[_bucket(interval)].add(new.trial)
        for part in _parts(new.durations):
            self._by_durations.setdefault(part, new.trial)
        for digest, _ in new.replies:
            self._by_reply[digest].add(new.trial)
        return reason

    def find(self, new: Fingerprint) -> str | None:
        """Return which of the trials a new one is a copy of, and why, or None if it is not."""
        return self._find_same_times(new) or self._find_same_durations(new) or self._find_same_replies(new)

    def _find_same_times(self, new: Fingerprint) -> str | None:
        total = _bucket(sum(new.intervals), _MAX_INTERVALS * _PRECISION)
        for other in (other for near in (total - 1, total, total + 1) for other in self._by_total.get(near, ())):
            if len(new.intervals) >= _MIN_INTERVALS and _all_close(new.intervals, other.intervals):
                return f"its events follow each other as those of {other.trial} do: it is a copy"
        long = _long_intervals(new)
        matches = Counter(
            trial
            for interval in long
            for trial in set().union(
                *(self._by_interval.get(near, ()) for near in range(_bucket(interval) - 1, _bucket(interval) + 2))
            )
        )
        for trial, count in matches.most_common(1):
            if count >= max(_MIN_INTERVALS, _MIN_SHARE * len(long)):
                return f"{count:,} of its {len(long):,} long intervals are those of {trial}: it is a copy"
        return None

    def _find_same_durations(self, new: Fingerprint) -> str | None:
        parts = _parts(new.durations)
        matches = Counter(trial for part in parts if (trial := self._by_durations.get(part)))
        for trial, count in matches.most_common(1):
            if count >= _MIN_SHARE * len(parts):
                return f"its calls took exactly as long as those of {trial}: it is a copy"
        return None

    def _find_same_replies(self, new: Fingerprint) -> str | None:
        shared: Counter[str] = Counter()
        for digest, length in new.replies:
            shared.update(dict.fromkeys(self._by_reply.get(digest, ()), length))
        total = sum(length for _, length in new.replies)
        for trial, length in shared.most_common(1):
            if length >= max(_MIN_CHARACTERS, total / 2):
                return f"{length:,} of {total:,} characters of its models' replies are those of {trial}: it is a copy"
        return None


def find_copied_entry(new: Sequence[Fingerprint], known: Sequence[Fingerprint]) -> str | None:
    """Return why these trials of somebody's run are copies of the known ones of another run, or None.

    A deterministic agent makes the same submissions again, so these count only where they are said to come from
    another agent or from a model that does not repeat itself. The starter's are what anyone may begin with.
    """
    finder = CopyFinder()
    for fingerprint in known:
        finder.add(fingerprint)
    for fingerprint in new:
        if reason := finder.find(fingerprint):
            return f"{fingerprint.trial}: {reason}"
    others: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for fingerprint in known:
        if not fingerprint.starter:
            others[fingerprint.task, fingerprint.submission].add(fingerprint.agent)
    submitted = [each for each in new if each.submission]
    copied = [
        each
        for each in submitted
        if (agents := others.get((each.task, each.submission))) and (each.replies or agents != {each.agent})
    ]
    if copied and len(copied) > len(submitted) / 2:
        return f"{len(copied):,} of its {len(submitted):,} submissions are the same files, by another agent"
    return None


def _durations(event: CallFinished) -> Iterator[float]:
    """Yield how long a call took by its own result, and when it ended by the clock of the trial."""
    seconds = find_duration(event.result)
    if seconds is not None and seconds >= _SHORT:
        yield seconds
        yield event.used.elapsed


def _parts(durations: Sequence[float]) -> set[tuple[float, ...]]:
    """Return all series of consecutive durations that are long enough to occur in one trial only."""
    return {tuple(durations[start : start + _SERIES]) for start in range(len(durations) - _SERIES + 1)}


def _bucket(seconds: float, width: float = _PRECISION) -> int:
    return int(seconds // width)


def _long_intervals(fingerprint: Fingerprint) -> list[float]:
    return [interval for interval in fingerprint.intervals if interval >= _LONG_INTERVAL]


def _all_close(first: Sequence[float], second: Sequence[float]) -> bool:
    return len(first) == len(second) and all(
        abs(mine - other) <= _PRECISION for mine, other in zip(first, second, strict=True)
    )


def _repeats_replies(file: TrialFile) -> bool:
    """Whether the models of a trial may give the same replies in another one."""
    if any(model.startswith(_REPEATING) for model in file.models.values()):
        return True
    settings = [file.model_settings, *(value for value in file.model_settings.values() if isinstance(value, dict))]
    return any(each.get("temperature") == 0 or each.get("seed") is not None for each in settings)


def _text_of(message: Message) -> str:
    return message.text + "".join(f"{call.name}{call.arguments}" for call in message.tool_calls)
