"""Checks whether a run's records are what they were when they were written, as far as the records can show.

What protects what: a trial's id is a hash of what defines it; its log names the hash of `trial.json` when work begins,
the hashes of snapshots and of the submission, and the grade; the lines of the log are chained. So a change to any file
breaks a hash that is recorded in another. A forger who rewrites the whole log must invent one that contradicts itself
nowhere; then only a digest of the run that was published or signed before tells: see `assay.records.signature`.

A run folder may come from anywhere: nothing in it is followed out of the folder, executed, or assumed to be valid.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar

from assay.core.disk import hash_file
from assay.core.errors import RecordError
from assay.core.text import one_line
from assay.core.untrusted import find_special_file, is_plain_name, refuse_links
from assay.grading.result import Grade
from assay.lab.snapshots import SnapshotReader, hash_object, object_digests
from assay.records.consistency import check_consistency, recorded_contents
from assay.records.copies import CopyFinder, take_fingerprint
from assay.records.events import (
    Event,
    EventBase,
    Graded,
    Inapplicable,
    InfrastructureFailed,
    SnapshotTaken,
    Started,
    Submitted,
)
from assay.records.final_state import final_state
from assay.records.log import is_torn, log_size, read_events, read_log_lines
from assay.records.origin import find_origin
from assay.records.prompts import Prompts
from assay.records.retention import find_missing
from assay.records.run import RunFile, RunFolder
from assay.records.state import SubmissionEntry
from assay.records.trial import TrialFile, TrialFolder, read_record

Level = Literal["error", "unverified", "remark"]
"""`error`: it does not match. `unverified`: it may be true, but was not established. `remark`: the rest."""
Found = TypeVar("Found", bound=EventBase)

UNFINISHED = "progress"
"""The part of a finding that says that a trial is not finished."""
ORIGIN = "origin"
"""The part of a finding on where a submission comes from."""
_FIXED_AT_SUBMISSION = ("elapsed", "waited", "steps", "tokens", "cost", "started_at", "sealing", "answers")


@dataclass(frozen=True)
class RecordFinding:
    """Something that does not match, or a remark: in which trial, in which part of its record, and what it is."""

    trial: str
    part: str
    message: str
    level: Level = "error"


def check_run(run: RunFolder) -> Iterator[RecordFinding]:
    """Find everything in a run's records that is inconsistent; trials that are not finished are remarks."""
    listed = run.file.trials
    trials = run.path / "trials"
    refuse_links(trials)
    present = {path.name for path in trials.iterdir()} if trials.is_dir() else set()
    for name in sorted(present - set(listed)):
        yield RecordFinding(name, "run.json", "the folder exists, but the run does not list it: it was added")
    for name, count in Counter(listed).items():
        if count > 1:
            yield RecordFinding(name, "run.json", "the run lists it more than once")
    for plan in run.file.plans:
        if not plan.is_intact:
            yield RecordFinding("the run", "run.json", "its registered plan does not have its hash: it was changed")
    copies, planned = CopyFinder(), list[TrialFile]()
    for name in dict.fromkeys(listed):
        if not is_plain_name(name):
            yield RecordFinding(name, "run.json", "this is not a valid name of a trial")
        elif name not in present:
            yield RecordFinding(name, "run.json", "the run lists it, but there is no such folder: it was removed")
        else:
            folder = TrialFolder(trials / name)
            yield from check_trial(run, folder, copies)
            with suppress(RecordError):
                planned.append(folder.file)
    yield from _check_planned(run.file, planned)


