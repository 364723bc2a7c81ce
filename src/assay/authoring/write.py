"""The files of a new task: `task.toml`, `prepare.py`, the starter, the panel and the description."""

import json
import math
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, assert_never

import numpy as np
import polars as pl

from assay.authoring.draft import Draft, find_texts
from assay.authoring.own_data import OwnData
from assay.core.text import one_line, plural
from assay.data.own_tables import read_table
from assay.data.store import Prepared
from assay.formats.texts import MISSING_WORDS

_MAX_COLUMNS = 60
_MAX_CLASSES = 12
_FEATURES = {"tabular": "table", "text": "text", "image": "image"}


def write_task_file(draft: Draft, data: OwnData, local: Mapping[str, str], paths: Mapping[str, str], license: str,
                    dates: Mapping[str, Any], summary: str) -> str:  # fmt: skip
    """Return `task.toml`; `local` has the hash of each part of the raw data, `paths` where it is."""
    lines = [
        'format = "task/1"',
        f"title = {_quote(draft.title)}",
        f"summary = {_quote(summary)}",
        f"kind = {_quote(draft.kind)}",
    ]
    if draft.guessed:
        lines.append(f"guessed = {json.dumps(list(draft.guessed))}  # check these, then remove this line")
    lines += ["", "[source]", f"about = {_quote(data.about)}", f"license = {_quote(license)}"]
    for name, digest in local.items():
        lines += ["", "[[source.local]]", f"path = {_quote(paths[name])}", f"file = {_quote(name)}"]
        lines.append(f"sha256 = {_quote(digest)}")
    if known := {name: day for name, day in dates.items() if day}:
        lines += ["", "[dates]", *(f"{name} = {day.isoformat()}" for name, day in known.items())]
    lines += ["", "[data]", 'train = "train.csv"', 'test = "test.csv"', f"target = {_quote(draft.target)}"]
    lines += [f"id = {_quote(draft.id)}", *(['image = "image"'] if data.files else [])]
    lines += ["", "[submission]", 'form = "csv"', 'file = "submission.csv"', f"id = {_quote(draft.id)}"]
    lines += ['max_size = "100MB"']
    rule = _column_rule(draft)
    for column in draft.columns:
        lines += ["", f"[submission.columns.{_quote(column)}]", *rule]
    if draft.form == "probabilities":
        lines += ["", "[submission.row_sum]", "to = 1.0", "tolerance = 0.01"]
    lines += ["", "[metric]", f"name = {_quote(metric_name(draft))}", f"direction = {_quote(draft.function.direction)}"]
    lines += ["", "[budget]", 'time = "10m"', "", "[resources]", "cores = 1"]
    return "\n".join(lines) + "\n"


def metric_name(draft: Draft) -> str:
    """Return the name of the metric in `task.toml`: a metric of the user is copied into the task's folder."""
    return f"metric.py:{draft.metric.rpartition(':')[2]}" if ".py:" in draft.metric else draft.metric


def _column_rule(draft: Draft) -> list[str]:
    match draft.form:
        case "number":
            return ['type = "number"', *(["min = 0"] if draft.metric == "rmsle" else [])]
        case "label" if draft.integers:
            return ['type = "integer"', f"values = [{', '.join(draft.classes)}]"]
        case "label":
            return ['type = "category"', f"values = {json.dumps(list(draft.classes), ensure_ascii=False)}"]
        case "probability" | "probabilities":
            return ['type = "number"', "min = 0", "max = 1"]
        case _:
            assert_never(draft.form)


