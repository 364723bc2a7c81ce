"""Whether a run's records are what they were when they were written, as far as the records themselves can tell.

What holds what: a trial's id is a hash of what was asked; its log names the hash of `trial.json` when work begins, the
hashes of snapshots and of the submission, and the grade; the log's lines are chained. So a change to any file breaks a
hash that stands in another. Only a forger who rewrites the whole log stays unseen, unless the head of the run, a hash
over all of its logs, was kept elsewhere: see `assay.records.signature`.

A run folder may come from anybody: nothing in it is followed out of the folder, executed, or trusted to be well-formed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.core.disk import hash_file
from assay.core.errors import RecordError
from assay.grading.result import Grade
from assay.records.events import Event, read_events
from assay.records.kept import check_snapshots
from assay.records.run import RunFolder
from assay.records.trial import SubmissionEntry, TrialFile, TrialFolder, read_record, trial_id
from assay.tasks import Budget

Level = Literal["wrong", "remark"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOLD_WHEN_HANDED_IN = ("elapsed", "waited", "steps", "tokens", "cost", "started_at", "sealing", "answers")


@dataclass(frozen=True)
class Finding:
    """One thing that does not match, or that is worth knowing: where, which part of the record, and what about it."""

    where: str
    part: str
    says: str
    level: Level = "wrong"


def check_run(run: RunFolder) -> Iterator[Finding]:
    """Everything in a run's records that does not fit together."""
    listed = run.file.trials
    trials = run.path / "trials"
    there = {path.name for path in trials.iterdir()} if trials.is_dir() else set()
    for name in sorted(there - set(listed)):
        yield Finding(name, "run.json", "the folder is there, but the run does not list it: it was added")
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield Finding(name, "run.json", "the run lists it more than once")
    for name in dict.fromkeys(listed):
        if not is_name(name):
            yield Finding(name, "run.json", "this is no name of a trial")
        elif name not in there:
            yield Finding(name, "run.json", "the run lists it, but there is no such folder: it was removed")
        else:
            yield from check_trial(run, TrialFolder(trials / name))


def check_trial(run: RunFolder, folder: TrialFolder) -> Iterator[Finding]:
    """Everything in a trial's record that does not fit together."""
    name = folder.path.name
    if outside := _not_plain(run, folder):
        yield Finding(name, "folder", f"{outside} is a link or a special file; a record holds plain files only")
        return
    try:
        file = folder.file
    except RecordError as error:
        yield Finding(name, "trial.json", str(error))
        return
    yield from _check_identity(folder, file)
    try:
        events = read_events(folder.events) if folder.events.exists() else []
    except RecordError as error:
        yield Finding(name, "events.jsonl", str(error))
        return
    try:
        yield from _check_log(run, folder, file, events)
        yield from _check_submission(folder, events, exported(run))
        yield from _check_grade(folder, events)
        yield from _check_state(folder, events)
    except (KeyError, TypeError, ValueError, AttributeError, RecordError) as error:
        yield Finding(name, "events.jsonl", f"an event or file has not the form it should have: {error!r}")
    if exported(run) and not folder.snapshots.exists():
        yield Finding(name, "snapshots", "not checked: they are left out when a run is exported", "remark")
        return
    for part, says in check_snapshots(folder.snapshots, events):
        yield Finding(name, part, says)


def is_name(text: str) -> bool:
    """Whether this can be the name of a trial, and leads nowhere else."""
    return bool(_NAME.fullmatch(text))


def exported(run: RunFolder) -> bool:
    """Whether this is what `assay export` packed, which leaves out snapshots and, unless asked, submissions."""
    return (run.path / "index.json").is_file()


