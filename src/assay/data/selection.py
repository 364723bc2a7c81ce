"""Hidden validation parts: rows split off the public training data, which candidates are selected on.

The labels of these rows stay with the answers. Their inputs are given to a lab among those of the test rows, so that
every submission made in it has predictions for both; the harness takes them apart again. The split follows from the
prepared public files, the `[selection]` of `task.toml` and a fixed seed, so that it is the same on every machine. The
published files stay as they are: a split is a second set of files next to them.
"""

import csv
import hashlib
import io
import json
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.core.disk import file_lock, random_token, write_json
from assay.core.disk_space import check_space, folder_size
from assay.core.errors import InvalidSubmission, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.core.quantities import Model
from assay.data.acquire import acquire
from assay.data.build import Builder
from assay.data.publish import publish, seal
from assay.data.splits import widen_tests
from assay.data.store import Prepared
from assay.tasks import Task, load_plugin
from assay.tasks.registry import load_suite, load_task

if TYPE_CHECKING:
    import polars as pl

SEED = 20301
VERSION = 2
"""Increase it when other rows are selected or other bytes written."""
ScoredPart = Literal["hidden", "feedback", "pick"]
Part = Literal["lab"] | ScoredPart
PARTS: tuple[Part, ...] = ("lab", "hidden", "feedback", "pick")
_MAX_FIELD, _MAX_CELLS = 10**7, 10**6


class Unsplittable(UsageError):
    """No hidden part can be split off the training data of a task."""


@dataclass(frozen=True)
class SelectionJob:
    """Split a hidden part off: read `source`, write what a lab sees to `public`, and return the hidden answers."""

    task: Task
    source: Path  # the public files, read-only
    public: Path  # an empty folder
    answers: Path  # the private answers of the test rows, whose form hidden ones must have
    seed: int = SEED

    @property
    def random(self) -> np.random.RandomState:
        """A source of random numbers that gives the same ones in every call."""
        return np.random.RandomState(self.seed)

    def copy(self, *except_for: str) -> None:
        """Copy all public files, except those that match a pattern."""
        for path in sorted(path for path in self.source.rglob("*") if path.is_file()):
            name = path.relative_to(self.source).as_posix()
            if not any(fnmatchcase(name, pattern) for pattern in except_for):
                self.copy_file(name, name)

    def copy_file(self, name: str, new_name: str) -> None:
        """Copy one public file, perhaps under another name."""
        target = self.public / new_name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.source / name, target)


class SelectionManifest(Model):
    """What was split off, and from what."""

    format: Literal["selection/1"] = "selection/1"
    basis: str
    token: str
    seed: int
    keys: tuple[str, ...]
    rows: dict[str, int]


@dataclass(frozen=True)
class HiddenSplit:
    """A task's data with a hidden part: what labs see, and the answers of each part."""

    prepared: Prepared
    folder: Path
    public: Path
    manifest: SelectionManifest

    def part(self, name: Part) -> Prepared:
        """Return the data with the answers of one part: `lab` has those of test and hidden rows, for their ids alone.

        Of the hidden rows, `feedback` has one half and `pick` the other.
        """
        return replace(self.prepared, public=self.public, private=self.folder / name)

    @cached_property
    def _keys(self) -> dict[Part, frozenset[tuple[str, ...]]]:
        from assay.data.polars_tables import read

        name = self.prepared.task.data.answers
        tables = {part: read(self.folder / part / name).select(self.manifest.keys) for part in PARTS[1:]}
        return {part: frozenset(map(make_key, table.iter_rows())) for part, table in tables.items()}

    def rows(self, content: bytes, part: Literal["test"] | ScoredPart) -> bytes:
        """Return the rows of a submission that belong to one part, as a submission of its own.

        Test rows are all that are not hidden. `InvalidSubmission` if the rows cannot be told apart, or are too many:
        this is the file of an agent, and is read in the process of the harness.
        """
        keys = self._keys["hidden" if part == "test" else part]
        max_rows = 1000 + 10 * sum(self.manifest.rows.values())
        return select_rows(content, self.manifest.keys, keys, inside=part != "test", max_rows=max_rows)


