"""Reading results: run folders, exported runs, and whatever a registered importer recognizes."""

import re
import shutil
import tempfile
from atexit import register
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from assay.core.errors import RecordError, UsageError
from assay.core.garbage import pause_garbage_collection
from assay.core.plugins import Plugins
from assay.core.text import plural
from assay.core.untrusted import list_plain_files
from assay.grading.metrics import METRICS
from assay.grading.result import Grade
from assay.interop.importers.trial import SUCCESS, ReportedTrial
from assay.records import RunFolder
from assay.records.bundle import unpack_bundle
from assay.results.frame import UNKNOWN, Frame, TrialRow, read_frame
from assay.tasks import Registry, Task
from assay.tasks.facts import read_facts

MAX_FILES = 200_000
MAX_TRIALS = 1_000_000
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
OWN_SUITE = "imported"
"""The suite of tasks whose benchmark nobody names."""


@dataclass(frozen=True)
class Importer:
    """What reads the results of a harness: `find` picks its files among those of a folder, `read` reads them."""

    name: str
    find: Callable[[Sequence[Path]], Sequence[Path]]
    read: Callable[[Sequence[Path]], Iterable[ReportedTrial]]


_Reported = tuple[str, Path, ReportedTrial]

IMPORTERS = Plugins[Importer]("importers", "importer", lambda value: isinstance(value, Importer))


@dataclass(frozen=True)
class Results:
    """Trials from anywhere, and the run folders among their sources."""

    title: str
    frame: Frame
    runs: tuple[RunFolder, ...]

    @property
    def created_at(self) -> datetime:
        """When the newest of its trials ended, or its newest run was created."""
        moments = [datetime.fromisoformat(run.file.created_at) for run in self.runs]
        moments += [row.ended_at for row in self.frame if row.imported and row.ended_at]
        return max(moments, default=datetime.now(UTC))


def is_run(path: Path) -> bool:
    """Whether a path is a run folder, or a file that could be an exported run."""
    return (path / "run.json").is_file() if path.is_dir() else path.suffix == ".zip"


def open_bundle(path: Path) -> RunFolder:
    """Unpack an exported run for as long as this process runs."""
    folder = Path(tempfile.mkdtemp(prefix="assay-bundle-"))
    register(shutil.rmtree, folder, ignore_errors=True)
    return unpack_bundle(path, folder / path.stem)


def read_results(paths: Sequence[Path], registry: Registry | None = None, *, suite: str | None = None) -> Results:
    """Return the trials of runs and of other harnesses as one frame.

    An agent of two harnesses, or with two models, is two agents.

    Args:
        paths: Run folders, exported runs, and files or folders of other harnesses.
        registry: Where tasks are looked up; a task that is not there is only a name.
        suite: The benchmark that all imported tasks belong to, where their harnesses name it differently.

    Raises:
        UsageError: No importer recognizes a path, or several do.
        RecordError: A file is damaged.
    """
    paths = list({path.resolve(): path for path in paths}.values())
    runs = tuple(RunFolder(path) if path.is_dir() else open_bundle(path) for path in paths if is_run(path))
    others = [path for path in paths if not is_run(path)]
    own = read_frame(*runs) if runs else Frame(())
    title = ", ".join([*(run.name for run in runs), *(path.name for path in others)])
    if not others:
        return Results(title, own, runs)
    with pause_garbage_collection():
        reported = _drop_copies((importer.name, path, trial) for path in others for importer, trial in _read_path(path))
        tasks = _Tasks(registry or Registry(), suite)
        rows = _tell_agents_apart([*own, *_make_rows(reported, tasks)])
    return Results(title, Frame(rows, {**own.known_tasks, **tasks.known}), runs)


def _drop_copies(reported: "Iterable[_Reported]") -> "list[_Reported]":
    """Leave out copies of a trial, such as those of a file that is passed twice; each has an id or a seed."""
    kept, seen = list[_Reported](), dict[Hashable, list[ReportedTrial]]()
    for harness, path, trial in reported:
        if trial.trial is not None or trial.seed is not None:
            known = seen.setdefault((harness, trial.task, trial.agent, trial.model, trial.trial, trial.seed), [])
            if any(replace(other, trajectory=trial.trajectory) == trial for other in known):
                continue
            known.append(trial)
        kept.append((harness, path, trial))
    return kept


def _read_path(path: Path) -> Iterator[tuple[Importer, ReportedTrial]]:
    importer, files = _choose_importer(path)
    count = 0
    for trial in importer.read(files):
        count += 1
        if count > MAX_TRIALS:
            raise RecordError(f"{path} has more than {MAX_TRIALS:,} trials")
        yield importer, trial
    if not count:
        raise UsageError(f"{path} has no trials that {importer.name} reports one by one; totals cannot be compared")