def _not_plain(run: RunFolder, folder: TrialFolder) -> str | None:
    """The first thing in a trial's folder that is neither a plain file nor a plain folder."""
    if (
        folder.path.is_symlink()
        or not folder.path.is_dir()
        or folder.path.resolve().parent.parent != run.path.resolve()
    ):
        return "it"
    for path in sorted(folder.path.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            return path.relative_to(folder.path).as_posix()
    return None


def _check_identity(folder: TrialFolder, file: TrialFile) -> Iterator[Finding]:
    name = folder.path.name
    asked = file.model_dump(mode="json")
    asked["budget"] = Budget.model_validate(asked["budget"]).model_dump(exclude_none=True)
    own = trial_id(asked)
    if file.id != name:
        yield Finding(name, "trial.json", f"it is the record of {file.id}: the folders were swapped or renamed")
    if file.parent is None and file.id != own:
        yield Finding(name, "trial.json", f"what was asked gives the id {own}: a setting was changed")
    if file.parent is not None and not (file.id.startswith(f"{own}-from-") and file.id.startswith(f"{file.parent}-")):
        yield Finding(name, "trial.json", f"it cannot go on from {file.parent}: a setting was changed")


def _check_log(run: RunFolder, folder: TrialFolder, file: TrialFile, events: list[Event]) -> Iterator[Finding]:
    name = folder.path.name
    begun = [event for event in events if event.kind == "started"]
    if events and events[0].kind not in ("started", "broke"):  # a process may die before it begins
        yield Finding(name, "events.jsonl", "the log does not begin with a start")
    strangers = sorted({str(event.about["trial"]) for event in begun if not _ancestor(file, str(event.about["trial"]))})
    if strangers:
        yield Finding(name, "events.jsonl", f"it is the log of {strangers[0]}: files were swapped between trials")
    told = {event.about.get("file") for event in begun if event.about["trial"] == file.id} - {None}
    if told - {hash_file(folder.path / "trial.json")}:
        yield Finding(name, "trial.json", "its hash is not the one the log begins with: it was changed")
    if begun and not told and not strangers and begun[-1].about["trial"] == file.id:
        yield Finding(name, "events.jsonl", "made before logs named the hash of trial.json", "remark")
    epochs = [event.epoch for event in events]
    if epochs != sorted(epochs) or (epochs and 0 < folder.attempts < epochs[-1] and not file.parent):
        yield Finding(name, "events.jsonl", "events were written out of turn: the epochs do not follow each other")
    if file.parent and file.parent in run.file.trials:
        yield from _check_shared_past(run, folder, file, events)


def _ancestor(file: TrialFile, name: str) -> bool:
    """Whether a log of this trial may have lines of that one: itself, or one it goes on from."""
    return name == file.id or (file.parent is not None and file.id.startswith(f"{name}-from-"))


def _check_shared_past(run: RunFolder, folder: TrialFolder, file: TrialFile, events: list[Event]) -> Iterator[Finding]:
    parent = TrialFolder(run.path / "trials" / str(file.parent))
    lines = parent.events.read_bytes().splitlines() if parent.events.is_file() else []
    own = next((event.number for event in events if event.about.get("trial") == file.id), len(events))
    if folder.events.is_file() and folder.events.read_bytes().splitlines()[:own] != lines[:own]:
        yield Finding(folder.path.name, "events.jsonl", f"its beginning is not that of {file.parent}")


def _check_submission(folder: TrialFolder, events: list[Event], exported: bool) -> Iterator[Finding]:
    name, told = folder.path.name, _last(events, "submitted")
    path = folder.path / "submission" / "manifest.json"
    if told is None:
        if path.exists():
            yield Finding(name, "submission", "there is one, but the log tells of none: lines of the log are missing")
        return
    entry = SubmissionEntry.model_validate(told["entry"])
    if not path.exists():
        yield Finding(name, "submission/manifest.json", "the log tells of a submission, but this file is missing")
    elif read_record(path, SubmissionEntry) != entry:
        yield Finding(name, "submission/manifest.json", "it does not say what the log says of the submission")
    if entry.file is None:
        return
    submission_entry = folder.path / "submission" / entry.file
    if ".." in Path(entry.file).parts or Path(entry.file).is_absolute() or not submission_entry.is_file():
        level: Level = "remark" if exported else "wrong"
        yield Finding(name, f"submission/{entry.file}", "what was handed in is missing", level)
    elif (submission_entry.stat().st_size, hash_file(submission_entry)) != (entry.size, entry.sha256):
        yield Finding(
            name, f"submission/{entry.file}", "its hash is not the one in the log: the submission was changed"
        )


def _check_grade(folder: TrialFolder, events: list[Event]) -> Iterator[Finding]:
    name, path, told = folder.path.name, folder.path / "grade.json", _last(events, "graded")
    if sum(event.kind == "graded" for event in events) > 1:
        yield Finding(name, "events.jsonl", "it was graded more than once")
    if told is None:
        if path.exists():
            yield Finding(name, "grade.json", "there is one, but the log tells of none: lines of the log are missing")
        return
    if not path.exists():
        yield Finding(name, "grade.json", "the log tells of a grade, but this file is missing")
        return
    ours, logged = read_record(path, Grade).model_dump(), Grade.model_validate(told["grade"]).model_dump()
    for field in ours:
        if ours[field] != logged[field]:
            says = f"{field} is {_short(ours[field])}, in the log {_short(logged[field])}: the grade was changed"
            yield Finding(name, "grade.json", says)


def _check_state(folder: TrialFolder, events: list[Event]) -> Iterator[Finding]:
    name, state = folder.path.name, folder.state
    graded, ended, submission_entry = (_last(events, kind) for kind in ("graded", "ended", "submitted"))
    if graded:
        valid = bool(graded["grade"]["valid_submission"])
        expected = ("done", None) if valid else ("failed", "agent")
        if (state.status, state.cause) != expected:
            says = f"it says {state.status}, but by the log the trial is {expected[0]}"
            yield Finding(name, "state.json", says)
    elif state.final and not (ended and ended["status"] == state.status):
        yield Finding(name, "state.json", f"it says {state.status}, but the log does not: lines of the log are missing")
    if submission_entry:
        told, ours = submission_entry["state"], state.model_dump(mode="json")
        for field in _TOLD_WHEN_HANDED_IN:
            if field in told and told[field] != ours[field]:
                says = f"{field} is {_short(ours[field])}, in the log {_short(told[field])}: it was changed"
                yield Finding(name, "state.json", says)


def _last(events: list[Event], kind: str) -> dict[str, Any] | None:
    return next((event.about for event in reversed(events) if event.kind == kind), None)


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"
