"""The runs that are shown, by their keys in addresses, and what was computed from them.

Everything is read from the run folders again when a file of them changes, and never written.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from assay.core.errors import AssayError, UsageError
from assay.core.garbage import pause_garbage_collection
from assay.records import RunFolder, TrialFolder, TrialSummary, find_runs
from assay.results.collect import collect_with_tasks
from assay.results.comparison import Comparison, Measure, compare_agents, select_trials
from assay.results.outcome import Outcome, RuleSet
from assay.results.statistics import Cell, group_by, summarize_cells
from assay.tasks import Task
from assay.web.leaderboard import Line, make_lines

Value = TypeVar("Value")

_MAX_KEPT = 64
_QUICK = 10_000
"""Pairs of agents times trials that are compared before a page is sent: a few tenths of a second."""
_WATCHED = ("state.json", "grade.json", "events.jsonl")


@dataclass(frozen=True)
class RunSection:
    """The trials of a run that are graded by the same rules."""

    rules: RuleSet
    lines: tuple[Line, ...]
    tasks: tuple[tuple[Cell, ...], ...]
    outcomes: tuple[Outcome, ...]

    @cached_property
    def has_leaderboard(self) -> bool:
        """Whether there is a leaderboard of human teams, so that success is a medal."""
        return any(outcome.has_leaderboard for outcome in self.outcomes)

    @cached_property
    def grid(self) -> Mapping[tuple[str, str], tuple[Cell, tuple[Outcome, ...]]]:
        """The cell of each agent and task with its trials, ordered by seed."""
        trials: dict[tuple[str, str], list[Outcome]] = {}
        for outcome in self.outcomes:
            if outcome.counts:
                trials.setdefault((outcome.agent, outcome.task), []).append(outcome)
        return {
            (cell.agent, cell.task): (
                cell,
                tuple(sorted(trials[cell.agent, cell.task], key=lambda one: one.seed)),
            )
            for cells in self.tasks
            for cell in cells
        }


class RunView:
    """One run at one moment: everything is computed when it is first asked for."""

    def __init__(
        self, key: str, folder: RunFolder, title: str, version: str, earlier: Sequence[Comparison] = ()
    ) -> None:
        self.key, self.folder, self.title, self.version = key, folder, title, version
        self._earlier = earlier
        self._lock = threading.RLock()
        self._sent = self._comparing = False
        self.compared = False

    @cached_property
    def _collected(self) -> tuple[list[tuple[TrialSummary, Outcome]], dict[str, Task]]:
        return collect_with_tasks(self.folder)

    @property
    def summaries(self) -> list[tuple[TrialSummary, Outcome]]:
        """All its trials, in the order of the plan."""
        return self._collected[0]

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks of its trials by name."""
        return self._collected[1]

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """The outcomes of its trials, in the order of the plan."""
        return [outcome for _, outcome in self.summaries]

    @cached_property
    def by_trial(self) -> dict[str, Outcome]:
        """Its trials by id."""
        return {outcome.trial: outcome for outcome in self.outcomes}

    @cached_property
    def sections(self) -> list[RunSection]:
        """Its results, separately for each set of rules."""
        return self.make_sections(self.outcomes)

    def make_sections(self, outcomes: Sequence[Outcome]) -> list[RunSection]:
        """Return the results of some of its trials, separately for each set of rules."""
        found = []
        for same in group_by(outcomes, lambda one: one.rules):
            cells = summarize_cells(same)
            by_task = tuple(tuple(cells) for cells in group_by(cells, lambda cell: cell.task))
            found.append(RunSection(same[0].rules, tuple(make_lines(same, self._strata)), by_task, tuple(same)))
        return found

    @property
    def pending(self) -> int:
        """How many trials have no result yet."""
        return sum(outcome.pending for outcome in self.outcomes)

    @cached_property
    def verdicts(self) -> list[Comparison]:
        """Its agents compared with each other; nothing where they cannot be compared."""
        try:
            return self.compare("success")
        except UsageError:
            pass
        try:
            return self.compare("wins")
        except UsageError:
            return []

    @property
    def known_verdicts(self) -> Sequence[Comparison]:
        """Its verdicts, or those of an earlier state of the run until they are known."""
        return self.verdicts if self.compared else self._earlier

    def prepare_verdicts(self) -> None:
        """Compute `verdicts` for a page about to be sent if that is quick; otherwise leave them for later.

        A page that was sent without them asks for updates, which begins the comparison. One without a script cannot
        ask, so that the comparison also begins when the page is sent again.
        """
        agents = len({one.agent for one in self.outcomes})
        if agents * (agents - 1) // 2 * len(self.outcomes) <= _QUICK:
            self._find_verdicts()
        elif self._sent:
            self.begin_comparing()
        self._sent = True

    def begin_comparing(self) -> None:
        """Compute `verdicts` in a thread if a page was sent without them."""
        with self._lock:
            if self._sent and not self.compared and not self._comparing:
                self._comparing = True
                threading.Thread(target=self._find_verdicts, daemon=True).start()

    def _find_verdicts(self) -> None:
        self.verdicts  # noqa: B018
        self.compared = True

    @property
    def shown_version(self) -> str:
        """A text that changes with the files of the run, and once its agents are compared."""
        return f"{self.version}-compared" if self.compared else self.version

    def compare(
        self,
        measure: Measure,
        baseline: str | None = None,
        others: Sequence["RunView"] = (),
        ignore: Sequence[str] = (),
    ) -> list[Comparison]:
        """Compare the agents of this run, and of other runs; `UsageError` says why they cannot be compared."""
        trials = select_trials(row for run in (self, *others) for _, row in run.summaries)
        return compare_agents(trials, measure=measure, baseline=baseline, strata=self._strata, ignore=ignore)

    def trial(self, name: str) -> TrialFolder | None:
        """Return a trial of the run by its id; the name is only looked up, never used as a path."""
        return next((trial.folder for trial, _ in self.summaries if trial.folder.path.name == name), None)

    def load(self) -> None:
        """Read all trials; threads that ask at the same time read them once."""
        with self._lock, pause_garbage_collection():
            self.sections  # noqa: B018

    @cached_property
    def _strata(self) -> dict[str, str]:
        return {outcome.task: outcome.split for outcome in self.outcomes}