def _choose_importer(path: Path) -> tuple[Importer, Sequence[Path]]:
    files = [path] if path.is_file() else list(_list_files(path))
    matches = {name: picked for name in IMPORTERS.names() if (picked := IMPORTERS.load(name).find(files))}
    if len(matches) > 1:
        counts = ", ".join(f"{name} ({plural(len(picked), 'file')})" for name, picked in matches.items())
        raise UsageError(f"{path} has results of several harnesses: {counts}; name the folder of one of them")
    if not matches:
        kind = "not a run folder" if path.is_dir() else "neither a run folder nor a zip file of assay export"
        raise UsageError(f"{path} is {kind}, and no importer recognizes it ({', '.join(IMPORTERS.names())})")
    name, picked = next(iter(matches.items()))
    return IMPORTERS.load(name), picked


def _list_files(folder: Path) -> Iterator[Path]:
    for number, path in enumerate(list_plain_files(folder)):
        if number >= MAX_FILES:
            raise UsageError(f"{folder} has more than {MAX_FILES:,} files; name a folder inside of it")
        yield path


class _Tasks:
    """The tasks of imported trials: those of the registry by their name, others as they are reported."""

    def __init__(self, registry: Registry, suite: str | None) -> None:
        self._registry, self._suite = registry, suite
        self._suites: dict[str, list[str]] = defaultdict(list)  # by the names of their tasks; none is loaded
        for known, _ in registry.suites.values():
            for name in known.tasks:
                self._suites[name].append(known.name)
        self.known: dict[str, Task] = {}

    def find(self, trial: ReportedTrial) -> tuple[str, Task | None]:
        """Return the name of a task as SUITE/TASK, and the task if it is registered."""
        suite = self._suite or trial.suite
        suites = self._suites.get(trial.task, ())
        if suite is None and len(suites) == 1:
            suite = suites[0]
        if suite not in suites:
            return f"{_plain(suite or OWN_SUITE)}/{_plain(trial.task)}", None
        name = f"{suite}/{trial.task}"
        if name not in self.known:
            self.known[name] = self._registry.recorded_task(name)
        return name, self.known[name]

    def splits(self) -> Mapping[str, str]:
        """Return the smallest split of each known task."""
        return self._registry.split_of_each(self.known)

    def families(self) -> Mapping[str, str]:
        """Return the family of each known task that has siblings."""
        return self._registry.family_of_each(self.known)


def _make_rows(reported: Sequence[tuple[str, Path, ReportedTrial]], tasks: _Tasks) -> list[TrialRow]:
    named = [tasks.find(trial) for _, _, trial in reported]
    splits, families = tasks.splits(), tasks.families()
    binary = _find_binary(
        (harness, name, trial) for (harness, _, trial), (name, _) in zip(reported, named, strict=True)
    )
    taken: dict[tuple[str, str | None, str], set[int]] = defaultdict(set)
    ids: Counter[str] = Counter()
    rows = []
    for (harness, path, trial), (name, task) in zip(reported, named, strict=True):
        seeds = taken[trial.agent, trial.model, name]
        seed = trial.seed if trial.seed is not None else len(seeds)
        seeds.add(seed)
        id = _NOT_PLAIN.sub("-", trial.trial or f"{harness}-{name}-{trial.agent}-{seed}")
        ids[id] += 1
        row = _make_row(
            trial, harness, name, task, seed, binary=(harness, name) in binary, run=path.name,
            id=id if ids[id] == 1 else f"{id}-{ids[id]}", split=splits.get(name, ""), family=families.get(name, ""),
        )  # fmt: skip
        rows.append(row)
    return rows


def _find_binary(trials: Iterable[tuple[str, str, ReportedTrial]]) -> set[tuple[str, str]]:
    """Return the tasks of each harness on which every trial only succeeds or fails."""
    kinds: dict[tuple[str, str], bool] = {}
    for harness, name, trial in trials:
        is_binary = trial.binary and trial.grade is None and trial.score in (None, 0.0, 1.0)
        kinds[harness, name] = kinds.get((harness, name), True) and is_binary
    return {key for key, is_binary in kinds.items() if is_binary}


