"""Where a submission comes from: whether it is the file that the record shows in the workspace when the work ended."""

import hashlib
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from assay.core.errors import RecordError
from assay.core.text import quote
from assay.core.untrusted import MAX_CONTENT, read_plain
from assay.grading.by_running.hidden_tests import ARCHIVE
from assay.lab.snapshots import load_snapshot, read_object
from assay.records.code import MAX_CODE, decode_code, find_rerun
from assay.records.events import (
    AgentCrashed,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    Event,
    Picked,
    Reran,
    Restarted,
    SnapshotTaken,
    Started,
    Submitted,
    WriteRequest,
    WriteResult,
)
from assay.records.selection import find_offers, find_pick
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
    contents = _find_contents(folder, life, events, name, path)
    if reran := find_rerun(life):
        return _of_code(folder, life, reran, submitted, contents)
    if picked := find_pick(life):
        return _of_pick(folder, life, picked, submitted, contents)
    if isinstance(contents, Origin):
        return contents
    if name == ARCHIVE and not contents and (taken := find_last_snapshot(events)):
        return _of_workspace(folder, taken, submitted)
    if submitted.submission.sha256 in contents:
        return Origin("recorded")
    return Origin("contradicted", "it is not the file that the last snapshot and the recorded writes show")


def _find_contents(
    folder: TrialFolder, life: Sequence[Event], events: Sequence[Event], name: str, path: str | None
) -> set[str] | Origin:
    """Return what the submission in the workspace can have been when the work ended, or why the record does not say."""
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
    return contents


def _of_workspace(folder: TrialFolder, taken: str, submitted: Submitted) -> Origin:
    """Judge an archive of the workspace, all of whose files must be those of the last snapshot."""
    snapshot, path = load_snapshot(folder.snapshots, taken), folder.submission
    if path is None or not path.is_file():
        return Origin("unknown", "the submission is not in the record")
    digests = {name: file.sha256 for name, file in snapshot.files.items()}
    content = read_plain(path, MAX_CONTENT)
    if hashlib.sha256(content).hexdigest() != submitted.submission.sha256:
        return Origin("contradicted", "it is not what the log says was submitted")
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                if member.size > len(content):  # a sparse file, which is never packed
                    return Origin("contradicted", f"its file {quote(member.name)} is larger than the archive")
                file = archive.extractfile(member) if member.isreg() else None
                if file and digests.get(member.name) != hashlib.sha256(file.read()).hexdigest():
                    return Origin("contradicted", f"its file {quote(member.name)} is not that of the last snapshot")
                if member.issym() and snapshot.links.get(member.name) != member.linkname:
                    return Origin("contradicted", f"its link {quote(member.name)} is not that of the last snapshot")
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        return Origin("contradicted", f"it is no archive of a workspace: {error}")
    return Origin("recorded")


def _of_pick(
    folder: TrialFolder, life: Sequence[Event], picked: Picked, submitted: Submitted, contents: set[str] | Origin
) -> Origin:
    """Judge a submission that was picked among candidates: rows of one that was offered, and that the record keeps.

    The agent's own pick is what it left in its workspace, of which `contents` says what it can have been.
    """
    if picked.submission != submitted.submission.sha256:
        return Origin("contradicted", "it is not what the log says was picked")
    offers = find_offers(life)
    scores = [entry.candidate for entry in picked.scores]
    if picked.pick not in offers or scores != list(offers):
        return Origin("contradicted", "the log does not show that the candidates of the pick were offered")
    if picked.own and not isinstance(contents, Origin) and picked.own not in contents:
        return Origin("contradicted", "the agent's own pick is not what it left in its workspace")
    if picked.selection == "report" and picked.pick != picked.own:
        return Origin("contradicted", "the agent was to select, but another candidate was submitted")
    if picked.selection == "hidden" and picked.pick != (picked.hidden or picked.own):
        return Origin("contradicted", "it is not the candidate that hidden rows select")
    try:
        candidate, rows = read_object(folder.snapshots, str(picked.pick)), folder.submission
    except RecordError as error:
        return Origin("unknown", f"the candidate it was made from cannot be read: {error}")
    if rows is not None and rows.is_file():
        lines = set(candidate.replace(b"\r\n", b"\n").decode(errors="replace").lstrip("\ufeff").splitlines())
        # A cell may be quoted in the candidate without need; then its lines cannot be compared.
        if (
            b'"' not in candidate
            and not set(read_plain(rows, MAX_CONTENT).decode(errors="replace").splitlines()) <= lines
        ):
            return Origin("contradicted", "it has rows that the candidate does not have")
    return Origin("recorded")


def _of_code(
    folder: TrialFolder, life: Sequence[Event], reran: Reran, submitted: Submitted, contents: set[str] | Origin
) -> Origin:
    """Judge a submission that code made in a fresh lab: code of the last snapshot, or of the candidate picked."""
    if reran.produced != submitted.submission.sha256 or reran.cause or reran.code is None:
        return Origin("contradicted", "it is not what the log says that the code made")
    picked, offers = find_pick(life), find_offers(life)
    if picked is None and reran.first and not isinstance(contents, Origin) and reran.first not in contents:
        return Origin("contradicted", "the file that the code was submitted for is not what the agent left")
    if picked and picked.pick and picked.pick != picked.own:
        known = offers[picked.pick].code if picked.pick in offers else None
        if known == reran.code:
            return Origin("recorded")
        return Origin("contradicted", "it was not made by the code of the candidate")
    last = find_last_snapshot(life)
    try:
        code = decode_code(read_object(folder.snapshots, reran.code, MAX_CODE * 2))
        files = load_snapshot(folder.snapshots, last).files if last else {}
    except RecordError as error:
        return Origin("unknown", f"its code cannot be read: {error}")
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in code.files.items()}
    if all(path in files and files[path].sha256 == digest for path, digest in digests.items()):
        return Origin("recorded")
    return Origin("contradicted", "it was made by other code than that of the last snapshot")


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
