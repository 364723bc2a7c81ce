"""What trials had at each step, as one long frame: the schema `progress/1`.

A trial keeps its workspace after every step, so that what the agent would have submitted at any moment can be graded
after its end. The submissions that a search made without picking them are graded with it. Agents never see these
grades. A submission is graded when it is first asked for, and the grade of its content is kept in Assay's home, from
where it can be deleted at any time; records stay as they are.
"""

import hashlib
import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import ValidationError

from assay import __version__
from assay.core.disk import atomic_write
from assay.core.errors import InvalidSubmission, RecordError, UsageError
from assay.core.home import Home
from assay.core.untrusted import read_plain
from assay.data.selection import prepare_selection
from assay.data.store import Prepared, load_prepared
from assay.grading import grade_submission
from assay.grading.grade import beats_baseline
from assay.grading.noise import score_halves
from assay.grading.result import Grade, Medal
from assay.lab.snapshots import SnapshotReader, object_digests, read_object
from assay.records import BudgetUsed, TrialFile, TrialFolder, read_events
from assay.records.events import CallFinished, SnapshotTaken
from assay.records.search import find_submissions, read_journal
from assay.results.frame import Direction, TrialRow
from assay.results.measures import Measure, relate_to_starter
from assay.results.sample_scores import normalize_score
from assay.tasks import Task

if TYPE_CHECKING:
    import polars as pl

Axis = Literal["time", "steps", "cost"]
AXES: tuple[Axis, ...] = get_args(Axis)
CurveMeasure = Measure | Literal["score"]


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """A submission that a trial had after one of its steps, or at its end; docs/progress.md describes the fields.

    `halves` are the same with the score on one and on the other half of the test rows, if its noise is known.
    """

    trial: str
    task: str
    agent: str
    seed: int
    step: int
    event: int | None
    elapsed: float
    tokens: int
    cost: float | None
    submission: str | None
    node: int | None
    own_metric: float | None
    picked: bool
    best: bool
    end: bool
    valid: bool
    score: float | None
    medal: Medal | None
    percentile: float | None
    success: bool | None
    improvement: float | None
    normalized: float | None
    reason: str | None
    halves: "tuple[ProgressRow, ProgressRow] | None" = None
    relation: float | None = None
    """The improvement on the scale of the measure, which has means."""

    def amount(self, axis: Axis) -> float | None:
        """Return how much of a budget was used; None for an unknown cost."""
        return {"time": self.elapsed, "steps": float(self.step), "cost": self.cost}[axis]

    def value(self, measure: CurveMeasure) -> float | None:
        """Return a measure as if the trial had ended with this submission; None where its task does not define it."""
        if measure == "score":
            return self.score
        if not self.valid or measure == "valid":
            return float(self.valid)
        if measure == "percentile":
            return None if self.percentile is None else self.percentile / 100
        values = {"success": self.success, "improvement": self.relation, "normalized": self.normalized}
        value = values.get(measure)
        return None if value is None else float(value)


def read_progress(
    folder: TrialFolder, task: Task, home: Home, outcome: TrialRow | None = None
) -> tuple[ProgressRow, ...]:
    """Return the rows of one trial, graded as far as they were not; with its outcome, the last one is its end.

    `UsageError` for a task whose submissions are measured by running them, because that cannot be repeated afterwards.
    """
    return _make_rows(folder, task, _Grader(folder, task, home).grade, outcome)


def load_progress(
    folder: TrialFolder, task: Task, home: Home, outcome: TrialRow | None = None
) -> tuple[ProgressRow, ...] | None:
    """Return the same rows if everything in them has been graded before; None otherwise."""
    try:
        return _make_rows(folder, task, _GradeCache(home, folder.file).__getitem__, outcome)
    except KeyError:
        return None


@dataclass(frozen=True)
class ScoredCandidate:
    """A candidate of a trial with its grade."""

    digest: str
    grade: Grade

    @property
    def halves(self) -> tuple[float, float] | None:
        """The scores on one and on the other half of the test rows, if their noise is known."""
        score, noise = self.grade.score, self.grade.noise
        return score_halves(score, noise) if score is not None and noise and noise.deviations else None