def select_rows(
    content: bytes,
    names: Sequence[str],
    keys: Collection[tuple[str, ...]],
    *,
    inside: bool,
    max_rows: int = 100_000_000,
) -> bytes:
    """Return the rows of a table whose ids are among some, or are not; `InvalidSubmission` if it has no such ids."""
    written = io.BytesIO()
    text = io.TextIOWrapper(written, "utf-8", newline="")
    try:
        rows = _read_rows(content, max_rows)
        header = next(rows, [])
        stripped = [name.strip() for name in header]
        columns = [stripped.index(name) for name in names]
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            if row and (make_key([row[column] for column in columns]) in keys) == inside:
                writer.writerow(row)
    except (csv.Error, ValueError, IndexError) as error:
        raise InvalidSubmission(f"its rows cannot be told apart ({error})") from None
    text.flush()
    return written.getvalue()


def _read_rows(content: bytes, max_rows: int) -> Iterator[list[str]]:
    """Yield the rows of a CSV file of at most so many rows and cells in each; `ValueError` if there are more."""
    csv.field_size_limit(_MAX_FIELD)
    cells = 0

    def read_lines() -> Iterator[str]:
        nonlocal cells
        for line in io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=""):
            cells += line.count(",")  # of all lines of a row, which quotes may extend
            if cells > _MAX_CELLS:
                raise ValueError(f"a row has more than {_MAX_CELLS:,} cells")
            yield line

    for number, row in enumerate(csv.reader(read_lines())):
        if number > max_rows:
            raise ValueError(f"there are more than {max_rows:,} rows")
        cells = 0
        yield row


def find_obstacle(task: Task) -> str | None:
    """Return why no hidden part can be split off a task's data, as far as `task.toml` tells; None if it can."""
    if task.selection.reason:
        return task.selection.reason
    if task.submission.form != "csv" or task.judged not in ("table", "checkpoint"):
        return "what is submitted is not a table of predictions"
    if (task.folder / "answers.py").is_file():
        return "its answers are not a table"
    if not task.submission.by_id:
        return "rows of a submission are matched by position"
    if (task.folder / "selection.py").is_file():
        return None
    if task.selection.derived:
        own = task.path("prepare.py") != task.folder / "prepare.py"
        return "the prepare.py of this edition makes no further test rows" if own else None
    if not task.data.train or not task.data.id:
        return "task.toml names no table of training rows with ids"
    if not task.data.train.endswith(".csv") or not (task.data.test or ".csv").endswith(".csv"):
        return f"{task.data.train} is not a CSV table"
    return None


def prepare_selection(home: Home, prepared: Prepared) -> HiddenSplit:
    """Split a hidden part off prepared data, or return the split if there is one; `Unsplittable` says why not."""
    task = prepared.task
    if obstacle := find_obstacle(task):
        raise Unsplittable(f"{task.id}: no hidden part can be split off: {obstacle}")
    basis = _hash_basis(prepared)
    folder = prepared.folder / "selection"
    with file_lock(home.locks / f"selection.{prepared.folder.name.strip('.')}"):
        split = _load(home, prepared, folder)
        if split is None or split.manifest.basis != basis:
            _remove(home, folder)
            _build(home, prepared, folder, basis)
    loaded = _load(home, prepared, folder)
    assert loaded is not None
    return loaded


def _load(home: Home, prepared: Prepared, folder: Path) -> HiddenSplit | None:
    try:
        manifest = SelectionManifest.model_validate_json((folder / "manifest.json").read_bytes())
    except FileNotFoundError:
        return None
    public = home.public / manifest.token
    return HiddenSplit(prepared, folder, public, manifest) if public.is_dir() else None


