"""Where a submission comes from: whether it is the file that the record shows in the workspace when the work ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from assay.core.errors import RecordError
from assay.lab.snapshots import load_snapshot
from assay.records.events import (
    AgentCrashed,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    Event,
    Restarted,
    SnapshotTaken,
    Started,
    Submitted,
    WriteRequest,
    WriteResult,
)
from assay.records.trial import TrialFolder


@dataclass(frozen=True)
class Origin:
    """What the record says about the submitted file: it was there, another was, or the record does not say."""

    verdict: Literal["recorded", "contradicted", "unknown"]
    reason: str = ""


def find_last_snapshot(events: Sequence[Event]) -> str | None:
    """Return the last snapshot of the workspace before the submission, which exports contain."""
    snapshots = (event.snapshot for event in reversed(_last_life(events)) if isinstance(event, SnapshotTaken))
    return next(snapshots, None)


def find_origin(
    folder: TrialFolder, events: Sequence[Event], submitted: Submitted, *, path: str | None = None
) -> Origin:
    """Compare the submission with the last snapshot and with what was written after it.

    The record has the name of the file; `path`, if known, is where the task wants it in the workspace. A call that
    could have changed the file and was not followed by a snapshot leaves its content unknown.
    """
    name, life = str(submitted.submission.file), _last_life(events)
    taken = find_last_snapshot(events)
    if taken is None:
        return _without_snapshot(life)
    try:
        snapshot = load_snapshot(folder.snapshots, taken)
    except RecordError as error:
        return Origin("unknown", f"its snapshot cannot be read: {error}")
    is_submission = partial(_is_named, name=name, path=path)
    contents: set[str] | None = {file.sha256 for other, file in snapshot.files.items() if is_submission(other)}
    if not contents and any(map(is_submission, snapshot.left_out)):
        contents = None
    # A trial that is resumed continues from the last snapshot, and repeats what it had done after that.
    last = max(index for index, event in enumerate(life) if isinstance(event, SnapshotTaken | Started))
    finished = {event.call: event.result for event in life[last:] if isinstance(event, CallFinished)}
    for event in life[last:]:
        if not (isinstance(event, CallStarted) and event.changes):
            continue
        if not isinstance(event.request, WriteRequest):
            contents = None
        elif is_submission(event.request.path) and _succeeded(finished.get(event.number)):
            contents = {event.request.content.sha256}
    if contents is None:
        return Origin("unknown", "the last snapshot was taken before the last change of the workspace, or without it")
    if submitted.submission.sha256 in contents:
        return Origin("recorded")
    return Origin("contradicted", "it is not the file that the last snapshot and the recorded writes show")


def _without_snapshot(life: Sequence[Event]) -> Origin:
    """Judge a log without any snapshot: only an agent that did nothing, or did not get to it, leaves such a log."""
    changed = any(isinstance(event, CallStarted) and event.changes for event in life)
    interrupted = any(isinstance(event, AgentCrashed | BudgetExhausted) for event in life)
    if changed and not interrupted:
        return Origin("contradicted", "the log has calls that change the workspace, but no snapshot of it")
    return Origin("unknown", "the log has no snapshot of the workspace")


def _last_life(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events that led to the submission: those since the agent last started with an empty workspace."""
    end = next((index for index, event in enumerate(events) if isinstance(event, Submitted)), len(events))
    starts = [index for index, event in enumerate(events[:end]) if isinstance(event, Restarted)]
    return events[starts[-1] if starts else 0 : end]


def _is_named(other: str, *, name: str, path: str | None) -> bool:
    return other == path if path else other == name or other.endswith(f"/{name}")


def _succeeded(result: object) -> bool:
    return isinstance(result, WriteResult) and result.refused is None
