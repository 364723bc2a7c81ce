"""What tables and pages need of every trial of a run, from an index so that thousands of trials are read fast.

The records stay the source of truth. The index is a SQLite file per run in Assay's home that keeps the content of the
small files of each trial with a stamp of these files: times, sizes and inodes. A trial whose stamp has changed is read
from its record again, and so is everything if the index is damaged or of another version. Nothing is ever written into
a run, which may be read-only or come from a stranger.
"""

import hashlib
import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.untrusted import read_plain
from assay.grading.result import Grade
from assay.records.run import RunFolder
from assay.records.state import State
from assay.records.trial import MissingRecord, TrialFile, TrialFolder, parse_record

MIN_TRIALS = 32
"""Runs with fewer trials are read directly, which is as fast."""
_SCHEMA = 1
_STAMPED = ("trial.json", "state.json", "grade.json")
_SETTLING_NS = 3_000_000_000
"""A file changed less than this ago may change again without its times showing it: some clocks tick every 2 s."""
_MAX_STORED = 1_000_000
_WAIT = 2.0
_TABLES = """
create table about (run text not null);
create table trials (
    name text primary key, stamp blob not null, file blob not null, state blob, grade blob, checksum integer not null
) without rowid;
"""


@dataclass(frozen=True)
class TrialSummary:
    """The small files of a trial: what was planned, how far it has come, and its grade if it has one."""

    folder: TrialFolder
    file: TrialFile
    state: State
    grade: Grade | None


@dataclass(frozen=True)
class _Content:
    """The small files of a trial as they are on disk; None for one that does not exist."""

    file: bytes
    state: bytes | None
    grade: bytes | None

    @property
    def size(self) -> int:
        return len(self.file) + len(self.state or b"") + len(self.grade or b"")

    def checksum(self, name: str, stamp: bytes) -> int:
        """Return what detects damage to a row of the index."""
        parts = (self.file, self.state or b"", self.grade or b"")
        sizes = struct.pack("<3q", *map(len, parts))
        return zlib.crc32(b"\0".join((name.encode(), stamp, sizes, *parts)))


@dataclass(frozen=True)
class _Row:
    stamp: bytes
    content: _Content


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
    if len(folders) < MIN_TRIALS:
        return [_parse(folder, _read(folder)) for folder in folders]
    path = _index_path(run, home or Home.default())
    if path is None:
        return [_parse(folder, _read(folder)) for folder in folders]
    try:
        return _read_indexed(path, run, folders)
    except (_Damaged, sqlite3.Error):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    try:
        return _read_indexed(path, run, folders)
    except (_Damaged, sqlite3.Error):  # the disk is full, or the file cannot be replaced
        return [_parse(folder, _read(folder)) for folder in folders]


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
    with closing(_open(path, run)) as connection:
        rows = _load(connection)
        found, fresh, settled_before = [], dict[str, _Row](), time.time_ns() - _SETTLING_NS
        for folder in folders:
            name, row = folder.path.name, rows.get(folder.path.name)
            stamp, changed_at = _stamp(folder)
            if row is not None and row.stamp == stamp:
                found.append(_parse_stored(folder, row.content))
                continue
            content = _read(folder)
            found.append(_parse(folder, content))
            if changed_at < settled_before and content.size <= _MAX_STORED:
                fresh[name] = _Row(stamp, content)
        _store(connection, fresh, rows.keys() - set(run.file.trials) if len(rows) > len(folders) else ())
    return found


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
        connection.execute("insert into about values (?)", (str(run.path.resolve()),))
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
        if rows and not Path(rows[0][0]).exists():
            path.unlink(missing_ok=True)


def _load(connection: sqlite3.Connection) -> dict[str, _Row]:
    rows = {}
    for name, stamp, file, state, grade, checksum in connection.execute("select * from trials"):
        try:
            content = _Content(file, state, grade)
            intact = content.checksum(name, stamp) == checksum
        except (TypeError, AttributeError, struct.error):  # a value of another type
            raise _Damaged from None
        if not intact:
            raise _Damaged
        rows[name] = _Row(stamp, content)
    return rows


def _store(connection: sqlite3.Connection, fresh: Mapping[str, _Row], gone: Iterable[str]) -> None:
    gone = [(name,) for name in gone]
    if not fresh and not gone:
        return
    values = [
        (name, row.stamp, row.content.file, row.content.state, row.content.grade, row.content.checksum(name, row.stamp))
        for name, row in fresh.items()
    ]
    try:
        connection.execute("begin immediate")
        connection.executemany("delete from trials where name = ?", gone)
        connection.executemany("insert or replace into trials values (?, ?, ?, ?, ?, ?)", values)
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
            found = os.lstat(start + name)
        except OSError:
            parts += [0, 0, 0, 0]
            continue
        parts += [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino & 0x7FFF_FFFF_FFFF_FFFF]
        changed_at = max(changed_at, found.st_mtime_ns, found.st_ctime_ns)
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


def _parse(folder: TrialFolder, content: _Content) -> TrialSummary:
    path = folder.path
    return TrialSummary(
        folder=folder,
        file=parse_record(content.file, path / "trial.json", TrialFile),
        state=parse_record(content.state, path / "state.json", State) if content.state else State(),
        grade=None if content.grade is None else parse_record(content.grade, path / "grade.json", Grade),
    )


def _parse_stored(folder: TrialFolder, content: _Content) -> TrialSummary:
    """Parse what was parsed strictly before it was stored."""
    try:
        return TrialSummary(
            folder=folder,
            file=TrialFile.model_validate_json(content.file),
            state=State.model_validate_json(content.state) if content.state else State(),
            grade=None if content.grade is None else Grade.model_validate_json(content.grade),
        )
    except ValidationError:  # stored by another version
        raise _Damaged from None