def _remove(home: Home, folder: Path) -> None:
    for old in folder.parent.glob("selection*"):
        if (link := old / "public").is_symlink():
            shutil.rmtree(home.public / link.readlink().name, ignore_errors=True)
        shutil.rmtree(old)


def _build(home: Home, prepared: Prepared, folder: Path, basis: str) -> None:
    from assay.data.polars_tables import read, write

    task, token = prepared.task, random_token()
    check_space(home.data, 2 * folder_size(prepared.public), f"splitting a hidden part off {task.id}")
    scratch = folder.with_name(f"selection.{token}")
    written = scratch / "written"
    written.mkdir(parents=True, mode=0o700)
    (scratch / "public").symlink_to(home.public / token)
    name = task.data.answers
    job = SelectionJob(task, prepared.public, written, prepared.private / name)
    keys = key_columns(task)
    answers = read(job.answers)
    own = (task.folder / "selection.py").is_file()
    hidden = split_off(job) if own or not task.selection.derived else derive(home, prepared, job, scratch)
    columns = [column for column in answers.columns if column in hidden.columns]
    halves = halve(hidden, task, job.random)
    import polars as pl

    parts = dict(
        zip(PARTS, (pl.concat([answers.select(columns), hidden.select(columns)]), hidden, *halves), strict=True)
    )
    for part, table in parts.items():
        write(table.select(columns), scratch / part / name)
        seal(scratch / part)
    publish(written, home.public / token)
    shutil.rmtree(written)
    rows = {"test": answers.height, "hidden": hidden.height}
    manifest = SelectionManifest(basis=basis, token=token, seed=job.seed, keys=keys, rows=rows)
    write_json(scratch / "manifest.json", manifest.model_dump(mode="json"))
    scratch.chmod(0o700)
    scratch.rename(folder)


def split_off(job: SelectionJob) -> "pl.DataFrame":
    """Split by the task's own `selection.py`, if it has one, or as tables; return the hidden answers."""
    own = job.task.folder / "selection.py"
    hidden: pl.DataFrame = load_plugin(own).split(job) if own.is_file() else split_tables(job)
    missing = set(job.task.answer_columns) - set(hidden.columns)
    if missing:
        raise Unsplittable(f"{job.task.id}: the training data does not have {', '.join(sorted(missing))}")
    return hidden


def derive(home: Home, prepared: Prepared, job: SelectionJob, scratch: Path) -> "pl.DataFrame":
    """Prepare the task again with hidden rows among its test rows; return the hidden answers.

    What `prepare.py` does with test rows it does with hidden ones, so they look alike and tell no more. The ids and
    answers of the test rows must come out as before.
    """
    import polars as pl

    from assay.data.polars_tables import read

    task = job.task
    private = scratch / PARTS[0]  # what else is private goes with the answers of all rows
    private.mkdir(mode=0o700)
    base = load_task(task.folder, load_suite(task.folder.parent))
    builder = Builder(home, base, task, prepared.edition, prepared.variant, NoProgress())
    raw = _acquire_again(builder, prepared, scratch)
    with widen_tests(task.selection.share, job.seed):
        builder.prepare(raw, job.public, private)
    shutil.rmtree(scratch / "raw", ignore_errors=True)
    before, widened = read(job.answers), read(private / task.data.answers)
    names = list(key_columns(task))
    if missing := set(names) - set(widened.columns):
        raise Unsplittable(f"{task.id}: its answers have no {', '.join(sorted(missing))}")
    known = set(map(make_key, before.select(names).iter_rows()))
    of_test = pl.Series([make_key(row) in known for row in widened.select(names).iter_rows()], dtype=pl.Boolean)
    order = before.columns
    if widened.columns != order or not widened.filter(of_test).sort(order).equals(before.sort(order)):
        raise Unsplittable(f"{task.id}: test rows get other ids or answers when there are more of them")
    if of_test.all():
        raise Unsplittable(f"{task.id}: prepare.py makes no further test rows")
    return widened.filter(~of_test)


