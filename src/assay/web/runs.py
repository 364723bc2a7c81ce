"""The runs of the viewer, by their keys in addresses, and what was computed from them.

Everything is read from the run folders again when a file of them changes, and never written.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from assay.core.errors import AssayError
from assay.core.garbage import pause_garbage_collection
from assay.interop.importers import read_results
from assay.records import RunFolder, TrialFolder, find_runs
from assay.results.estimate import Summary, summarize_tasks
from assay.results.frame import Frame, RuleSet, TrialRow, group_by, read_frame
from assay.results.measures import Measure
from assay.results.paired import Comparison, compare_agents, compare_if_possible, select_trials
from assay.tasks import Task
from assay.web.background import Background
from assay.web.leaderboard import Line, make_lines

Value = TypeVar("Value")

_MAX_VALUES = 64
_QUICK = 10_000
"""Pairs of agents times trials that are compared before a page is sent: a few tenths of a second."""
_WATCHED = ("state.json", "grade.json", "events.jsonl")


@dataclass(frozen=True)
class RunSection:
    """The trials of a run that are graded by the same rules."""

    rules: RuleSet
    lines: tuple[Line, ...]
    tasks: tuple[tuple[Summary, ...], ...]
    rows: Frame

    @cached_property
    def has_leaderboard(self) -> bool:
        """Whether there is a leaderboard of human teams, so that success is a medal."""
        return any(row.has_leaderboard for row in self.rows)

    @cached_property
    def grid(self) -> Mapping[tuple[str, str], tuple[Summary, Sequence[TrialRow]]]:
        """The results of each agent on each task with its trials, ordered by seed."""
        trials = {
            (rows[0].agent, rows[0].task): rows for rows in group_by(self.rows.counted, lambda r: (r.agent, r.task))
        }
        return {
            (summary.agent, summary.task): (
                summary,
                sorted(trials[summary.agent, summary.task], key=lambda row: row.seed),
            )
            for task in self.tasks
            for summary in task
        }


class Compared(NamedTuple):
    """The agents of a run compared with each other, or why they are not comparable."""

    comparisons: Sequence[Comparison]
    refusal: str | None


class RunView:
    """A run at one moment; what follows from its files is computed when it is first asked for."""

    def __init__(self, key: str, folder: RunFolder, title: str, version: str, *, imported: bool = False) -> None:
        self.key, self.folder, self.title, self.version, self.imported = key, folder, title, version, imported

    @cached_property
    def rows(self) -> Frame:
        """Its trials, in the order of the plan."""
        with pause_garbage_collection():
            return read_results([self.folder.path]).frame if self.imported else read_frame(self.folder)

    @property
    def created_at(self) -> datetime:
        """When the run was created, or the last of some imported trials ended."""
        if not self.imported:
            return datetime.fromisoformat(self.folder.file.created_at)
        return max((row.ended_at for row in self.rows if row.ended_at), default=datetime.fromtimestamp(0, UTC))

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks of its trials by name."""
        return self.rows.known_tasks

    @cached_property
    def by_trial(self) -> dict[str, TrialRow]:
        """Its trials by id."""
        return {row.trial: row for row in self.rows}

    @cached_property
    def folders(self) -> dict[str, TrialFolder]:
        """The folders of its trials by id."""
        return {row.record.folder.path.name: row.record.folder for row in self.rows if row.record}

    @cached_property
    def sections(self) -> list[RunSection]:
        """Its results, separately for each set of rules."""
        return self.make_sections(self.rows)

    def make_sections(self, rows: Frame) -> list[RunSection]:
        """Return the results of some of its trials, separately for each set of rules."""
        sections = []
        for group in rows.group_by(lambda row: row.rules):
            tasks = tuple(map(tuple, group_by(summarize_tasks(group), lambda summary: summary.task)))
            lines = tuple(make_lines(group, self.rows.families))
            sections.append(RunSection(group[0].rules, lines, tasks, group))
        return sections

    @property
    def pending(self) -> int:
        """How many trials have no result yet."""
        return sum(row.pending for row in self.rows)

    @property
    def is_quickly_compared(self) -> bool:
        """Whether its agents can be compared before a page is sent."""
        agents = len(self.rows.agents)
        return agents * (agents - 1) // 2 * len(self.rows) <= _QUICK

    def compare(
        self,
        measure: Measure | None,
        baseline: str | None = None,
        others: Sequence["RunView"] = (),
        ignore: Sequence[str] = (),
    ) -> list[Comparison]:
        """Compare the agents of this run, and of other runs; `UsageError` says why they cannot be compared."""
        trials = select_trials(row for run in (self, *others) for row in run.rows)
        return compare_agents(trials, measure=measure, baseline=baseline, families=self.rows.families, ignore=ignore)

    def compare_all(self) -> Compared:
        """Compare its agents with each other."""
        return Compared(*compare_if_possible(self.rows))


