"""The driver of the competition tests: one subclass of `Competition` per competition, in a file of its own.

A subclass states the published benchmark's rules a second time, with pandas, NumPy and scikit-learn and nothing of
Assay's: which files the preparation writes, and how a submission is graded. The tests inherited from here run the
shipped task on its own miniature and compare. README.md shows how to add one.
"""

import csv
import io
import random
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache, partial, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal

import fastparquet
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from assay.audit.task_check import check_task, perfect_submission
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.data.job import PrepareJob, run_prepare, run_synthesize
from assay.data.store import PrepareOptions
from assay.grading import grade_submission
from assay.tasks import Registry, Task
from hidden_part import check_hidden_part

Files = dict[str, bytes]
"""Contents by path below `public/` and `private/`; an archive counts as a folder of its members."""

EDITIONS = ("v1", "fixed")

split = partial(train_test_split, random_state=0)
"""How nearly all published preparations split."""

CELLS = (
    "", "NA", "nan", "None", "x", "inf", "-inf", "-1", "-2", "1.0", "0.5", "2", "1e3", "1e400", "1e155", "1_0", "True",
    "false", "yes", " 1", "0x1", "1,5", "9223372036854775808", "99999999999999999999999", "3.7",
)  # fmt: skip
"""Values that a grader may read in more than one way, or refuse."""
OVERFLOWING = ("1e400", "99999999999999999999999")
"""Those that pandas 2.2 keeps as text, next to whatever else is in their column."""

NEWER_PANDAS = int(pd.__version__.partition(".")[0]) > 2
"""Whether pandas must be told to do what version 2.2 does, with which the benchmark was published."""


@dataclass(frozen=True)
class Miniatures:
    """The miniature of each competition, prepared once per test run and shared by all workers."""

    home: Home

    def prepared(self, name: str, edition: str = "v1", seed: int = 0) -> Prepared:
        """Return the competition's miniature; its raw data is in `folder / "raw"`."""
        return _prepare_miniature(self.home, name, edition, seed)


@cache
def _prepare_miniature(home: Home, name: str, edition: str, seed: int) -> Prepared:
    return prepare(
        home,
        find_task(name),
        edition,
        f"synthetic-{seed}",
        progress=NoProgress(),
        options=PrepareOptions(keep_raw=True),
    )


