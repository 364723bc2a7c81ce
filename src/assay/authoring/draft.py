"""What a task on a user's data will be: kind, metric, columns and split, checked before anything is written."""

import re
import secrets
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.authoring.own_data import OwnData, find_column, name_all
from assay.core.errors import UsageError
from assay.core.text import plural, quote_some
from assay.data.own_tables import parse_times, split_rows
from assay.data.splits import Split
from assay.formats.texts import MISSING_WORDS
from assay.grading.metrics import METRICS, MetricFunction, evaluate

Form = Literal["number", "label", "probability", "probabilities"]
"""What is predicted: a number, a class, the probability of the class 1, or that of every class."""

MIN_ROWS = 50
MAX_CLASSES = 200
_CLASSES_OF_NUMBERS = 20
"""An integer column with more distinct values than this is a quantity."""
_WORDS = 3.0
_ID = re.compile(r"(?i:(.*[_ ])?(id|index|key|uuid|guid|rownum|row)|unnamed.*)|.*[a-z](Id|ID)")
_TRIES = 50
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Wishes:
    """What the user says about a task; what is None is found out."""

    target: str | None = None
    metric: str | None = None
    group: str | None = None
    time: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    test: float = 0.3
    seed: int | None = None
    title: str | None = None
    license: str = "private"
    published: date | None = None
    closed: date | None = None


@dataclass(frozen=True)
class Draft:
    """A task that can be written: every choice is made, and the split exists."""

    name: str
    title: str
    kind: str
    form: Form
    target: str
    metric: str
    function: MetricFunction
    classes: tuple[str, ...]
    integers: bool
    positive: str | None
    """The class that 1 stands for, where a probability is predicted."""
    id: str
    group: str | None
    time: str | None
    drop: dict[str, str]
    missing: tuple[str, ...]
    """Words that stand for a missing target."""
    seed: int
    test: float
    table: pl.DataFrame
    """The rows that are used, with ids and excluded columns removed."""
    rows: int
    split: Split
    guessed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_classification(self) -> bool:
        """Whether classes are predicted."""
        return self.form != "number"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a submission besides its id."""
        return self.classes if self.form == "probabilities" else (self.target,)


def draft_task(name: str, data: OwnData, wishes: Wishes) -> Draft:
    """Decide what the task is; raise `UsageError` if it cannot be one, with what to change."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a task; use a-z, 0-9, - and _, e.g. house-prices")
    if not 0.05 <= wishes.test <= 0.8:
        raise UsageError(f"--test: the share of test rows must be between 0.05 and 0.8, not {wishes.test:g}")
    table, notes = data.table, list[str]()
    target = _choose_target(data, wishes)
    for option in ("group", "time", "id"):
        if (column := getattr(wishes, option)) is not None and find_column(table, column, f"--{option}") == target:
            raise UsageError(f"--{option}: {column} is the target")
    if wishes.group and wishes.time:
        raise UsageError("--group and --time cannot be combined; choose what the test rows are new in")
    drop = dict(data.drop) | {find_column(table, column, "--drop"): "--drop" for column in wishes.drop}
    drop |= dict.fromkeys(_find_ids(table, data, wishes, target), "the old id")
    others = [column for column in table.columns if column not in (target, wishes.group, wishes.time, *drop)]
    numbering = [column for column in others if _numbers_rows(table[column])]
    drop |= dict.fromkeys(numbering if numbering != others else [], "it numbers the rows")
    if target in drop:
        raise UsageError(f"--drop: {target} is the target")
    drop |= {
        column: "constant" for column in table.columns if column not in (target, *drop) and table[column].n_unique() < 2
    }
    missing = _find_missing_words(table[target])
    rows = table.drop(list(drop)).with_columns(pl.col(target).replace(missing, None))
    kept = rows.drop_nulls([target, *([wishes.time] if wishes.time else [])])
    if kept.height < rows.height:
        notes.append(f"{plural(rows.height - kept.height, 'row')} without a target or time excluded")
    if kept.height < MIN_ROWS:
        raise UsageError(f"{plural(kept.height, 'row')} with a target are too few; a task needs at least {MIN_ROWS}")
    features = [column for column in kept.columns if column not in (target, wishes.group)]
    if not features:
        raise UsageError("no column is left to predict from")
    if wishes.time and parse_times(kept[wishes.time]).null_count():
        raise UsageError(f"--time: {wishes.time} holds values that are neither numbers nor dates such as 2026-10-31")
    metric, function, form = _choose_metric(kept[target], wishes.metric or data.metric, target)
    classes = tuple(sorted(kept[target].unique())) if form != "number" else ()
    _check_classes(kept[target], classes, form)
    positive = classes[1] if form == "probability" else None
    kept, integers = _clean_target(kept, target, classes, form, notes)
    if form == "label":
        classes = tuple(sorted(kept[target].unique(), key=int if integers else None))
    seed, split = _choose_split(kept, target, wishes, form)
    if wishes.time is None and wishes.group is None and len(split.train) + len(split.test) == kept.height:
        equal = 1 - kept.drop(target).n_unique() / kept.height
        if equal > 0.2:
            notes.append(
                f"{equal:.0%} of the rows equal another one in all columns, so equal rows may be on both sides"
            )
    guessed = [] if wishes.metric else ["metric"]
    guessed += ["target"] if data.target and not wishes.target else []
    return Draft(
        name=name,
        title=wishes.title or name.replace("-", " ").replace("_", " ").capitalize(),
        kind=f"{_find_kind(kept, data, features)}-{'regression' if form == 'number' else 'classification'}",
        form=form,
        target=target,
        metric=metric,
        function=function,
        classes=classes,
        integers=integers,
        positive=positive,
        id="image" if data.files else _choose_id(table.columns),
        group=wishes.group,
        time=wishes.time,
        drop=drop,
        missing=tuple(missing),
        seed=seed,
        test=wishes.test,
        table=kept,
        rows=kept.height,
        split=split,
        guessed=tuple(guessed),
        notes=tuple(notes),
    )