def _acquire_again(builder: Builder, prepared: Prepared, scratch: Path) -> Path:
    """Return the raw data that a task was prepared from: as it was kept, or fetched or made again."""
    kept = prepared.folder / "raw"
    if kept.is_dir() and any(kept.iterdir()):
        return kept
    folder = scratch / "raw"
    folder.mkdir(mode=0o700)
    sourced = builder.base.model_copy(update={"source": builder.task.source})
    return acquire(builder.home, sourced, builder.variant, folder, user_copy=None, progress=builder.progress).folder


def split_tables(job: SelectionJob) -> "pl.DataFrame":
    """Split a table of training rows with ids; files of hidden rows move to where those of test rows are."""
    import polars as pl

    from assay.data.polars_tables import read, write

    task, data, rules = job.task, job.task.data, job.task.selection
    id = str(task.submission.id)
    assert data.train
    train = read(job.source / data.train)
    sample = read(job.source / str(data.public_sample)) if _has_sample(job) else None
    test = read(job.source / data.test) if data.test else sample.select(id) if sample is not None else None
    if test is None or id not in train.columns or id not in test.columns:
        raise Unsplittable(f"{task.id}: the training and the test rows do not both have the ids of a submission, {id}")
    if unknown := set(test.columns) - set(train.columns):
        raise Unsplittable(f"{task.id}: test rows have {', '.join(sorted(unknown))}, training rows do not")
    if test[id].n_unique() != test.height or train[id].n_unique() != train.height:
        raise Unsplittable(f"{task.id}: several rows have the same {id}")
    rows = choose_rows(train, task, job.random)
    hidden, rest = train[rows], train.filter(~pl.Series(np.isin(np.arange(train.height), rows)))
    files = _FileMoves.plan(job, train[id].to_list(), test[id].to_list())
    old_ids = hidden[id].to_list()
    new_ids = (
        files.new_ids(old_ids) if data.image == id else _free_ids(old_ids, test[id].to_list(), train[id].to_list())
    )
    hidden = hidden.with_columns(pl.Series(id, new_ids, dtype=pl.String))
    order = _interleave(test.height, hidden.height, job.random, first=rules.after is not None)
    merged = pl.concat([test, hidden.select(test.columns)])[order]
    tables = {data.train: rest} | ({data.test: merged} if data.test else {})
    if sample is not None and data.public_sample:
        if sample.height != test.height:
            raise Unsplittable(f"{task.id}: a submission does not have one row for each test row")
        first = sample.head(1).select(pl.exclude(id))
        constant = hidden.select(id).join(first, how="cross", maintain_order="left").select(sample.columns)
        tables[data.public_sample] = pl.concat([sample, constant])[order]
    for name, table in tables.items():
        write(table, job.public / name)
    files.copy(job, dict(zip(old_ids, new_ids, strict=True)))
    return _answers_of(hidden, task, read(job.answers).columns)


def choose_rows(train: "pl.DataFrame", task: Task, random: np.random.RandomState) -> Sequence[int]:
    """Return the numbers of the rows to hide: the last ones, or random groups, in the order of the table."""
    rules = task.selection
    count = max(1, round(train.height * rules.share))
    if rules.after:
        times = train[rules.after]
        numeric = times.cast(float, strict=False)
        return sorted((times if numeric.null_count() else numeric).arg_sort().to_list()[-count:])
    unit = task.metric.unit
    columns = rules.group or ((unit,) if unit else ())
    if missing := {name for column in columns if (name := column.partition(":")[0]) not in train.columns}:
        raise Unsplittable(
            f"{task.id}: training rows have no {', '.join(sorted(missing))}, by which they belong together"
        )
    if not columns:
        return sorted(random.permutation(train.height)[:count].tolist())
    groups = list(zip(*(_group_keys(train, column) for column in columns), strict=True))
    numbers: dict[tuple[str, ...], list[int]] = {}
    for row, group in enumerate(groups):
        numbers.setdefault(group, []).append(row)
    if len(numbers) < 2:
        raise Unsplittable(f"{task.id}: all training rows belong together")
    chosen: list[int] = []
    for index in random.permutation(len(numbers))[:-1]:
        if len(chosen) >= count:
            break
        chosen += list(numbers.values())[index]
    return sorted(chosen)