def write_prepare(draft: Draft, data: OwnData) -> str:
    """Return `prepare.py`."""
    target, id = _code(draft.target), _code(draft.id)
    blocks = {"read_table", "split_rows"}
    steps = [f'table = read_table(job.raw / "table{data.suffix}")']
    if draft.drop:
        steps[0] += f".drop({_code(list(draft.drop))})"
    if draft.missing:
        steps.append(f"table = table.with_columns(pl.col({target}).replace({_code(list(draft.missing))}, None))")
    steps.append(f"table = table.drop_nulls({_code([draft.target, *([draft.time] if draft.time else [])])})")
    if draft.positive is not None:
        steps.append(
            f"table = table.with_columns((pl.col({target}) == {_code(draft.positive)}).cast(pl.Int8).cast(pl.String))"
        )
    elif draft.integers:
        steps.append(f"table = table.with_columns(pl.col({target}).cast(pl.Float64).cast(pl.Int64).cast(pl.String))")
    by = "".join(f", {name}={_code(value)}" for name in ("group", "time") if (value := getattr(draft, name)))
    rows = "table"
    if data.files:
        blocks |= {"hash_contents", "rename_files"}
        rows = f'hash_contents(table, {_code(data.files)}, job.raw / "files")'
    steps.append(f"split = split_rows({rows}, {target}, test=TEST, seed=SEED{by})")
    if draft.group:
        group = f'table[{_code(draft.group)}].fill_null("")'
        steps.append(f"numbers = random_numbers({group}, seed=SEED)")
        steps.append(f"table = table.with_columns({group}.replace_strict(numbers))")
    steps.append("train, test = (take(table, rows) for rows in split)")
    if data.files:
        for side in ("train", "test"):
            steps.append(f'{side} = rename_files({side}, {_code(data.files)}, job.raw / "files", job.public, "{side}")')
    else:
        steps.append(f"train = with_id(train, {id}, range(1, train.height + 1))")
        steps.append(f"test = with_id(test, {id}, range(train.height + 1, train.height + test.height + 1))")
    if draft.form == "probabilities":
        blocks.add("one_hot")
        steps.append(f"test = one_hot(test, {target}, job.columns)")
    sample = _sample_values(draft)
    steps.append(f"write_split(train, test, id={id}, sample={sample}, public=job.public, private=job.private)")
    tables = ["random_numbers"] if draft.group else []
    tables += ["take", *(["with_id"] if not data.files else []), "write_split"]
    imports = ["import polars as pl", ""] if any("pl." in step for step in steps) else []
    return "\n".join(
        [
            f'"""Prepare {draft.name}: rows are split, shuffled and numbered anew."""',
            "",
            *imports,
            "from assay.data.job import PrepareJob",
            f"from assay.data.own_tables import {', '.join(sorted(blocks))}",
            f"from assay.data.polars_tables import {', '.join(tables)}",
            "",
            f"TEST = {draft.test:g}",
            f"SEED = {draft.seed}",
            "",
            "",
            "def prepare(job: PrepareJob) -> None:",
            f'    """{_split_sentence(draft, data)}"""',
            *(f"    {step}" for step in steps),
            "",
        ]
    )


def _split_sentence(draft: Draft, data: OwnData) -> str:
    # Names of columns are data: in a text that is executed, they occur only as literals.
    if draft.time:
        return "Take the latest rows for test."
    if draft.group:
        return "Keep the rows of each group on one side, under new numbers."
    return f"Split at random, with equal {'files' if data.files else 'rows'} on one side."


def _sample_values(draft: Draft) -> str:
    """Return the constants of the sample submission: the most common class, the median, or equal probabilities."""
    train = draft.table[draft.target].gather(draft.split.train.tolist())
    match draft.form:
        case "number":
            median = float(np.median(train.cast(pl.Float64).to_numpy()))
            return _code({draft.target: float(f"{median:.6g}")})
        case "label":
            common = train.value_counts(sort=True)[draft.target][0]
            return _code({draft.target: int(common) if draft.integers else common})
        case "probability":
            return _code({draft.target: 0.5})
        case "probabilities":
            return _code(dict.fromkeys(draft.classes, round(1 / len(draft.classes), 6)))
        case _:
            assert_never(draft.form)


def write_code(draft: Draft) -> dict[str, str]:
    """Return the starter and the panel, by path."""
    parts = {"features": _template(_FEATURES[draft.kind.partition("-")[0]])}
    parts["names"] = _names(draft)
    regression = draft.form == "number"
    parts["models"] = "regression" if regression else "classification"
    parts["predict"] = {
        "number": "model.predict(unseen)" + (".clip(min=0)" if draft.metric == "rmsle" else ""),
        "label": "model.predict(unseen)",
        "probability": "model.predict_proba(unseen)[:, 1]",
        "probabilities": "model.predict_proba(unseen)",
    }[draft.form]
    parts["labels"] = "train[TARGET]" + (".astype(str)" if draft.form == "probabilities" else "")
    parts["constant"] = "median" if draft.metric == "mae" else "mean"
    parts["tree"] = f"DecisionTree{'Regressor' if regression else 'Classifier'}"
    parts["panel"] = _template(parts["models"])
    return {
        "starter/train.py": _fill(_template("starter"), parts),
        "panel.py": _fill(_fill(_template("panel"), parts), parts),
    }


def _names(draft: Draft) -> str:
    kind = draft.kind.partition("-")[0]
    lines = [f"ID, TARGET = {_code(draft.id)}, {_code(draft.target)}", f"COLUMNS = {_code(list(draft.columns))}"]
    if kind == "text":
        features = [name for name in draft.table.columns if name not in (draft.target, draft.group)]
        lines += [f"TEXTS = {_code(find_texts(draft.table.select(features)))}", "WORDS = 5000"]
    return "\n".join([*lines, *(["SIZE = 16"] if kind == "image" else [])])


def _template(name: str) -> str:
    return files("assay.authoring").joinpath("templates", f"{name}.txt").read_text("utf-8")


def _fill(text: str, parts: Mapping[str, str]) -> str:
    filled = re.sub(r"\{(\w+)\}", lambda match: parts.get(match[1], match[0]).rstrip("\n"), text)
    needed = {"Any": "from typing import Any", "Path": "from pathlib import Path", "np": "import numpy as np",
              "Image": "from PIL import Image",
              "TfidfVectorizer": "from sklearn.feature_extraction.text import TfidfVectorizer"}  # fmt: skip
    absent = [line for word, line in needed.items() if not re.search(rf"\b{word}\b(?!$)", filled.replace(line, ""))]
    return "\n".join(line for line in filled.split("\n") if line not in absent)