def grade_candidates(folder: TrialFolder, task: Task, home: Home, digests: Iterable[str]) -> Iterator[ScoredCandidate]:
    """Yield the candidates of a trial with their grades on the test rows."""
    grader = _Grader(folder, task, home)
    yield from (ScoredCandidate(digest, grader.grade(digest)) for digest in digests)


def load_candidates(folder: TrialFolder, home: Home, digests: Iterable[str]) -> list[ScoredCandidate] | None:
    """Return the same if all of them have been graded before; None otherwise."""
    known = _GradeCache(home, folder.file)
    try:
        return [ScoredCandidate(digest, known[digest]) for digest in digests]
    except KeyError:
        return None


def load_scores(folder: TrialFolder, submissions: Iterable[str | None], home: Home) -> dict[str, float]:
    """Return the known scores of submissions of a trial, by their SHA-256."""
    known = _GradeCache(home, folder.file)
    grades = {digest: known.get(digest) for digest in submissions if digest}
    entry = folder.submission_entry
    if entry and entry.sha256:
        grades[entry.sha256] = folder.grade
    return {
        digest: grade.score
        for digest, grade in grades.items()
        if grade and grade.valid_submission and grade.score is not None
    }


def make_end(outcome: TrialRow) -> ProgressRow:
    """Return the row of the end of a trial, from its grade."""
    elapsed, steps, tokens = outcome.elapsed or 0.0, outcome.steps or 0, outcome.tokens or 0
    used = BudgetUsed(elapsed=elapsed, steps=steps, tokens=tokens, cost=outcome.cost)
    trial = _Trial(outcome.trial, outcome.task, outcome.agent, outcome.seed, outcome.sample_score)
    row = trial.make_row(steps, None, used, None, outcome.grade if outcome.valid else None)
    return replace(row, end=True, picked=True, best=row.valid, reason=outcome.reason)


def reach(
    rows: Sequence[ProgressRow], axis: Axis, levels: Sequence[float]
) -> list[tuple[ProgressRow | None, ProgressRow | None]]:
    """Return what a trial had picked and the best that it had at each of some levels, which ascend."""
    picked: list[ProgressRow | None] = [None] * len(levels)
    best: list[ProgressRow | None] = [None] * len(levels)
    for row in rows:
        used = row.amount(axis)
        if used is not None:
            start = bisect_left(levels, used - 1e-9)
            for chosen, applies in ((picked, row.picked), (best, row.best)):
                if applies:
                    chosen[start:] = [row] * (len(levels) - start)
    return list(zip(picked, best, strict=True))


def reach_oracle(
    rows: Sequence[ProgressRow], axis: Axis, levels: Sequence[float], measure: CurveMeasure
) -> list[float | None]:
    """Return what a perfect choice among all submissions so far would have reached at each of some levels.

    The best of many scores is too good, because the test rows that choose it also score it. So each half of the test
    rows scores what the other half chooses, and the result is the mean of both. Where the noise of a score is not
    known, all rows do both.
    """
    values: list[float | None] = [None] * len(levels)
    chosen: list[ProgressRow | None] = [None, None]
    for row in rows:
        used = row.amount(axis)
        halves = row.halves or (row, row)
        if used is None or not any(half.best for half in halves):
            continue
        for number in (0, 1):
            if halves[number].best:
                chosen[number] = halves[1 - number]
        scored = [value for half in chosen if half and (value := half.value(measure)) is not None]
        start = bisect_left(levels, used - 1e-9)
        values[start:] = [sum(scored) / len(scored) if scored else None] * (len(levels) - start)
    return values


def to_polars(rows: Sequence[ProgressRow]) -> "pl.DataFrame":
    """Return rows as a data frame."""
    import polars as pl

    names = list(ProgressRow.__dataclass_fields__)
    records = [
        {name: getattr(row, name) for name in names}
        | {"halves": [half.score for half in row.halves] if row.halves else None}
        for row in rows
    ]
    return pl.DataFrame(records, infer_schema_length=None)