def _choose_target(data: OwnData, wishes: Wishes) -> str:
    if wishes.target:
        return find_column(data.table, wishes.target, "--target")
    if data.target or "label" in data.table.columns:
        return data.target or "label"
    raise UsageError(f"No target given; pass --target COLUMN, one of {', '.join(data.table.columns)[:300]}")


def _find_ids(table: pl.DataFrame, data: OwnData, wishes: Wishes, target: str) -> list[str]:
    """Return the columns that only identify a row: the one that is named, and others that look like it."""
    named = [column for column in (wishes.id, data.id) if column]
    kept = {target, wishes.group, wishes.time, data.files, *named}
    alike = [
        column for column in table.columns if column not in kept and _ID.fullmatch(column) and _is_unique(table[column])
    ]
    return [*dict.fromkeys(named), *alike]


def _numbers_rows(column: pl.Series) -> bool:
    """Return whether a column counts the rows as they are, which leaks the target of a table that is sorted by it."""
    numbers = column.cast(pl.Int64, strict=False)
    return not numbers.null_count() and bool((numbers.diff().drop_nulls() == 1).all())


def _find_missing_words(target: pl.Series) -> list[str]:
    """Return what stands for a missing number in a column in which everything else is a number, such as `NA`."""
    words = target.filter(target.cast(pl.Float64, strict=False).is_null()).drop_nulls().unique(maintain_order=True)
    numbers = len(words) < target.n_unique() - (target.null_count() > 0)
    return words.to_list() if numbers and set(words) <= MISSING_WORDS else []


def _is_unique(column: pl.Series) -> bool:
    """Return whether every value occurs once, and is no measurement, such as a price index with decimals."""
    numbers = column.cast(pl.Float64, strict=False).drop_nulls()
    return column.n_unique() == len(column) and bool((numbers == numbers.round()).all())


def _choose_metric(target: pl.Series, name: str | None, column: str) -> tuple[str, MetricFunction, Form]:
    """Return the metric and what is predicted, after scoring the answers themselves with it."""
    numbers = target.cast(pl.Float64, strict=False)
    is_number, distinct = not numbers.null_count(), target.n_unique()
    if distinct < 2:
        raise UsageError(f"--target: {column} has the same value in every row")
    whole = is_number and bool((numbers == numbers.round()).all())
    is_quantity = is_number and (not whole or distinct > _CLASSES_OF_NUMBERS)
    chosen = name or ("rmse" if is_quantity else "accuracy")
    function = METRICS.load(chosen)
    form = _form_of(function, distinct, chosen)
    if form == "number" and not is_number:
        words = list(dict.fromkeys(value for value, number in zip(target, numbers, strict=True) if number is None))
        raise UsageError(
            f"--metric: {chosen} is for numbers, and {column} has {quote_some(words)}; try accuracy or log_loss"
        )
    if form != "number" and ((is_number and not whole) or distinct > MAX_CLASSES):
        raise UsageError(
            f"--metric: {chosen} is for classes, and {column} has {distinct:,} distinct values; try rmse or mae"
            if is_number
            else f"--target: {column} has {distinct:,} distinct texts, which are too many to be classes"
        )
    try:
        truth = numbers.to_numpy() if is_number else target.to_numpy()
        score = evaluate(function, *_make_perfect(truth, form), {})
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"--metric: {chosen} cannot score the column {column}: {error}") from None
    if not np.isfinite(score):
        raise UsageError(f"--metric: {chosen} is not defined for {column}: the answers themselves score {score}")
    return chosen, function, form


