"""The data of every trial that tables and pages need, from an index so that thousands of trials are read fast.

The records stay the source of truth. The index is a SQLite file per run in Assay's home that keeps the content of the
small files of each trial with a stamp of these files: times, sizes and inodes. A trial whose stamp has changed is read
from its record again, and so is everything if the index is damaged or of another version. Nothing is ever written into
a run, which may be read-only or untrusted.

Of a trial it stores the values that its models had once they were validated, as one JSON array: reading 10,000 trials
takes a fraction of the time that validating them again would. Plans that differ only in id and seed are stored once.
"""

import hashlib
import json
import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assay.core.errors import UsageError
from assay.core.garbage import pause_garbage_collection
from assay.core.home import Home
from assay.core.untrusted import is_plain_name, parse_json, read_plain
from assay.grading.result import Grade
from assay.lab.interface import Sealing
from assay.records.run import RunFolder
from assay.records.state import State
from assay.records.trial import MissingRecord, TrialFile, TrialFolder, parse_record

Stored = TypeVar("Stored", bound=BaseModel)

_set = object.__setattr__
MIN_TRIALS = 32
"""Runs with fewer trials are read directly, which is as fast."""
_SCHEMA = 2
_STAMPED = ("trial.json", "state.json", "grade.json")
_SETTLING_NS = 3_000_000_000
"""A file changed less than this ago may change again without its times showing it: some clocks tick every 2 s."""
_MAX_STORED = 1_000_000
_WAIT = 2.0
_TABLES = """
create table about (run blob not null, fields text not null);
create table plans (digest text primary key, content blob not null);
create table trials (
    name text primary key, stamp blob not null, plan text not null, content text not null, checksum integer not null
);
"""
_STATE_FIELDS, _GRADE_FIELDS = tuple(State.model_fields), tuple(Grade.model_fields)
_FIELDS = json.dumps([_STATE_FIELDS, _GRADE_FIELDS])
"""The order in which values are stored; an index with other fields is of another version."""


@dataclass(frozen=True)
class TrialSummary:
    """The small files of a trial: what was planned, how far it has come, and its grade if it has one.

    `plan` is the same for trials whose plans differ in nothing but their id and seed.
    """

    folder: TrialFolder
    file: TrialFile
    state: State
    grade: Grade | None
    plan: str


@dataclass(frozen=True)
class _Content:
    """The small files of a trial as they are on disk; None for one that does not exist."""

    file: bytes
    state: bytes | None
    grade: bytes | None


@dataclass(frozen=True, slots=True)
class _Row:
    """A trial in the index: `content` is a JSON array of its id, seed, state and grade."""

    stamp: bytes
    plan: str
    content: str

    def checksum(self, name: str) -> int:
        """Return what detects damage to the row."""
        return zlib.crc32(f"{name}\n{self.plan}\n{self.content}".encode(), zlib.crc32(self.stamp))


class _Damaged(Exception):
    """The index cannot be used."""


def read_trials(
    run: RunFolder, folders: Sequence[TrialFolder] | None = None, *, home: Home | None = None
) -> list[TrialSummary]:
    """Return the trials of a run, in the order of the plan.

    Args:
        run: The run folder.
        folders: Only these of its trials.
        home: Where the index is kept; by default in `ASSAY_HOME`.

    Raises:
        RecordError: The record of a trial is damaged.
    """
    folders = list(run.trials()) if folders is None else folders
    path = _index_path(run, home or Home.default()) if len(folders) >= MIN_TRIALS else None
    if path is None:
        return _read_directly(folders)
    try:
        return _read_indexed(path, run, folders)
    except (_Damaged, sqlite3.Error):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    try:
        return _read_indexed(path, run, folders)
    except (_Damaged, sqlite3.Error):  # the disk is full, or the file cannot be replaced
        return _read_directly(folders)


def _read_directly(folders: Sequence[TrialFolder]) -> list[TrialSummary]:
    plans: dict[str, TrialFile] = {}
    return [_parse(folder, _read(folder), plans) for folder in folders]


def find_index(run: RunFolder, home: Home) -> Path:
    """Return the path of the index of a run, which need not exist."""
    digest = hashlib.sha256(os.fsencode(run.path.resolve())).hexdigest()[:32]
    return home.index / f"{digest}.sqlite"