class Competition:
    """What a competition's test file must say, and the tests that follow from it."""

    name: ClassVar[str]
    """The competition's id."""
    id: ClassVar[str]
    """The submission's id column."""
    targets: ClassVar[Sequence[str]]
    """The columns that are graded."""
    predictions: ClassVar[Literal["probability", "distribution", "class", "number", "order"]] = "probability"
    """What a row predicts: a share per column, shares that add up to 1, values of the answers, numbers near them, or
    the words of its own answer in another order.
    """
    fixed_changes: ClassVar[Sequence[str]] = ()
    """Patterns of the prepared files that edition `fixed` changes, adds or removes."""
    perfect: ClassVar[float | None] = None
    """The score of the answers in edition `fixed`, if not 1 where higher is better and 0 where lower is."""
    max_rows: ClassVar[int] = 60
    """How many of the miniature's answers are graded against; more where a metric needs rare classes."""

    def __init_subclass__(cls) -> None:
        """Let both references infer the types of text as pandas 2.2 does."""
        for name in ("prepare_reference", "grade_reference"):
            if name in vars(cls):
                setattr(cls, name, with_object_strings(vars(cls)[name]))

    def prepare_reference(self, raw: Path) -> Files:
        """Return the files that the published preparation writes."""
        raise NotImplementedError

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        """Return the score that the published grader gives; whatever it raises makes the submission invalid."""
        raise NotImplementedError

    def perturbations(self, table: "Table", draw: random.Random) -> Iterator[tuple[str, str]]:
        """Yield submissions with what is unusual about them; extend it with what matters for one competition."""
        yield from perturb(table, draw)

    def test_v1_prepares_the_published_files(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name)
        files, expected = read_prepared(prepared), self.prepare_reference(prepared.folder / "raw")
        assert sorted(files) == sorted(expected)
        assert [path for path in expected if files[path] != expected[path]] == []

    def test_fixed_changes_only_what_it_repairs(self, miniatures: Miniatures) -> None:
        v1, fixed = (read_prepared(miniatures.prepared(self.name, edition)) for edition in EDITIONS)
        changed = {path for path in v1.keys() | fixed.keys() if v1.get(path) != fixed.get(path)}
        assert {path for path in changed if not any(fnmatch(path, pattern) for pattern in self.fixed_changes)} == set()
        unused = [pattern for pattern in self.fixed_changes if not any(fnmatch(path, pattern) for path in changed)]
        assert unused == []

    def test_v1_grades_as_the_published_grader(self, miniatures: Miniatures, tmp_path: Path) -> None:
        prepared, draw = miniatures.prepared(self.name), random.Random(self.name)
        task, home = prepared.task, Home(tmp_path)
        answers = self._some_answers(prepared.private / task.data.answers, draw)
        (tmp_path / "private").mkdir()
        (tmp_path / "private" / task.data.answers).write_text(answers)
        prepared = replace(prepared, private=tmp_path / "private")
        verdicts, disagreements = [], []
        for label, submission in self.perturbations(self._submission(prepared, answers, draw), draw):
            grade = grade_submission(submission.encode(), prepared, home=home)
            expected = self._reference_score(submission, answers)
            score = float(grade.not_finite) if grade.not_finite else grade.score
            # Scores have five decimals. Summed in another order, one that ends in a 5 may round to either side.
            published = None if expected is None else pytest.approx(expected, abs=5.00001e-6, rel=1e-9, nan_ok=True)
            if score != published:
                disagreements.append(f"{label}: published {expected}, ours {grade.why or score}")
            verdicts.append(grade.valid_submission)
        assert disagreements == []
        assert verdicts[0], "the unperturbed submission must be valid"
        assert not all(verdicts), "some perturbation must be refused"

    def test_a_seed_makes_one_miniature_and_another_seed_another(self, miniatures: Miniatures, tmp_path: Path) -> None:
        # Each edition's raw data is made from the same seed, independently.
        raw, again = (read_tree(miniatures.prepared(self.name, edition).folder / "raw") for edition in EDITIONS)
        assert again == raw
        folder = synthesize(self.name, tmp_path / "other", seed=1)
        other = read_tree(folder)
        assert other != raw
        prepare_raw(self.name, folder)
        assert read_tree(folder) == other, "preparing must not change the raw data"

    @pytest.mark.parametrize("edition", EDITIONS)
    def test_the_miniature_passes_every_check(self, miniatures: Miniatures, edition: str) -> None:
        findings = check_task(miniatures.prepared(self.name, edition), miniatures.home)
        assert [finding for finding in findings if finding.passed is False] == []

    @pytest.mark.parametrize("edition", EDITIONS)
    def test_hidden_rows_are_graded_like_test_rows(self, miniatures: Miniatures, edition: str) -> None:
        check_hidden_part(miniatures.prepared(self.name, edition), miniatures.home)

    def test_v1_grades_the_sample_and_the_answers_as_the_published_grader(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name)
        task, answers = prepared.task, (prepared.private / prepared.task.data.answers).read_bytes().decode()
        side, _, path = task.data.sample.partition("/")
        sample = ((prepared.public if side == "public" else prepared.private) / path).read_bytes()
        for submission in (sample, perfect_submission(prepared)):
            assert isinstance(submission, bytes)
            grade = grade_submission(submission, prepared, home=miniatures.home)
            expected = self._reference_score(submission.decode(), answers)
            score = float(grade.not_finite) if grade.not_finite else grade.score
            published = None if expected is None else pytest.approx(expected, abs=5.00001e-6, rel=1e-9, nan_ok=True)
            assert score == published, grade.why
        assert score is not None, "the answers must be valid"

    def test_the_answers_score_perfectly_in_fixed(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        submission = perfect_submission(prepared)
        assert isinstance(submission, bytes)
        best = 1.0 if prepared.task.metric.direction == "higher" else 0.0
        expected = best if self.perfect is None else self.perfect
        grade = grade_submission(submission, prepared, home=miniatures.home)
        assert grade.score == pytest.approx(expected, abs=1e-5), grade.why

    def scores_after(
        self, miniatures: Miniatures, change: Callable[[pd.DataFrame], pd.DataFrame]
    ) -> dict[str, float | None]:
        """Return the score of the answers after a change, by edition; None where they are refused."""
        scores = {}
        for edition in EDITIONS:
            prepared = miniatures.prepared(self.name, edition)
            perfect = perfect_submission(prepared)
            assert isinstance(perfect, bytes)
            submission = to_csv(change(pd.read_csv(io.BytesIO(perfect), keep_default_na=False)))
            scores[edition] = grade_submission(submission, prepared, home=miniatures.home).score
        return scores

    def check_clipping(self, miniatures: Miniatures) -> None:
        """Check that one certain mistake costs -ln(2.2e-16) in v1, and -ln(1e-15) in fixed, as on Kaggle."""
        scores = self.scores_after(miniatures, mistake_first_row)
        assert scores["v1"] and scores["fixed"]
        assert scores["v1"] / scores["fixed"] == pytest.approx(36.04365338911715 / 34.538776394910684, abs=1e-4)

    def _some_answers(self, path: Path, draw: random.Random) -> str:
        """The miniature's answers as CSV text, cut to `max_rows` rows in their order."""
        table = read_text_table(path.read_bytes())
        if len(table) <= self.max_rows:
            return path.read_text()
        return str(table.iloc[sorted(draw.sample(range(len(table)), self.max_rows))].to_csv(index=False))

    def _submission(self, prepared: Prepared, answers: str, draw: random.Random) -> "Table":
        """A plausible submission with the columns of the sample."""
        side, _, name = prepared.task.data.sample.partition("/")
        sample = read_text_table((prepared.folder / side / name).read_bytes())
        truth = read_text_table(answers.encode())
        rows = truth.reindex(columns=sample.columns, fill_value="").to_dict("records")
        known = {target: sorted(set(truth[target])) for target in self.targets}
        for row in rows:
            row |= self._predict(row, known, draw)
        return Table(self.id, tuple(self.targets), tuple(sample.columns), rows)

    def _predict(self, row: Mapping[str, str], known: Mapping[str, list[str]], draw: random.Random) -> dict[str, str]:
        if self.predictions == "order":
            words = {target: row[target].split() for target in known}
            return {target: " ".join(draw.sample(items, len(items))) for target, items in words.items()}
        if self.predictions == "class":
            return {target: draw.choice(values) for target, values in known.items()}
        if self.predictions == "number":
            return {target: repr(float(draw.choice(values)) + draw.random()) for target, values in known.items()}
        parts = [draw.random() + 0.01 for _ in known]
        if self.predictions == "distribution":
            return {target: repr(part / sum(parts)) for target, part in zip(known, parts, strict=True)}
        return {target: repr(round(draw.random(), 3)) for target in known}

    def _reference_score(self, submission: str, answers: str) -> float | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return float(self.grade_reference(read_as_published(submission), _read_answers(answers).copy()))
        except Exception:  # noqa: BLE001 - whatever a published grader raises makes a submission invalid
            return None


def with_object_strings(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function infer the types of text as pandas 2.2 does."""

    @wraps(reference)
    def run(*arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions announce that they will no longer do so
            with pd.option_context("future.infer_string", False):
                return reference(*arguments)

    return run


@dataclass(frozen=True)
class Table:
    """A submission as rows of text cells."""

    id: str
    targets: tuple[str, ...]
    header: tuple[str, ...]
    rows: list[dict[str, str]]

    def write(
        self, rows: Sequence[Mapping[str, str]] | None = None, header: Sequence[str] | None = None, *, end: str = "\n",
        quoting: Literal[0, 1] = csv.QUOTE_MINIMAL,
    ) -> str:  # fmt: skip
        """Return the table as CSV text, optionally with other rows or columns."""
        names = self.header if header is None else header
        content = io.StringIO(newline="")
        writer = csv.writer(content, lineterminator=end, quoting=quoting)
        writer.writerow(names)
        writer.writerows([row[name] for name in names] for row in (self.rows if rows is None else rows))
        return content.getvalue()

    def change(
        self, change: Callable[[dict[str, str]], Mapping[str, str]], numbers: Sequence[int] | None = None
    ) -> str:
        """Return the table with some cells replaced, in the rows `numbers` or in all."""
        chosen = range(len(self.rows)) if numbers is None else numbers
        return self.write([row | change(row) if number in chosen else row for number, row in enumerate(self.rows)])


def perturb(table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the submission as it is, then with everything that may be unusual about a table."""
    good = table.write()
    yield "unchanged", good
    yield from _perturb_order(table, draw)
    yield from _perturb_text(table, good)
    yield from _perturb_rows(table, draw)
    yield from _perturb_ids(table, draw)
    yield from _perturb_values(table, draw)


def perturb_guesses(table: Table, target: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Yield submissions with several guesses in a row, best first."""
    known = sorted({row[target] for row in table.rows})
    for separator in (" ", "  ", "\t", ","):
        guesses = [separator.join(draw.sample(known, min(len(known), 7))) for _ in table.rows]
        rows = [row | {target: text} for row, text in zip(table.rows, guesses, strict=True)]
        yield f"seven guesses separated by {separator!r}", table.write(rows)
    yield "a guess twice", table.change(lambda row: {target: f"{known[0]} {known[0]} {row[target]}"})
    yield "right at place 5", table.change(lambda row: {target: f"a b c d {row[target]}"})
    yield "right at place 6", table.change(lambda row: {target: f"a b c d e {row[target]}"})
    yield "a space before and after", table.change(lambda row: {target: f" {row[target]} "}, [0, 1, 2])


def _perturb_order(table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
    header, rows = table.header, table.rows
    yield "shuffled", table.write(draw.sample(rows, len(rows)))
    yield "sorted by id", table.write(sorted(rows, key=lambda row: row[table.id]))
    yield "columns reversed", table.write(header=header[::-1])
    yield (
        "id first, other columns reversed",
        table.write(header=[table.id, *(name for name in header[::-1] if name != table.id)]),
    )
    yield "id last", table.write(header=[*(name for name in header if name != table.id), table.id])
    yield "an extra column of text", table.write([row | {"note": "x"} for row in rows], [*header, "note"])
    yield "an extra column of zeros", table.write([row | {"note": "0"} for row in rows], [*header, "note"])
    yield "an index column", table.write([row | {"": str(number)} for number, row in enumerate(rows)], ["", *header])
    yield "a column twice", table.write(header=[*header, table.targets[0]])
    yield "no id column", table.write(header=[name for name in header if name != table.id])
    yield "no target column", table.write(header=[name for name in header if name != table.targets[-1]])


def _perturb_text(table: Table, good: str) -> Iterator[tuple[str, str]]:
    header = ",".join(table.header)
    yield "Windows line ends", table.write(end="\r\n")
    yield "Macintosh line ends", table.write(end="\r")
    yield "byte-order mark", "\ufeff" + good
    yield "no final line end", good.removesuffix("\n")
    yield "blank lines", good.replace("\n", "\n\n")
    yield "lines of spaces", good.replace("\n", "\n  \n")
    yield "semicolons", good.replace(",", ";")
    yield "tabs", good.replace(",", "\t")
    yield "a trailing comma in each line", good.replace("\n", ",\n")
    yield "a trailing comma in the last line", good.removesuffix("\n") + ","
    yield "upper-case names", good.replace(header, header.upper())
    yield "spaces in names", good.replace(header, header.replace(",", ", "))
    yield "spaces before values", good.replace(",", ", ")
    yield "everything quoted", table.write(quoting=csv.QUOTE_ALL)
    yield "an open quote", table.change(lambda _: {table.targets[0]: "@@"}, [3]).replace("@@", '"1')
    yield "no header", good.partition("\n")[2]
    yield (
        "an index without a name",
        "".join(
            f"{number - 1 if number else ''}{',' if number else ''}{line}\n"
            for number, line in enumerate(good.splitlines())
        ),
    )
    yield "an empty file", "\n"
    yield "0 and 1 for booleans", good.replace("True", "1").replace("False", "0")
    yield "lower-case booleans", good.replace("True", "true").replace("False", "false")


def _perturb_rows(table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
    rows = table.rows
    yield "one row missing", table.write(rows[1:])
    yield "one row twice", table.write([*rows, rows[0]])
    yield "every row twice", table.write([*rows, *rows])
    yield "half of the rows", table.write(rows[: len(rows) // 2])
    yield "no rows", table.write([])
    yield "one row replaces another", table.write([*rows[1:], draw.choice(rows[1:])])


def _perturb_ids(table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
    id, rows = table.id, table.rows
    for count in (1, 2, len(rows)):
        numbers = draw.sample(range(len(rows)), count)
        yield f"{count} ids equal", table.change(lambda _: {id: rows[0][id]}, numbers)
        yield f"{count} ids missing", table.change(lambda _: {id: ""}, numbers)
        yield f"{count} ids unknown", table.change(lambda _: {id: "zz"}, numbers)
    yield "a space before ids", table.change(lambda row: {id: f" {row[id]}"})
    yield "a space after ids", table.change(lambda row: {id: f"{row[id]} "})
    yield "zeros before ids", table.change(lambda row: {id: f"00{row[id]}"})
    yield "fractional ids", table.change(lambda row: {id: f"{row[id]}.0"})
    yield "one fractional id", table.change(lambda row: {id: f"{row[id]}.0"}, [0])


def _perturb_values(table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
    for cell in CELLS:
        target = draw.choice(table.targets)
        for count in (1, len(table.rows)):
            numbers = draw.sample(range(len(table.rows)), count)
            yield f"{count} × {cell!r} in {target}", table.change(lambda _: {target: cell}, numbers)  # noqa: B023
    for step in (1.05e-5, 1.2e-5, -1.05e-5, -1.2e-5, 0.1):
        yield f"values shifted by {step}", table.change(lambda row: {table.targets[0]: _shift(row, table, step)})  # noqa: B023
    for cell in ("0", "1", "0.5", "True", "normal", ""):
        yield f"{cell!r} in all cells", table.change(lambda _: dict.fromkeys(table.targets, cell))  # noqa: B023


def _shift(row: Mapping[str, str], table: Table, step: float) -> str:
    try:
        return repr(float(row[table.targets[0]]) + step)
    except ValueError:
        return row[table.targets[0]]


def mistake_first_row(table: pd.DataFrame) -> pd.DataFrame:
    """Return certain predictions with a mistake in the first row: another class, or the other one of two."""
    changed, values = table.copy(), table.iloc[0, 1:].to_numpy()
    changed.iloc[0, 1:] = np.roll(values, 1) if len(values) > 1 else 1 - values
    return changed


@cache
def find_task(name: str) -> Task:
    """Return the shipped task of a competition."""
    return Registry().task(f"mlebench/{name}")


def synthesize(name: str, raw: Path, seed: int = 0) -> Path:
    """Write the raw data of a miniature to a new folder."""
    raw.mkdir(parents=True)
    run_synthesize(find_task(name), seed, raw)
    return raw


def prepare_raw(name: str, raw: Path, edition: str = "v1") -> Files:
    """Return what the shipped preparation makes of raw data that a test wrote; empty folders end in `/`."""
    folder = raw.parent / f"{raw.name}-{edition}"
    for side in ("public", "private"):
        (folder / side).mkdir(parents=True)
    run_prepare(PrepareJob(find_task(name).in_edition(edition), raw, folder / "public", folder / "private", edition))
    return read_tree(folder)


def read_prepared(prepared: Prepared) -> Files:
    """Return the files of a prepared competition."""
    sides = {"public": prepared.public, "private": prepared.private}
    return {f"{side}/{path}": content for side, folder in sides.items() for path, content in read_tree(folder).items()}


def read_tree(folder: Path) -> Files:
    """Return all files below a folder by path, the members of archives among them."""
    files: Files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name.endswith((".zip", ".7z", ".tar.gz")):
            files |= {f"{name}/{member}": content for member, content in read_archive(path).items()}
        elif path.is_file():
            files[name] = read_parquet(path) or path.read_bytes()
        elif not any(path.iterdir()):
            files[f"{name}/"] = b""
    return files


def read_parquet(path: Path) -> bytes | None:
    """Return the types and values of a Parquet table, without its footer of library versions; None for other files."""
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            return None
    table = fastparquet.ParquetFile(str(path), pandas_nulls=False).to_pandas()
    return f"{[str(kind) for kind in table.dtypes]}\n{table.to_csv()}".encode()


def read_archive(path: Path) -> Files:
    """Return the files in a zip, 7z or tar archive by name."""
    if path.suffix == ".gz":
        with tarfile.open(path) as archive:
            return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    from py7zr import SevenZipFile

    with TemporaryDirectory() as folder, SevenZipFile(path) as archive:
        archive.extractall(folder)
        return read_tree(Path(folder))


def write_archive(path: Path, members: Mapping[str, bytes | str]) -> None:
    """Write a zip archive."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def write_file(path: Path, content: bytes = b"x") -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def copy_files(source: Path, target: str, names: Any) -> Files:
    """Return files of a folder under another path."""
    return {f"{target}/{name}": read_parquet(source / name) or (source / name).read_bytes() for name in names}


def copy_folders(source: Path, target: str, names: Any) -> Files:
    """Return the folders of a folder, with everything in them, under another path."""
    return {
        f"{target}/{name}/{path}": content
        for name in names
        for path, content in (read_tree(source / str(name)) or {"": b""}).items()
    }


def to_csv(table: pd.DataFrame, **options: Any) -> bytes:
    """Return a table as the published preparations write it."""
    return str(table.to_csv(index=False, **options)).encode()


def read_table(content: bytes, **options: Any) -> pd.DataFrame:
    """Parse CSV as pandas does by default."""
    return pd.read_csv(io.BytesIO(content), **options)


def read_exactly(source: Path | io.BytesIO) -> pd.DataFrame:
    """Read CSV as most published code does: with exact floats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pd.read_csv(source, float_precision="round_trip")


def read_inexactly(path: Path) -> pd.DataFrame:
    """Read CSV as published code does that leaves floats to pandas 2.2, which newer versions parse exactly."""
    table = pd.read_csv(path)
    texts = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in table.columns if NEWER_PANDAS else ():
        if table[name].dtype == np.float64:
            table[name] = [add_digits(text) if text else np.nan for text in texts[name]]
    return table


def add_digits(text: str) -> float:
    """Return the sum of at most 17 digits of a decimal without exponent, divided by the power of ten."""
    whole, _, decimals = text.lstrip("-").partition(".")
    total = np.float64(0)
    for digit in (whole + decimals)[:17]:
        total = total * 10 + np.float64(digit)
    number = float(total / np.float64(10.0) ** min(len(decimals), 17 - len(whole)))
    return -number if text.startswith("-") else number


@with_object_strings
def read_as_published(text: str) -> pd.DataFrame:
    """Parse CSV as the published graders do with pandas 2.2, which keeps numbers that are too large as text."""
    content = text.encode()
    table = read_exactly(io.BytesIO(content))
    if NEWER_PANDAS and any(cell in text for cell in OVERFLOWING):
        texts = pd.read_csv(io.BytesIO(content), dtype=str)
        for name in table.columns:
            cells = texts[name].dropna()
            # The first cell that is not an integer decides: of one that is too large pandas tries nothing else.
            decisive = next((cell for cell in cells if not is_integer(cell)), "")
            if "1e400" in set(cells) or decisive.strip() in OVERFLOWING:
                table[name] = texts[name]
    return table


def is_integer(text: str) -> bool:
    """Return whether a text is an integer of 64 bits."""
    try:
        return -(2**63) <= int(text.replace("_", "x")) < 2**63
    except ValueError:
        return False


_read_answers = cache(read_as_published)  # a hundred submissions are graded against the same text


def read_text_table(content: bytes) -> pd.DataFrame:
    """Parse CSV without interpreting any cell."""
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