class Runs:
    """Finds runs and keeps what was computed from them until their files change.

    Results of other harnesses are shown like runs, as far as they have what a page shows.
    """

    def __init__(self, folders: Sequence[Path], imported: Sequence[Path] = ()) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._imported = {_key(path.resolve()): path.resolve() for path in imported}
        self._paths: dict[str, Path] = {}
        self._views: dict[str, RunView] = {}
        self._lock = threading.Lock()
        self._values = Background(_MAX_VALUES)
        self._comparisons = Background(_MAX_VALUES)
        self._earlier: dict[str, Compared] = {}

    @property
    def only(self) -> str | None:
        """The key of the run if exactly one run folder was asked for."""
        if len(self._folders) + len(self._imported) > 1:
            return None
        for key in self._imported:
            return key
        if (self._folders[0] / "run.json").is_file():
            return _key(self._folders[0])
        return None

    def load_only(self) -> None:
        """Read the only run, so that it is known when its page is asked for, which then says what is wrong with it."""
        with suppress(AssayError):
            if self.only and (view := self.get(self.only)):
                self.load(view)

    def find_all(self) -> list[RunView]:
        """Look for runs, and return them, the newest first; those that cannot be read are left out."""
        views = []
        for path in self._find().values():
            with suppress(AssayError):
                view = self._view(path)
                views.append((view.created_at, view))
        return [view for _, view in sorted(views, key=lambda pair: pair[0], reverse=True)]

    def get(self, key: str) -> RunView | None:
        """Return a run by its key."""
        path = self._path(key)
        return self._view(path) if path else None

    def load(self, view: RunView) -> None:
        """Read all trials of a run."""
        self.keep(view, "sections", lambda: view.sections)

    def version(self, key: str, trial: str | None = None) -> str | None:
        """Return a text that changes with the files of the run or of a trial, and once its agents are compared."""
        path = self._path(key)
        if path is None:
            return None
        version = _version(path, trial)
        return version if trial else self._name_version(key, version)

    def version_of(self, view: RunView) -> str:
        """Return the version of what is known of a run."""
        return self._name_version(view.key, view.version)

    def version_of_all(self) -> str:
        """Return a text that changes when a run is added or removed, or a trial of one begins or ends."""
        versions = [(key, _version(path)) for key, path in sorted(self._find().items())]
        return hashlib.sha256(repr(versions).encode()).hexdigest()[:16]

    def keep(self, view: RunView, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed for this state of a run, or compute it."""
        return self.keep_for(f"{view.key} {view.version}", key, compute)

    def keep_for(self, version: str, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed for this version of some files, or compute it."""
        return self._values.compute((version, key), compute)

    def find_comparisons(self, view: RunView) -> tuple[Compared, bool]:
        """Return a run's agents compared, and whether they are those of its present state or of an earlier one."""
        key = (view.key, view.version)
        if view.is_quickly_compared:
            self._comparisons.compute(key, view.compare_all)
        current = self._comparisons.find(key)
        if current is not None:
            self._earlier[view.key] = current
        return self._earlier.get(view.key, Compared((), None)), current is not None

    def begin_comparing(self, view: RunView) -> None:
        """Compare a run's agents in a thread."""
        self._comparisons.begin((view.key, view.version), view.compare_all)

    def _name_version(self, key: str, version: str) -> str:
        return f"{version}-compared" if self._comparisons.find((key, version)) is not None else version

    def _path(self, key: str) -> Path | None:
        """Return the folder of a run; folders are searched again only for a run that is not known."""
        path = self._paths.get(key) or self._find().get(key)
        return path if path and (key in self._imported or (path / "run.json").is_file()) else None

    def _find(self) -> dict[str, Path]:
        runs = {_key(path): path for folder in self._folders for path in find_runs(folder)}
        self._paths = runs | self._imported
        return self._paths

    def _view(self, path: Path) -> RunView:
        key, version = _key(path), _version(path)
        with self._lock:
            view = self._views.get(key)
            if view is None or view.version != version:
                view = RunView(key, RunFolder(path), self._title(path), version, imported=key in self._imported)
                self._views[key] = view
            return view

    def _title(self, path: Path) -> str:
        for folder in self._folders:
            if path != folder and path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        return path.name


def _key(path: Path) -> str:
    """Return the key of a run in addresses: its name, and a hash because names can be the same."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in path.name)[:60]
    return f"{name}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:6]}"


def _version(path: Path, trial: str | None = None) -> str:
    stamps = [_stamp(f"{path}/run.json"), *([] if (path / "run.json").is_file() else [_stamp(str(path))])]
    try:
        folders = [entry.path for entry in os.scandir(path / "trials") if trial is None or entry.name == trial]
    except OSError:
        folders = []
    # While a run is shown as a whole, only states and grades matter; the log of one trial changes with every call.
    names = _WATCHED if trial else _WATCHED[:2]
    for folder in sorted(folders):
        stamps += [_stamp(f"{folder}/{name}") for name in names]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()[:16]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