def _make_perfect(truth: NDArray[Any], form: Form) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the truth and a perfect prediction as the metric receives them."""
    classes, codes = np.unique(truth, return_inverse=True)
    match form:
        case "number" | "label":
            return truth, truth
        case "probability":
            return codes, codes.astype(float)
        case "probabilities":
            return np.eye(len(classes), dtype=int)[codes], np.eye(len(classes))[codes]
        case _:
            assert_never(form)


def _form_of(function: MetricFunction, distinct: int, name: str) -> Form:
    match function.depends_on:
        case "values":
            return "number"
        case "labels" if name != "argmax_accuracy":
            return "label"
        case "order" if distinct == 2 and name != "mean_column_roc_auc":
            return "probability"
        case "probabilities":
            return "probability" if distinct == 2 else "probabilities"
        case "order":
            raise UsageError(
                f"--metric: {name} is for two classes, and the target has {distinct}; try log_loss or macro_f1"
            )
        case _:
            raise UsageError(
                f"--metric: {name} scores more than one number or class per row; write the task as "
                "docs/add-a-task.md describes, or choose rmse, mae, accuracy, macro_f1, roc_auc or log_loss"
            )


def _check_classes(target: pl.Series, classes: tuple[str, ...], form: Form) -> None:
    if form == "number":
        return
    if unreadable := [name for name in classes if name in MISSING_WORDS]:
        raise UsageError(f"--target: pandas reads the class {unreadable[0]!r} as missing; rename it")
    counts = dict(target.value_counts().iter_rows())
    if rare := [name for name in classes if counts[name] < 4]:
        raise UsageError(f"--target: the classes {quote_some(rare)} have fewer than 4 rows; merge or remove them")


def _clean_target(
    table: pl.DataFrame, target: str, classes: tuple[str, ...], form: Form, notes: list[str]
) -> tuple[pl.DataFrame, bool]:
    """Return the table with classes that are integers written as such, or as 0 and 1; and whether they are integers."""
    if form == "probability":
        if classes != ("0", "1"):
            notes.append(f"{target}: 1 stands for {classes[1]!r}, 0 for {classes[0]!r}")
        return table.with_columns((pl.col(target) == classes[1]).cast(pl.Int8).cast(pl.String)), True
    numbers = table[target].cast(pl.Float64, strict=False)
    if form != "label" or numbers.null_count():
        return table, False
    return table.with_columns(numbers.cast(pl.Int64).cast(pl.String).alias(target)), True


def _choose_split(table: pl.DataFrame, target: str, wishes: Wishes, form: Form) -> tuple[int, Split]:
    """Return a seed whose split has every class in training and at least two in test."""
    reason = "one side of the split would be empty"
    for _ in range(_TRIES):
        seed = secrets.randbits(31) if wishes.seed is None else wishes.seed
        split = split_rows(table, target, test=wishes.test, seed=seed, group=wishes.group, time=wishes.time)
        if min(len(split.train), len(split.test)) >= MIN_ROWS // 10:
            train, test = (set(table[target].gather(rows.tolist())) for rows in split)
            if form == "number" or (test <= train and len(test) > 1):
                return seed, split
            reason = "classes would be missing on one side of the split: " + quote_some(sorted(train ^ test))
        if wishes.seed is not None or wishes.time is not None:
            break
    by = f" by {wishes.group or wishes.time}" if wishes.group or wishes.time else ""
    raise UsageError(f"the rows cannot be split{by}: {reason}; choose other columns, or another --test share")


def _find_kind(table: pl.DataFrame, data: OwnData, features: list[str]) -> str:
    if data.files:
        return "image"
    texts = find_texts(table.select(features))
    return "text" if texts and len(features) - len(texts) <= 2 else "tabular"


def find_texts(table: pl.DataFrame) -> list[str]:
    """Return the columns whose cells have several words on average."""
    head = table.head(1000)
    words = {column: head[column].drop_nulls().str.count_matches(r"\S+").mean() for column in head.columns}
    return [column for column, mean in words.items() if isinstance(mean, float) and mean >= _WORDS]


def _choose_id(columns: list[str]) -> str:
    names = ("row_id", "row_number", "new_row_id")
    if free := next((name for name in names if name not in columns), None):
        return free
    raise UsageError(f"the table has columns {name_all(names)}; rename one, the task needs it for its own ids")


def check_folder(folder: Path) -> None:
    """Raise `UsageError` if a task is there already."""
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another name, or pass --replace")