def _make_rows(
    folder: TrialFolder, task: Task, grade_of: Callable[[str | None], Grade], outcome: TrialRow | None
) -> tuple[ProgressRow, ...]:
    file, events = folder.file, read_events(folder.events)
    trial = _Trial(
        name=file.id,
        task=file.task,
        agent=outcome.agent if outcome else file.label,
        seed=file.seed,
        sample_score=outcome.sample_score if outcome else None,
    )
    nodes = {node.submission: node for node in reversed(read_journal(events, task.metric.direction).nodes)}
    unpicked, used, rows = find_submissions(events), BudgetUsed(), list[ProgressRow]()

    def add(step: int, event: int, submission: str | None, *, picked: bool) -> None:
        row = trial.make_row(step, event, used, submission, grade_of(submission))
        if submission and (node := nodes.get(submission)):
            row = replace(row, node=node.id, own_metric=node.metric)
        rows.append(replace(row, picked=picked))

    snapshots = SnapshotReader(folder.snapshots)
    for event in events:
        if isinstance(event, CallFinished):
            used = event.used
        if isinstance(event, SnapshotTaken):
            kept = snapshots.load(event.snapshot).files.get(task.submission.file)
            picked = kept.sha256 if kept else None
            add(event.step, event.number, picked, picked=True)
            while unpicked and unpicked[0][0] <= used.elapsed:
                if unpicked[0][1] != picked:
                    add(event.step, event.number, unpicked[0][1], picked=False)
                del unpicked[0]
    for _, submission in unpicked:  # of a last step without a snapshot
        add(used.steps, events[-1].number, submission, picked=False)
    if outcome:
        rows.append(make_end(outcome))
    return tuple(mark_best(rows, task.metric.direction))


def mark_best(rows: Iterable[ProgressRow], direction: Direction) -> Iterator[ProgressRow]:
    """Yield rows in which `best` is whether the score is better than all before, on all test rows and on each half."""
    best = [-math.inf] * 3
    for row in rows:
        parts = (row, *(row.halves or (row, row)))
        values = [_goodness(part, direction) for part in parts]
        whole, *halves = (
            replace(part, best=value > record) for part, value, record in zip(parts, values, best, strict=True)
        )
        yield replace(whole, halves=(halves[0], halves[1]) if row.halves else None)
        best = [max(pair) for pair in zip(best, values, strict=True)]


def _goodness(row: ProgressRow, direction: Direction) -> float:
    if row.score is None:
        return -math.inf
    return -row.score if direction == "lower" else row.score


@dataclass(frozen=True)
class _Trial:
    name: str
    task: str
    agent: str
    seed: int
    sample_score: float | None

    def make_row(
        self, step: int, event: int | None, used: BudgetUsed, submission: str | None, grade: Grade | None
    ) -> ProgressRow:
        """Return a row that is neither picked nor best; without a grade there is no valid submission."""
        score = grade.score if grade and grade.valid_submission else None
        valid = score is not None and math.isfinite(score)
        known = grade if valid else None
        gold = known.gold_threshold if known else None
        normalized = None
        if valid and score is not None and self.sample_score is not None and gold is not None:
            normalized = normalize_score(score, self.sample_score, gold)
        improvement = known.improvement if known else None
        row = ProgressRow(
            trial=self.name,
            task=self.task,
            agent=self.agent,
            seed=self.seed,
            step=step,
            event=event,
            elapsed=used.elapsed,
            tokens=used.tokens,
            cost=used.cost,
            submission=submission,
            node=None,
            own_metric=None,
            picked=False,
            best=False,
            end=False,
            valid=valid,
            score=score if valid else None,
            medal=known.medal if known else None,
            percentile=known.percentile if known else None,
            success=known.success if known else None,
            improvement=improvement if improvement is not None and math.isfinite(improvement) else None,
            normalized=normalized,
            reason=grade.why if grade else None,
            relation=_relate(score, known) if known else None,
        )
        if known is None or score is None or not (known.noise and known.noise.deviations):
            return row
        first, second = (self._rescore(row, known, half) for half in score_halves(score, known.noise))
        return replace(row, halves=(first, second))

    def _rescore(self, row: ProgressRow, grade: Grade, score: float) -> ProgressRow:
        """Return a row with another score and what follows from it; its percentile is not known."""
        sign = -1 if grade.is_lower_better else 1
        improvement, normalized, success = row.improvement, row.normalized, row.success
        if improvement is not None and grade.baseline:
            improvement = sign * (score - grade.baseline) / abs(grade.baseline)
            success = None if success is None else beats_baseline(improvement) and grade.beyond_spread is not False
        if grade.bronze_threshold is not None:
            success = sign * score >= sign * grade.bronze_threshold
        if normalized is not None and self.sample_score is not None and grade.gold_threshold is not None:
            normalized = normalize_score(score, self.sample_score, grade.gold_threshold)
        changed = replace(row, score=score, improvement=improvement, normalized=normalized, success=success)
        return replace(changed, relation=_relate(score, grade))