def check_trial(run: RunFolder, folder: TrialFolder, copies: CopyFinder | None = None) -> Iterator[RecordFinding]:
    """Find everything in a trial's record that is inconsistent.

    `copies` has the trials that were checked before, and is added to.
    """
    name = folder.path.name
    if special := _find_special_file(run, folder):
        yield RecordFinding(name, "folder", f"{special} is a link or a special file; a record holds plain files only")
        return
    try:
        file = folder.file
    except RecordError as error:
        yield RecordFinding(name, "trial.json", str(error))
        return
    yield from _check_identity(folder, file)
    try:
        events = read_events(folder.events, strict=True)
        Prompts(events)
    except (RecordError, OSError) as error:
        yield RecordFinding(name, "events.jsonl", str(error))
        return
    try:
        yield from _check_log(run, folder, file, events)
        copy = (copies or CopyFinder()).add(take_fingerprint(file, events))
        if copy:
            yield RecordFinding(name, "events.jsonl", copy)
        yield from _check_submission(folder, events, is_export(run))
        yield from _check_grade(folder, events)
        yield from _check_state(folder, events)
    except (RecordError, OSError) as error:
        yield RecordFinding(name, "record", str(error))
    if is_export(run):
        yield RecordFinding(
            name, "snapshots", "not checked: exports contain only the list of files of the last", "remark"
        )
        return
    yield from _check_snapshots(file, folder.snapshots, events)


def is_export(run: RunFolder) -> bool:
    """Whether this was written by `assay export`, which omits snapshots and, by default, submissions."""
    return (run.path / "index.json").is_file()


def _find_special_file(run: RunFolder, folder: TrialFolder) -> str | None:
    """Return the first entry of a trial's folder that is neither a plain file nor a plain folder."""
    path = folder.path
    if path.is_symlink() or not path.is_dir() or path.resolve().parent.parent != run.path.resolve():
        return "the trial's folder"
    return find_special_file(path)


def _check_identity(folder: TrialFolder, file: TrialFile) -> Iterator[RecordFinding]:
    name = folder.path.name
    own = file.trial_id
    if file.id != name:
        yield RecordFinding(name, "trial.json", f"it is the record of {file.id}: the folders were swapped or renamed")
    if file.parent is not None:
        if not (file.id.startswith(f"{own}-") and file.id.startswith(f"{file.parent}-from-")):
            yield RecordFinding(name, "trial.json", f"it cannot be a fork of {file.parent}: a setting was changed")
    elif file.replaces is not None:
        if not (file.id.startswith(f"{own}-again-") and file.replaces.startswith(own)):
            yield RecordFinding(name, "trial.json", f"it cannot be a rerun of {file.replaces}: a setting was changed")
    elif file.id != own:
        yield RecordFinding(name, "trial.json", f"its settings give the id {own}: a setting was changed")


def _check_log(
    run: RunFolder, folder: TrialFolder, file: TrialFile, events: Sequence[Event]
) -> Iterator[RecordFinding]:
    name = folder.path.name
    starts = [event for event in events if isinstance(event, Started)]
    # A process can fail before it starts the trial.
    if events and not isinstance(events[0], Started | InfrastructureFailed):
        yield RecordFinding(name, "events.jsonl", "the log does not begin with a start")
    foreign = sorted({event.trial for event in starts if not _is_ancestor(file, event.trial)})
    if foreign:
        yield RecordFinding(name, "events.jsonl", f"it is the log of {foreign[0]}: files were swapped between trials")
    digests = {event.trial_file_sha256 for event in starts if event.trial == file.id}
    if digests - {hash_file(folder.path / "trial.json")}:
        yield RecordFinding(name, "trial.json", "its hash is not the one in the log: it was changed")
    for message in check_consistency(file, events, created_at=datetime.fromisoformat(run.file.created_at)):
        yield RecordFinding(name, "events.jsonl", message)
    if log_size(folder.events) is not None and is_torn(folder.events):
        level: Level = "error" if any(isinstance(event, Graded | Inapplicable) for event in events) else "remark"
        yield RecordFinding(name, "events.jsonl", "it ends in the middle of a line", level)
    epochs = [event.epoch for event in events]
    if epochs != sorted(epochs) or (epochs and 0 < folder.attempts < epochs[-1] and not file.parent):
        yield RecordFinding(name, "events.jsonl", "events were written out of order: the epochs do not increase")
    if file.parent and file.parent in run.file.trials:
        yield from _check_shared_past(run, folder, file, starts)