def _index_path(run: RunFolder, home: Home) -> Path | None:
    """Return the path of the index; None where Assay's home cannot be written to."""
    try:
        path = find_index(run, home)
    except UsageError:
        return None
    return path if os.access(path.parent, os.W_OK) else None


def _read_indexed(path: Path, run: RunFolder, folders: Sequence[TrialFolder]) -> list[TrialSummary]:
    with closing(_open(path, run)) as connection, pause_garbage_collection():
        plans, rows = _load_plans(connection), _load_rows(connection)
        stored_plans = set(plans)
        summaries, settled_before = [], time.time_ns() - _SETTLING_NS
        fresh: dict[str, _Row] = {}
        new_plans: dict[str, bytes] = {}
        for folder in folders:
            row = rows.get(folder.path.name)
            stamp, changed_at = _stamp(folder)
            if row is not None and row.stamp == stamp:
                summaries.append(_restore(folder, row, plans))
                continue
            content = _read(folder)
            trial = _parse(folder, content, plans)
            summaries.append(trial)
            size = len(content.file) + len(content.state or b"") + len(content.grade or b"")
            if changed_at < settled_before and size <= _MAX_STORED:
                fresh[folder.path.name] = _Row(stamp, trial.plan, _encode(trial))
                if trial.plan not in stored_plans and trial.plan not in new_plans:
                    new_plans[trial.plan] = _plan_of(json.loads(content.file))
        gone = rows.keys() - set(run.file.trials) if len(rows) > len(folders) else set[str]()
        _store(connection, new_plans, fresh, gone)
    return summaries


def _open(path: Path, run: RunFolder) -> sqlite3.Connection:
    """Open the index, or create it; several processes can do so at once."""
    connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
    try:
        # A power failure may damage the file, which is detected and costs no more than reading the records again.
        connection.execute("pragma synchronous = off")
        version = connection.execute("pragma user_version").fetchone()[0]
        if version == 0:
            _create(connection, path, run)
        elif version != _SCHEMA or connection.execute("select fields from about").fetchone() != (_FIELDS,):
            raise _Damaged
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, path: Path, run: RunFolder) -> None:
    connection.execute("begin immediate")
    if connection.execute("pragma user_version").fetchone()[0] == 0:
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute("insert into about values (?, ?)", (os.fsencode(run.path.resolve()), _FIELDS))
        connection.execute(f"pragma user_version = {_SCHEMA}")
    connection.execute("commit")
    _remove_orphans(path.parent)


def _remove_orphans(folder: Path) -> None:
    """Remove the indexes of runs that do not exist any more."""
    for path in folder.glob("*.sqlite"):
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0)) as connection:
                rows = connection.execute("select run from about").fetchall()
        except sqlite3.Error:
            continue  # another process is creating or using it; a damaged one is replaced when it is needed
        if rows and not os.path.lexists(rows[0][0]):
            path.unlink(missing_ok=True)


def _load_plans(connection: sqlite3.Connection) -> dict[str, TrialFile]:
    plans = {}
    for digest, content in connection.execute("select digest, content from plans"):
        if not isinstance(content, bytes) or _digest(content) != digest:
            raise _Damaged
        try:
            plans[digest] = TrialFile.model_validate_json(content)
        except ValidationError:  # stored by another version
            raise _Damaged from None
    return plans


def _load_rows(connection: sqlite3.Connection) -> dict[str, _Row]:
    rows = {}
    for name, stamp, plan, content, checksum in connection.execute("select * from trials"):
        row = _Row(stamp, plan, content)
        try:
            intact = row.checksum(name) == checksum
        except TypeError:  # a value of another type
            intact = False
        if not intact:
            raise _Damaged
        rows[name] = row
    return rows


def _store(
    connection: sqlite3.Connection, plans: Mapping[str, bytes], rows: Mapping[str, _Row], gone: Iterable[str]
) -> None:
    removed = [(name,) for name in gone]
    if not rows and not removed:
        return
    values = [(name, row.stamp, row.plan, row.content, row.checksum(name)) for name, row in rows.items()]
    try:
        connection.execute("begin immediate")
        connection.executemany("delete from trials where name = ?", removed)
        connection.executemany("insert or replace into plans values (?, ?)", plans.items())
        connection.executemany("insert or replace into trials values (?, ?, ?, ?, ?)", values)
        connection.execute("commit")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
            raise
        # Another process is writing, or the disk is full: what was read is complete, and is stored another time.