def _group_keys(table: "pl.DataFrame", column: str) -> list[str]:
    name, _, pattern = column.partition(":")
    values = [str(value) for value in table[name]]
    if not pattern:
        return values
    compiled = re.compile(pattern)
    return [match.group(1) if (match := compiled.search(value)) else value for value in values]


def _answers_of(hidden: "pl.DataFrame", task: Task, columns: Sequence[str]) -> "pl.DataFrame":
    """Return the answers of hidden rows: their columns, or which class the target is, a column for each class."""
    import polars as pl

    target = task.data.target
    classes = {name for name, rule in task.submission.columns.items() if (rule.answer or name) not in hidden.columns}
    known = hidden.select(name for name in columns if name in hidden.columns)
    if target and len(classes) > 1 and target in hidden.columns and set(hidden[target].to_list()) <= classes:
        return known.with_columns(
            (hidden[target] == name).cast(pl.Int8).cast(pl.String).alias(name) for name in classes
        )
    return known


@dataclass(frozen=True)
class _FileMoves:
    """Public files besides tables: those of training rows by id, where those of test rows are, and all others."""

    by_id: Mapping[str, Sequence[str]]
    others: Sequence[str]
    folders: Mapping[tuple[str, str], str]
    test_names: Mapping[str, set[str]]

    @classmethod
    def plan(cls, job: SelectionJob, train_ids: Sequence[str], test_ids: Sequence[str]) -> "_FileMoves":
        """Find out which row each file belongs to; `Unsplittable` for one that may tell a hidden label."""
        task = job.task
        tables = {task.data.train, task.data.test, task.data.public_sample}
        names = [path.relative_to(job.source).as_posix() for path in sorted(job.source.rglob("*")) if path.is_file()]
        names = [name for name in names if name not in tables]
        of_train, of_test, others = _match_files(names, train_ids), _match_files(names, test_ids), list[str]()
        by_id: dict[str, list[str]] = {}
        test_names: dict[tuple[str, str], set[str]] = {}
        for name in names:
            path = PurePosixPath(name)
            if name in of_train and name not in of_test:
                by_id.setdefault(of_train[name], []).append(name)
                continue
            if name in of_test:
                test_names.setdefault((path.parent.as_posix(), path.suffix), set()).add(path.name)
            elif not any(fnmatchcase(name, pattern) for pattern in task.selection.shared):
                raise Unsplittable(
                    f"{task.id}: {name} may tell labels of training rows; a file that does not is named in "
                    "[selection] shared"
                )
            others.append(name)
        sources = {
            (PurePosixPath(name).parent.as_posix(), PurePosixPath(name).suffix)
            for own in by_id.values()
            for name in own
        }
        folders: dict[tuple[str, str], str] = {}
        for folder, suffix in sources:
            targets = {other for other, kind in test_names if kind == suffix}
            if len(targets) != 1:
                raise Unsplittable(f"{task.id}: it is not clear where files of {folder} would be among test files")
            folders[folder, suffix] = targets.pop()
        return cls(by_id, others, folders, {folder: own for (folder, _), own in test_names.items()})

    def new_ids(self, old_ids: Sequence[str]) -> list[str]:
        """Return the paths that the files of hidden rows get, where paths are ids; numbers go on where test ends."""
        new, taken = list[str](), {folder: set(names) for folder, names in self.test_names.items()}
        for old in old_ids:
            path = PurePosixPath(old)
            folder = self.folders[path.parent.as_posix(), path.suffix]
            stems = [PurePosixPath(name).stem for name in taken[folder]]
            name = path.name
            if all(stem.isdigit() for stem in stems):
                width = max(map(len, stems), default=1)
                name = f"{max(map(int, stems), default=-1) + 1:0{width}d}{path.suffix}"
            if name in taken[folder]:
                raise Unsplittable(f"{folder}/{name} is a test file already")
            taken[folder].add(name)
            new.append(f"{folder}/{name}")
        return new

    def copy(self, job: SelectionJob, new_ids: Mapping[str, str]) -> None:
        """Copy all files, those of hidden rows to where test files are."""
        for name in self.others:
            job.copy_file(name, name)
        for id, names in self.by_id.items():
            for name in names:
                path = PurePosixPath(name)
                if id not in new_ids:
                    job.copy_file(name, name)
                elif name == id:
                    job.copy_file(name, new_ids[id])
                else:
                    folder = self.folders[path.parent.as_posix(), path.suffix]
                    job.copy_file(name, f"{folder}/{path.name}")