def write_description(draft: Draft, prepared: Prepared, data: OwnData) -> str:
    """Return the description, with figures of the prepared data."""
    train, test = (read_table(prepared.public / f"{side}.csv") for side in ("train", "test"))
    item = "image" if data.files else "row"
    what = _prediction(draft)
    sample = (prepared.public / "sample_submission.csv").read_text("utf-8").splitlines()[:3]
    files_ = [
        f"| `train.csv` | {train.height:,} {item}s: `{draft.id}`, {_features(train, draft)}and `{draft.target}` |",
        f"| `test.csv` | {test.height:,} other {item}s: the same without `{draft.target}` |",
        "| `sample_submission.csv` | a valid submission that predicts the same everywhere |",
    ]
    if data.files:
        files_.insert(2, "| `train/`, `test/` | the images |")
    order = "Rows are in random order."
    if draft.time:
        order = f"The test rows are later than the training rows by `{draft.time}`. {order}"
    if draft.group:
        order = f"No `{draft.group}` is in both tables; its numbers carry no information. {order}"
    id = "File names carry no information." if data.files else f"`{draft.id}` only identifies a row."
    columns = _describe_columns(train, draft) if train.width > 2 else ""
    return f"""# {draft.title}

{what}

## Files

All files are under `data/`, which is read-only.

| file | content |
|---|---|
{chr(10).join(files_)}

{id} {order}

{columns}## Score

{_score(draft)}

## Submission

Write `submission.csv` to the top folder of the workspace, with one row for each row of `test.csv`, in any order:

```
{chr(10).join(sample)}
```

## Rules

- The starter script `train.py` fits a weak model and writes a submission. Change or replace it freely.
- Use only the files under `data/`.
- There is no network access. Programs run on one core.
"""


def _prediction(draft: Draft) -> str:
    source = {"tabular": "the other columns", "text": "the text", "image": "the image"}[draft.kind.partition("-")[0]]
    match draft.form:
        case "number":
            return f"Predict the number `{draft.target}` of each test row from {source}."
        case "label":
            return f"Predict the class `{draft.target}` of each test row from {source}."
        case "probability":
            return f"Predict the probability that `{draft.target}` is 1 for each test row, from {source}."
        case "probabilities":
            return f"Predict the probability of each class of `{draft.target}` for each test row, from {source}."
        case _:
            assert_never(draft.form)


def _features(train: pl.DataFrame, draft: Draft) -> str:
    count = train.width - 2
    return f"{plural(count, 'column')} to predict from, " if count > 0 else ""


def _describe_columns(train: pl.DataFrame, draft: Draft) -> str:
    """Return the section on columns: type, values and missing ones in the training table."""
    listed = [name for name in train.columns if name != draft.id][:_MAX_COLUMNS]
    rest = train.width - 1 - len(listed)
    rows = [f"| `{name}` | {_describe_column(train[name])} |" for name in listed]
    more = f"\n{plural(rest, 'further column')} are of the same types.\n" if rest else ""
    return (
        "\n".join(["## Columns", "", "| column | values in the training table |", "|---|---|", *rows]) + f"\n{more}\n"
    )


def _describe_column(column: pl.Series) -> str:
    known = column.filter(column.is_not_null() & ~column.is_in(MISSING_WORDS))
    missing = f", {1 - len(known) / len(column):.1%} missing" if len(known) < len(column) else ""
    numbers = known.cast(pl.Float64, strict=False)
    if len(known) and not numbers.null_count() and known.n_unique() > _MAX_CLASSES:
        low, median, high = np.quantile(numbers.to_numpy(), (0, 0.5, 1))
        return f"number from {low:g} to {high:g}, median {median:g}{missing}"
    if known.n_unique() <= _MAX_CLASSES:
        values = known.value_counts(sort=True)[column.name].to_list()
        return ", ".join(f"`{_cell(value)}`" for value in values) + missing
    if find_texts(known.to_frame()):
        words = known.str.count_matches(r"\S+").to_numpy()
        return f"text, {np.median(words):g} words (median){missing}"
    return f"{known.n_unique():,} distinct values, such as {', '.join(f'`{_cell(v)}`' for v in known.head(2))}{missing}"


def _cell(value: str) -> str:
    return one_line(value, 40).replace("|", "\\|").replace("`", "'")


def _score(draft: Draft) -> str:
    function = draft.function
    title = function.title[:1].upper() + function.title[1:]
    meaning = one_line((function.function.__doc__ or "").split("\n\n")[0]).partition(" NaN ")[0].rstrip(".:")
    text = f"{title}: {meaning[:1].lower()}{meaning[1:]}." if meaning else f"{title}."
    best = "" if math.isinf(function.best) else f" A perfect submission scores {function.best:g}."
    return f"{text} {function.direction.capitalize()} is better.{best}"


def _code(value: Any) -> str:
    """Return Python source of a value, with double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_code(key)}: {_code(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _quote(text: str) -> str:
    return json.dumps(one_line(text, 1000), ensure_ascii=False)