def _stamp(folder: TrialFolder) -> tuple[bytes, int]:
    """Return what changes when one of the small files does, and when that happened last."""
    parts, changed_at, start = [], 0, f"{folder.path}/"
    for name in _STAMPED:
        try:
            status = os.lstat(start + name)
        except OSError:
            parts += [0, 0, 0, 0]
            continue
        # Files of an untrusted run can have any time, also one that exceeds 64 bits.
        parts += [
            number & 0x7FFF_FFFF_FFFF_FFFF
            for number in (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        ]
        changed_at = max(changed_at, status.st_mtime_ns, status.st_ctime_ns)
    return struct.pack("<12q", *parts), changed_at


def _read(folder: TrialFolder) -> _Content:
    path = folder.path
    file = _read_file(path / "trial.json")
    if file is None:
        raise MissingRecord(f"{path / 'trial.json'} is missing")
    # The state is read first: a trial that is done has a grade.
    state = _read_file(path / "state.json")
    return _Content(file, state, _read_file(path / "grade.json"))


def _read_file(path: Path) -> bytes | None:
    try:
        return read_plain(path)
    except FileNotFoundError:
        return None


def _parse(folder: TrialFolder, content: _Content, plans: dict[str, TrialFile]) -> TrialSummary:
    """Parse a trial strictly; a plan that differs from one of `plans` only in id and seed is not validated again."""
    path = folder.path
    raw = parse_json(content.file, path / "trial.json")
    plan = _digest(_plan_of(raw)) if isinstance(raw, dict) else ""
    id_, seed = (raw.get("id"), raw.get("seed")) if plan in plans else (None, None)
    if type(id_) is str and is_plain_name(id_) and type(seed) is int:
        file = _rebuild(TrialFile, {**vars(plans[plan]), "id": id_, "seed": seed})
    else:
        file = plans[plan] = parse_record(content.file, path / "trial.json", TrialFile)
    return TrialSummary(
        folder=folder,
        file=file,
        state=parse_record(content.state, path / "state.json", State) if content.state else State(),
        grade=None if content.grade is None else parse_record(content.grade, path / "grade.json", Grade),
        plan=plan,
    )


def _encode(trial: TrialSummary) -> str:
    """Return what the index stores of a trial besides its plan."""
    state = [getattr(trial.state, name) for name in _STATE_FIELDS]
    grade = None if trial.grade is None else [getattr(trial.grade, name) for name in _GRADE_FIELDS]
    # Few trials of a run differ in how they were sealed: a text that is parsed once.
    return json.dumps([trial.file.id, trial.file.seed, state, grade], default=lambda value: json.dumps(vars(value)))


def _restore(folder: TrialFolder, row: _Row, plans: Mapping[str, TrialFile]) -> TrialSummary:
    """Return a trial from the index; it was parsed strictly before it was stored."""
    if row.plan not in plans:
        raise _Damaged
    id_, seed, state, grade = json.loads(row.content)
    if grade is not None:
        grade = dict(zip(_GRADE_FIELDS, grade, strict=True))
        grade["quirks"], grade["repairs"] = tuple(grade["quirks"]), tuple(grade["repairs"])
    state = dict(zip(_STATE_FIELDS, state, strict=True))
    if state["sealing"] is not None:
        state["sealing"] = _parse_sealing(state["sealing"])
    return TrialSummary(
        folder=folder,
        file=_rebuild(TrialFile, {**vars(plans[row.plan]), "id": id_, "seed": seed}),
        state=_rebuild(State, state),
        grade=None if grade is None else _rebuild(Grade, grade),
        plan=row.plan,
    )


def _rebuild(model: type[Stored], values: dict[str, Any]) -> Stored:
    """Return a model with values of all its fields that were validated before: what unpickling does, but faster."""
    instance = model.__new__(model)
    _set(instance, "__dict__", values)
    _set(instance, "__pydantic_fields_set__", _field_names(model))
    _set(instance, "__pydantic_extra__", None)
    _set(instance, "__pydantic_private__", None)
    return instance


@cache
def _field_names(model: type[BaseModel]) -> set[str]:
    """Return the names of all fields; one set serves all objects of a model, because none ever changes."""
    return set(model.model_fields)


@cache
def _parse_sealing(text: str) -> Sealing:
    return Sealing(**json.loads(text))


def _plan_of(content: Mapping[str, Any]) -> bytes:
    """Return the content of `trial.json` with the same id and seed for all trials."""
    return json.dumps({**content, "id": "any", "seed": 0}, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