def _match_files(names: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
    """Return the id that each file is named by: its path, its name, or its name without an ending."""
    known = set(ids)
    matches: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        if match := next((form for form in (name, path.name, path.stem) if form in known), None):
            matches[name] = match
    return matches


def _free_ids(old: Sequence[str], test: Sequence[str], train: Sequence[str]) -> list[str]:
    """Return the ids of hidden rows as they are, or the next numbers, where training and test rows share ids."""
    if not set(old) & set(test):
        return list(old)
    try:
        start = max(map(int, [*test, *train])) + 1
    except ValueError:
        raise Unsplittable("training and test rows share ids that are not numbers") from None
    return [str(start + number) for number in range(len(old))]


def _interleave(test: int, hidden: int, random: np.random.RandomState, *, first: bool) -> list[int]:
    """Return an order of test rows with hidden rows among them, or before them; each kind keeps its own order."""
    if first:
        return [*range(test, test + hidden), *range(test)]
    positions = np.sort(random.permutation(test + hidden)[:hidden])
    order = np.empty(test + hidden, dtype=int)
    order[positions] = np.arange(test, test + hidden)
    order[~np.isin(np.arange(test + hidden), positions)] = np.arange(test)
    return [int(row) for row in order]


def halve(hidden: "pl.DataFrame", task: Task, random: np.random.RandomState) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Return the rows that answer offers and those that select; rows that are scored together are on one side."""
    import polars as pl

    unit = task.metric.unit
    column = unit if unit and unit.partition(":")[0] in hidden.columns else str(task.submission.id)
    groups = _group_keys(hidden, column)
    names = list(dict.fromkeys(groups))
    first = {names[index] for index in random.permutation(len(names))[: len(names) // 2]}
    chosen = np.array([group in first for group in groups])

    return hidden.filter(pl.Series(chosen)), hidden.filter(pl.Series(~chosen))


def _has_sample(job: SelectionJob) -> bool:
    sample = job.task.data.public_sample
    return sample is not None and sample.endswith(".csv") and (job.source / sample).is_file()


def key_columns(task: Task) -> tuple[str, ...]:
    """Return the columns that tell which row of a submission is which."""
    return (str(task.submission.id), *task.submission.id_with)


def make_key(values: Sequence[Any]) -> tuple[str, ...]:
    """Return ids as they are compared: without spaces around them, and integers without a fraction."""
    return tuple(str(value).strip().removesuffix(".0") for value in values)


def _hash_basis(prepared: Prepared) -> str:
    """Return a hash of everything that a split follows from."""
    own = prepared.task.folder / "selection.py"
    listed = {name: file.sha256 for name, file in prepared.manifest.public.items()}
    rules = prepared.task.selection.model_dump(mode="json", exclude={"unseen"})
    facts = [VERSION, SEED, rules, listed, prepared.manifest.token]
    code = own.read_text("utf-8") if own.is_file() else ""
    return hashlib.sha256((json.dumps(facts, sort_keys=True) + code).encode()).hexdigest()