def _is_ancestor(file: TrialFile, name: str) -> bool:
    """Whether the log of this trial may have lines of that one: itself, or one it was forked from."""
    return name == file.id or (file.parent is not None and file.id.startswith(f"{name}-from-"))


def _check_shared_past(
    run: RunFolder, folder: TrialFolder, file: TrialFile, starts: Sequence[Started]
) -> Iterator[RecordFinding]:
    parent = TrialFolder(run.path / "trials" / str(file.parent))
    own = next((event.number for event in starts if event.trial == file.id), None)
    if _first_lines(folder.events, own) != _first_lines(parent.events, own):
        yield RecordFinding(folder.path.name, "events.jsonl", f"its beginning is not that of {file.parent}")


def _first_lines(path: Path, count: int | None) -> list[bytes]:
    try:
        return list(islice(read_log_lines(path), count))
    except FileNotFoundError:
        return []


def _check_planned(file: RunFile, planned: Sequence[TrialFile]) -> Iterator[RecordFinding]:
    """Find trials that a plan must have had: its seeds are 1 to n, and removing a trial leaves its id in the run."""
    known = {*file.trials, *(trial.id for trial in file.removed)}
    count = sum("-again-" not in name and "-from-" not in name for name in known)
    for plan in file.plans:
        if plan.trials is not None and count < plan.trials:
            message = f"a registered plan has {plan.trials:,} trials, but the run has {count:,}: trials were removed"
            yield RecordFinding("the run", "run.json", message)
    for trial in planned:
        if trial.replaces is not None and trial.replaces not in known:
            message = f"it reruns {trial.replaces}, which the run does not have: that was removed"
            yield RecordFinding(trial.id, "run.json", message)
    plans: dict[str, list[TrialFile]] = {}
    for trial in planned:
        if trial.parent is None and trial.replaces is None:
            plans.setdefault(trial.model_copy(update={"seed": 0}).trial_id, []).append(trial)
    for trials in plans.values():
        seeds = {trial.seed for trial in trials}
        count = max(*seeds, *(trial.planned_seeds or 0 for trial in trials))
        for seed in islice((seed for seed in range(1, count + 1) if seed not in seeds), len(seeds) + 1):
            missing = trials[0].model_copy(update={"seed": seed}).trial_id
            if missing not in known:
                yield RecordFinding(missing, "run.json", f"seed {seed} of {count:,} is missing: the trial was removed")


def _check_submission(folder: TrialFolder, events: Sequence[Event], exported: bool) -> Iterator[RecordFinding]:
    name, submitted = folder.path.name, _last(events, Submitted)
    path = folder.path / "submission" / "manifest.json"
    if submitted is None:
        if path.exists():
            yield RecordFinding(name, "submission", "it exists, but the log has none: lines of the log are missing")
        return
    entry = submitted.submission
    if not path.exists():
        yield RecordFinding(name, "submission/manifest.json", "the log has a submission, but this file is missing")
    elif read_record(path, SubmissionEntry) != entry:
        yield RecordFinding(name, "submission/manifest.json", "it differs from the submission in the log")
    if entry.file is None:
        return
    part = f"submission/{entry.file}"
    file = folder.path / "submission" / entry.file
    if not file.is_file():
        yield RecordFinding(name, part, "the submitted file is missing", "remark" if exported else "error")
    elif (file.stat().st_size, hash_file(file)) != (entry.size, entry.sha256):
        yield RecordFinding(name, part, "its hash is not the one in the log: the submission was changed")
    origin = find_origin(folder, events, submitted)
    if origin.verdict == "contradicted":
        yield RecordFinding(name, ORIGIN, f"{part}: {origin.reason}")
    elif origin.verdict == "unknown":
        yield RecordFinding(name, ORIGIN, f"{part}: {origin.reason}", "unverified")