class Runs:
    """Finds runs and keeps what was computed from them until their files change."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._paths: dict[str, Path] = {}
        self._views: dict[str, RunView] = {}
        self._kept: dict[tuple[str, Hashable], object] = {}
        self._lock = threading.Lock()

    @property
    def only(self) -> str | None:
        """The key of the run if exactly one run folder was asked for."""
        if len(self._folders) == 1 and (self._folders[0] / "run.json").is_file():
            return _key(self._folders[0])
        return None

    def load_only(self) -> None:
        """Read the only run, so that it is known when its page is asked for, which then says what is wrong with it."""
        with suppress(AssayError):
            if self.only and (view := self.get(self.only)):
                view.load()

    def find_all(self) -> list[RunView]:
        """Look for runs, and return them, the newest first; those that cannot be read are left out."""
        found = []
        for path in self._find().values():
            try:
                found.append((RunFolder(path).file.created_at, self._view(path)))
            except AssayError:
                continue
        return [view for _, view in sorted(found, key=lambda pair: pair[0], reverse=True)]

    def get(self, key: str) -> RunView | None:
        """Return a run by its key."""
        path = self._path(key)
        return self._view(path) if path else None

    def version(self, key: str, trial: str | None = None) -> str | None:
        """Return a text that changes when a file of the run, or of one trial of it, does."""
        path = self._path(key)
        if path is None:
            return None
        version, view = _version(path, trial), self._views.get(key)
        return view.shown_version if trial is None and view and view.version == version else version

    def version_of_all(self) -> str:
        """Return a text that changes when a run is added or removed, or a trial of one begins or ends."""
        found = [(key, _version(path)) for key, path in sorted(self._find().items())]
        return hashlib.sha256(repr(found).encode()).hexdigest()[:16]

    def keep(self, view: RunView, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed for this state of a run, or compute it."""
        return self.keep_for(f"{view.key} {view.version}", key, compute)

    def keep_for(self, version: str, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed for this version of some files, or compute it."""
        place = (version, key)
        with self._lock:
            if place in self._kept:
                return cast(Value, self._kept[place])
        value = compute()
        with self._lock:
            while len(self._kept) >= _MAX_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[place] = value
        return value

    def _path(self, key: str) -> Path | None:
        """Return the folder of a run; folders are searched again only for a run that is not known."""
        path = self._paths.get(key) or self._find().get(key)
        return path if path and (path / "run.json").is_file() else None

    def _find(self) -> dict[str, Path]:
        self._paths = {_key(path): path for folder in self._folders for path in find_runs(folder)}
        return self._paths

    def _view(self, path: Path) -> RunView:
        key, version = _key(path), _version(path)
        with self._lock:
            known = self._views.get(key)
            if known is None or known.version != version:
                earlier = known.known_verdicts if known else ()
                known = self._views[key] = RunView(key, RunFolder(path), self._title(path), version, earlier)
            return known

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
    found = [_stamp(f"{path}/run.json")]
    try:
        folders = [entry.path for entry in os.scandir(path / "trials") if trial is None or entry.name == trial]
    except OSError:
        folders = []
    # While a run is shown as a whole, only states and grades matter; the log of one trial changes with every call.
    names = _WATCHED if trial else _WATCHED[:2]
    for folder in sorted(folders):
        found += [_stamp(f"{folder}/{name}") for name in names]
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