def _relate(score: float | None, grade: Grade) -> float | None:
    return relate_to_starter(score, grade.baseline, lower=grade.is_lower_better)


class _GradeCache:
    """Grades of submissions in Assay's home, by what they follow from: the content, the task and its data."""

    def __init__(self, home: Home, file: TrialFile) -> None:
        hashes = {name: file.hashes.get(name) for name in ("task", "data")}
        self._basis = [__version__, file.task, file.edition, file.variant, hashes, file.selection != "own"]
        self._home = home

    def __getitem__(self, digest: str | None) -> Grade:
        grade = self.get(digest)
        if grade is None:
            raise KeyError(digest)
        return grade

    def get(self, digest: str | None) -> Grade | None:
        """Return a grade if it is known; None as a digest is that there was no submission."""
        try:
            return Grade.model_validate_json(read_plain(self._path(digest)))
        except (FileNotFoundError, RecordError, ValidationError, UsageError):  # the last: the home cannot be used
            return None

    def put(self, digest: str | None, grade: Grade) -> None:
        """Keep a grade."""
        path = self._path(digest)
        path.parent.mkdir(exist_ok=True)
        atomic_write(path, grade.model_dump_json())

    def _path(self, digest: str | None) -> Path:
        key = hashlib.sha256(json.dumps([*self._basis, digest]).encode()).hexdigest()
        return self._home.index / "grades" / f"{key}.json"


class _Grader:
    """Grades submissions that the snapshots of a trial keep; each content once."""

    def __init__(self, folder: TrialFolder, task: Task, home: Home) -> None:
        if task.timed:
            raise UsageError(f"{task.id} is graded by running the submission; its steps cannot be graded afterwards")
        self._folder, self._task, self._home = folder, task, home
        self._cache = _GradeCache(home, folder.file)
        self._grades: dict[str | None, Grade] = {}

    def grade(self, digest: str | None) -> Grade:
        """Return the grade of the content with this SHA-256; None is that there was no submission."""
        if digest not in self._grades:
            grade = self._cache.get(digest)
            if grade is None:
                content = None if digest is None else self._read(digest)
                if content is not None and self._folder.file.selection != "own":
                    content = self._test_rows(content)
                grade = grade_submission(content, self._data, home=self._home, isolated=True)
                self._cache.put(digest, grade)
            self._grades[digest] = grade
        return self._grades[digest]

    def _read(self, digest: str) -> bytes:
        keep = self._folder.file.keep
        if keep != "all" and digest not in object_digests(self._folder.snapshots):
            name = self._folder.path.name
            raise UsageError(f"{name} did not keep the submissions of its steps (--keep {keep}): they have no scores")
        return read_object(self._folder.snapshots, digest)

    def _test_rows(self, content: bytes) -> bytes:
        """Return a submission without the rows of the hidden part; what cannot be parsed is invalid as it is."""
        try:
            return prepare_selection(self._home, self._data).rows(content, "test")
        except InvalidSubmission:
            return content

    @cached_property
    def _data(self) -> Prepared:
        file = self._folder.file
        return load_prepared(self._home, self._task, file.edition, file.variant)