def _check_grade(folder: TrialFolder, events: Sequence[Event]) -> Iterator[RecordFinding]:
    name, path, graded = folder.path.name, folder.path / "grade.json", _last(events, Graded)
    if sum(isinstance(event, Graded) for event in events) > 1:
        yield RecordFinding(name, "events.jsonl", "it was graded more than once")
    if graded is None:
        if path.exists():
            yield RecordFinding(name, "grade.json", "it exists, but the log has none: lines of the log are missing")
        return
    if not path.exists():
        yield RecordFinding(name, "grade.json", "the log has a grade, but this file is missing")
        return
    ours, logged = read_record(path, Grade).model_dump(), graded.grade.model_dump()
    for field in ours:
        if ours[field] != logged[field]:
            message = f"{field} is {_show(ours[field])}, in the log {_show(logged[field])}: the grade was changed"
            yield RecordFinding(name, "grade.json", message)


def _check_state(folder: TrialFolder, events: Sequence[Event]) -> Iterator[RecordFinding]:
    name, state = folder.path.name, folder.state
    final, submitted = final_state(events), _last(events, Submitted)
    if final is None and state.final:
        message = f"it says {state.status}, but the log does not: lines of the log are missing"
        yield RecordFinding(name, "state.json", message)
    elif final is None:
        message = f"not finished: it is {state.status}, so it has no result yet"
        yield RecordFinding(name, UNFINISHED, message, "remark")
    expected = final or (submitted.state if submitted else None)
    if expected is None:
        return
    ours, logged = state.model_dump(mode="json"), expected.model_dump(mode="json")
    for field in ours if final else _FIXED_AT_SUBMISSION:
        if ours[field] != logged[field]:
            message = f"{field} is {_show(ours[field])}, by the log {_show(logged[field])}: it was changed"
            yield RecordFinding(name, "state.json", message)


def _check_snapshots(file: TrialFile, store: Path, events: Sequence[Event]) -> Iterator[RecordFinding]:
    """Check whether the contents that a log names are stored, under the hashes by which it names them."""
    name, manifests, present = file.id, store / "manifests", object_digests(store)
    for digest, path in present.items():
        part = f"snapshots/objects/{path.name}"
        if not path.is_file():
            yield RecordFinding(name, part, "it is not a plain file")
        elif not _has_digest(store, digest):
            yield RecordFinding(name, part, "its content does not have the hash it is named by: it was changed")
    reader, unreadable = SnapshotReader(store), dict[str, str]()
    for id in dict.fromkeys(event.snapshot for event in events if isinstance(event, SnapshotTaken)):
        path = manifests / f"{id}.json"
        part = f"snapshots/manifests/{path.name}"
        if not path.is_file():
            yield RecordFinding(name, part, "the log names this snapshot, but it is missing")
        elif hash_file(path) != id:
            yield RecordFinding(name, part, "its content does not have the hash it is named by")
        else:
            try:
                snapshot = reader.load(id)
            except RecordError as error:
                unreadable.setdefault(str(error), part)  # all that differ from a damaged one fail alike
                continue
            for digest in sorted(find_missing(file, events, snapshot, present)):
                message = f"snapshot {id[:10]} names this content, but it is missing"
                yield RecordFinding(name, f"snapshots/objects/{digest}", message)
    for message, part in unreadable.items():
        yield RecordFinding(name, part, message)
    named = {content.sha256 for content in recorded_contents(events) if not content.inline}
    for digest in sorted(named - present.keys()):
        yield RecordFinding(name, f"snapshots/objects/{digest}", "the log names this content, but it is missing")


def _has_digest(store: Path, digest: str) -> bool:
    try:
        return hash_object(store, digest) == digest
    except RecordError:
        return False


def _last(events: Sequence[Event], kind: type[Found]) -> Found | None:
    return next((event for event in reversed(events) if isinstance(event, kind)), None)


def _show(value: object) -> str:
    return one_line(json.dumps(value, default=str), 60)