def _make_row(
    trial: ReportedTrial,
    harness: str,
    name: str,
    task: Task | None,
    seed: int,
    *,
    binary: bool,
    run: str,
    id: str,
    split: str,
    family: str,
) -> TrialRow:
    edition, variant = trial.edition or UNKNOWN, trial.variant or UNKNOWN
    success, score, metric = trial.success, trial.score, trial.metric or UNKNOWN
    if trial.task_metric and task:
        metric = task.metric.name
    if binary and success is None and score is not None:
        success = score == 1.0
    if binary and (score is None or score in (0.0, 1.0)):
        metric, score = SUCCESS, None if success is None else float(success)
    in_task_units = task is not None and metric == task.metric.name
    lower = _is_lower_better(metric, trial.lower_is_better)
    lower = task.metric.direction == "lower" if task and in_task_units else lower
    grade = trial.grade or (_make_grade(name, trial, score, success, lower=bool(lower)) if score is not None else None)
    ended = grade is not None and grade.valid_submission
    return TrialRow(
        task=name,
        title=(task.title if task else "") or name,
        metric=metric,
        direction="lower" if lower else "higher",
        agent=trial.agent,
        seed=seed,
        edition=edition,
        variant=variant,
        status="running" if trial.pending else "done" if grade else "failed",
        cause=None if ended or trial.pending else trial.cause or "agent",
        why=trial.reason,
        grade=grade,
        elapsed=trial.seconds,
        steps=trial.steps,
        sealed=trial.sealed,
        run=run,
        trial=id,
        split=split,
        family=family,
        model=trial.model,
        tokens=trial.tokens,
        cost=trial.cost,
        waited=None,
        validations=None,
        attempts=None,
        error_type=trial.error_type,
        kind_of_failure=None if ended else trial.failure,
        started_at=trial.started_at,
        ended_at=trial.ended_at,
        sample_score=_sample_score(task, edition, variant),
        parent=trial.parent,
        replaces=trial.replaces,
        replaced=trial.replaced,
        repeated=trial.repeated,
        load=trial.load,
        conditions=_describe_conditions(trial, edition, variant) | ({"direction": UNKNOWN} if lower is None else {}),
        harness=harness,
        trajectory=trial.trajectory,
    )


def _is_lower_better(metric: str, reported: bool | None) -> bool | None:
    """Return whether lower scores of a metric are better; None where nobody says so."""
    if metric == SUCCESS:
        return False
    if reported is None and metric in METRICS.names():
        return METRICS.load(metric).direction == "lower"
    return reported


def _make_grade(name: str, trial: ReportedTrial, score: float, success: bool | None, *, lower: bool) -> Grade:
    """Return a grade with what is known: the score, whether it is a success, and its integrity."""
    known = {
        "competition_id": name.partition("/")[2],
        "score": score,
        "is_lower_better": lower,
        "task": name,
        "edition": trial.edition or UNKNOWN,
        "variant": trial.variant or UNKNOWN,
        "why": trial.reason,
        "success": success,
        "success_published": success,
        "integrity": trial.integrity,
    }
    return _empty_grade().model_copy(update=known)


@cache
def _empty_grade() -> Grade:
    """Return a valid grade of which nothing else is known; copies of it are much faster than new ones."""
    return Grade.model_construct(
        competition_id="",
        score=None,
        gold_threshold=None,
        silver_threshold=None,
        bronze_threshold=None,
        median_threshold=None,
        any_medal=False,
        gold_medal=False,
        silver_medal=False,
        bronze_medal=False,
        above_median=False,
        submission_exists=True,
        valid_submission=True,
        is_lower_better=False,
        created_at="",
        submission_path="",
        task="",
        edition=UNKNOWN,
        variant=UNKNOWN,
    )


def _describe_conditions(trial: ReportedTrial, edition: str, variant: str) -> dict[str, str]:
    names = ("budget", "hardware", "network", "description", "selection", "pressure", "sealing", "data", "task")
    known = dict.fromkeys((*names, "environment", "grader", "checksum"), UNKNOWN)
    sealing = {None: UNKNOWN, True: "sealed", False: "unsealed"}[trial.sealed]
    return known | {"edition": edition, "variant": variant, "sealing": sealing} | dict(trial.conditions)


def _sample_score(task: Task | None, edition: str, variant: str) -> float | None:
    if task is None or (edition, variant) != (task.edition, "real"):
        return None
    return read_facts(task.folder).sample_score


def _tell_agents_apart(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Add the model to the agents that have several, and the harness to those of several harnesses."""
    models: dict[str, set[tuple[str, str | None]]] = defaultdict(set)
    for row in rows:
        models[row.agent].add((row.harness, row.model if row.imported else None))
    labels: dict[tuple[str, str, str | None], str] = {}
    for agent, kinds in models.items():
        harnesses = {harness for harness, _ in kinds}
        for harness, model in kinds:
            named = {other for kind, other in kinds if kind == harness}
            label = f"{agent} ({model or 'no model'})" if len(named) > 1 else agent
            labels[agent, harness, model] = f"{label} [{harness}]" if len(harnesses) > 1 else label
    apart = []
    for row in rows:
        label = labels[row.agent, row.harness, row.model if row.imported else None]
        apart.append(row if label == row.agent else replace(row, agent=label))
    return apart


def _plain(name: str) -> str:
    """Return a name as a part of SUITE/TASK, which has no other slash."""
    return name.replace("/", ":")
