"""The data of every trial that tables and pages need, from an index so that thousands of trials are read fast.

The records stay the source of truth. The index is a SQLite file per run in Assay's home that keeps the content of the
small files of each trial with a stamp of these files: times, sizes and inodes. A trial whose stamp has changed is read
from its record again, and so is everything if the index is damaged or of another version. Nothing is ever written into
a run, which may be read-only or untrusted.

Plans that differ only in id and seed are stored and validated once, which takes most of the time.
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
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from assay.core.errors import UsageError
from assay.core.garbage import pause_garbage_collection
from assay.core.home import Home
from assay.core.untrusted import is_plain_name, parse_json, read_plain
from assay.grading.result import Grade
from assay.records.run import RunFolder
from assay.records.state import State
from assay.records.trial import MissingRecord, TrialFile, TrialFolder, parse_record

MIN_TRIALS = 32
"""Runs with fewer trials are read directly, which is as fast."""
_SCHEMA = 3
_STAMPED = ("trial.json", "state.json", "grade.json")
SETTLING_NS = 3_000_000_000
"""A file changed less than this ago may change again without its times showing it: some clocks tick every 2 s."""
_MAX_STORED = 1_000_000
_WAIT = 2.0
_TABLES = """
create table about (run blob not null);
create table plans (digest text primary key, content blob not null);
create table trials (
    name text primary key, stamp blob not null, plan text not null, id text not null, seed integer not null,
    state text not null, grade text, checksum integer not null
);
"""


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


class _Row(NamedTuple):
    """A trial in the index: what its plan does not say, its state and its grade as JSON."""

    name: str
    stamp: bytes
    plan: str
    id: str
    seed: int
    state: str
    grade: str | None

    @property
    def checksum(self) -> int:
        """What detects damage to the row."""
        return zlib.crc32(repr(tuple(self)).encode())


class _Damaged(Exception):
    """The index cannot be used."""


def read_trials(
    run: RunFolder,
    folders: Sequence[TrialFolder] | None = None,
    *,
    home: Home | None = None,
    settling_ns: int = SETTLING_NS,
) -> list[TrialSummary]:
    """Return the trials of a run, in the order of the plan.

    Args:
        run: The run folder.
        folders: Only these of its trials.
        home: Where the index is kept; by default in `ASSAY_HOME`.
        settling_ns: How long after its last change a trial is not stored in the index yet.

    Raises:
        RecordError: The record of a trial is damaged.
    """
    folders = list(run.trials()) if folders is None else folders
    path = _index_path(run, home or Home.default()) if len(folders) >= MIN_TRIALS else None
    if path is None:
        return _read_directly(folders)
    try:
        return _read_indexed(path, run, folders, settling_ns)
    except (_Damaged, sqlite3.Error):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    try:
        return _read_indexed(path, run, folders, settling_ns)
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


def _read_indexed(path: Path, run: RunFolder, folders: Sequence[TrialFolder], settling_ns: int) -> list[TrialSummary]:
    with closing(_open(path, run)) as connection, pause_garbage_collection():
        plans, rows = _load_plans(connection), _load_rows(connection)
        stored_plans = set(plans)
        summaries, settled_before = [], time.time_ns() - settling_ns
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
                fresh[folder.path.name] = _make_row(trial, stamp)
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
        elif version != _SCHEMA:
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
        connection.execute("insert into about values (?)", (os.fsencode(run.path.resolve()),))
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
    for *values, checksum in connection.execute("select * from trials"):
        row = _Row(*values)
        if row.checksum != checksum:
            raise _Damaged
        rows[row.name] = row
    return rows


def _store(
    connection: sqlite3.Connection, plans: Mapping[str, bytes], rows: Mapping[str, _Row], gone: Iterable[str]
) -> None:
    removed = [(name,) for name in gone]
    if not rows and not removed:
        return
    values = [(*row, row.checksum) for row in rows.values()]
    try:
        connection.execute("begin immediate")
        connection.executemany("delete from trials where name = ?", removed)
        connection.executemany("insert or replace into plans values (?, ?)", plans.items())
        connection.executemany("insert or replace into trials values (?, ?, ?, ?, ?, ?, ?, ?)", values)
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
        file = plans[plan].model_copy(update={"id": id_, "seed": seed})
    else:
        file = plans[plan] = parse_record(content.file, path / "trial.json", TrialFile)
    return TrialSummary(
        folder=folder,
        file=file,
        state=parse_record(content.state, path / "state.json", State) if content.state else State(),
        grade=None if content.grade is None else parse_record(content.grade, path / "grade.json", Grade),
        plan=plan,
    )


def _make_row(trial: TrialSummary, stamp: bytes) -> _Row:
    grade = trial.grade.model_dump_json() if trial.grade else None
    file, state = trial.file, trial.state.model_dump_json()
    return _Row(trial.folder.path.name, stamp, trial.plan, file.id, file.seed, state, grade)


def _restore(folder: TrialFolder, row: _Row, plans: Mapping[str, TrialFile]) -> TrialSummary:
    """Return a trial from the index; it was parsed strictly before it was stored."""
    try:
        return TrialSummary(
            folder=folder,
            file=plans[row.plan].model_copy(update={"id": row.id, "seed": row.seed}),
            state=State.model_validate_json(row.state),
            grade=None if row.grade is None else Grade.model_validate_json(row.grade),
            plan=row.plan,
        )
    except (KeyError, ValidationError):  # the latter: stored by another version
        raise _Damaged from None


def _plan_of(content: Mapping[str, Any]) -> bytes:
    """Return the content of `trial.json` with the same id and seed for all trials."""
    return json.dumps({**content, "id": "any", "seed": 0}, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
