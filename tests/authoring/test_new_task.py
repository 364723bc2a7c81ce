"""`assay new task`: data becomes a task that is checked, audited and runs to a report, or it is refused."""

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from assay.api import new_task, tasks
from assay.authoring import Wishes, read_own_data
from assay.authoring.draft import draft_task
from assay.core.errors import UsageError
from assay.data.own_tables import split_rows
from assay.formats.png import write_png


@pytest.fixture(autouse=True)
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def make_visits(rows: int = 240) -> pd.DataFrame:
    """Visits of patients, of which the outcome follows from two measurements and noise."""
    random = np.random.default_rng(5)
    table = pd.DataFrame(random.normal(size=(rows, 3)).round(4), columns=["height", "weight", "age"])
    outcome = table["height"] + table["weight"] + random.normal(size=rows) * 0.8 > 0
    table["outcome"] = np.where(outcome, "yes", "no")
    table["patient"] = [f"p{row // 4}" for row in range(rows)]
    table["day"] = [f"2024-{1 + row // 28:02d}-{1 + row % 28:02d}" for row in range(rows)]
    table["visit_id"] = range(9000, 9000 + rows)
    table["price"] = (table["height"] * 3 + random.normal(size=rows)).round(3)
    return table


def write_images(folder: Path, count: int = 60) -> list[str]:
    """Images with a bright left or right half."""
    random, labels = np.random.default_rng(2), []
    for number in range(count):
        label, pixels = ("left", "right")[number % 2], random.integers(0, 120, (8, 8))
        pixels[:, :4] += 100 * (label == "left")
        pixels[:, 4:] += 100 * (label == "right")
        write_png(folder / label / f"{number}.png", pixels.astype(np.uint8))
        labels.append(label)
    return labels


def write_archive(path: Path) -> None:
    """A competition: labels for train, none for test, and a submission of probabilities, not called a sample."""
    table = make_visits()[["visit_id", "height", "weight", "age", "outcome", "price"]]
    sample = pd.DataFrame({"visit_id": table["visit_id"][200:], "outcome": 0.5})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("train.csv", table[:200].to_csv(index=False))
        archive.writestr("test.csv", table[200:].drop(columns=["outcome", "price"]).to_csv(index=False))
        archive.writestr("outcome_submission.csv", sample.to_csv(index=False))


def make_source(kind: str) -> list[str]:
    if kind == "table":
        make_visits().to_csv("visits.csv", index=False)
        words = ["--from", "visits.csv", "--target", "outcome", "--metric", "roc_auc", "--group", "patient"]
        return [*words, "--drop", "price", "--drop", "day", "--closed", "2026-10-01", "--panel-seeds", "1"]
    if kind == "images":
        write_images(Path("photos"))
        return ["--from", "photos", "--panel-seeds", "0"]
    write_archive(Path("visits.zip"))
    return ["--raw", "visits.zip", "--panel-seeds", "0"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "images", "archive"])
def test_data_becomes_a_task_that_runs_to_a_report(assay, kind: str, tmp_path: Path) -> None:
    done = assay("new", "task", "visits", *make_source(kind), "--seeds", "1", "--json")
    assert done.returncode == 0, done.stderr
    new, folder = json.loads(done.stdout), tmp_path / "config/assay/suites/own/visits"
    assert (new["task"], new["folder"], new["problems"]) == ("own/visits", str(folder), [])
    assert new["guessed"] == {"table": [], "images": ["metric"], "archive": ["metric", "target"]}[kind]
    assert (folder / "raw").stat().st_mode & 0o077 == 0
    assert assay("audit", "--quick", "visits").returncode == 0
    assert assay("audit", "own/visits").returncode == 0
    details = json.loads(assay("tasks", "visits", "--json").stdout)
    if kind == "table":
        assert len(details["measured"]["panel"]) == 6 and details["dates"]["closed"] == "2026-10-01"
    agents = ("--agent", "starter", "--agent", "automl,evaluations=3")
    run = assay("run", "visits", *agents, "--seeds", "1", "--out", "run", "--quiet")
    assert run.returncode == 0, run.stderr
    report = json.loads(assay("report", "run", "--json").stdout)
    assert "own/visits" in json.dumps(report)
    refused = assay("new", "task", "visits", *make_source(kind))
    assert refused.returncode == 2 and "exists already" in refused.stderr


@pytest.mark.parametrize("kind", ["parquet", "labels", "pandas", "polars"])
def test_other_sources_become_tasks(home, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    visits = make_visits()[["height", "weight", "age", "price", "day"]]
    frame = pl.DataFrame(visits.to_dict("list")).with_columns(pl.col("day").str.to_date())
    source: object = {"pandas": visits.drop(columns="day"), "polars": frame.drop("day")}.get(kind)
    settings = {"target": "price"}
    if kind == "parquet":
        frame.write_parquet("visits.parquet")
        source, settings = "visits.parquet", {"target": "price", "time": "day"}
    if kind == "labels":
        labels = write_images(Path("photos"))
        names = [f"{label}/{number}.png" for number, label in enumerate(labels)]
        pd.DataFrame({"photo": names, "side": labels}).to_csv("labels.csv", index=False)
        source, settings = "photos", {"target": "side", "labels": "labels.csv"}
    new = new_task("visits", source, **settings, seeds=1, panel_seeds=0, progress=False)
    assert new.problems == [] and new.prepared.task.id == "own/visits"
    train, test = (pl.read_csv(new.prepared.public / f"{side}.csv") for side in ("train", "test"))
    assert train.height + test.height == (60 if kind == "labels" else 240)
    assert kind != "parquet" or max(train["day"]) < min(test["day"])


def test_nothing_remains_of_a_task_that_cannot_be_measured(assay, home, tmp_path: Path) -> None:
    make_visits().to_csv("visits.csv", index=False)
    metric = Path(assay("new", "metric", "fragile").stdout.split()[1])
    body = "if (truth != prediction).any():\n        raise ValueError('not perfect')\n    return "
    metric.write_text(metric.read_text().replace("return ", body, 1))
    words = ["--target", "price", "--metric", f"{metric}:fragile", "--seeds", "1", "--panel-seeds", "0"]
    with pytest.raises(ValueError, match="not perfect"):
        assay("new", "task", "visits", "--from", "visits.csv", *words)
    assert not (tmp_path / "config/assay/suites/own/visits").exists()
    assert not (home.data / "own/visits").exists() and not list(home.public.iterdir())


@pytest.mark.parametrize("content", ["tasks = [", 'format = "suite/1"\nname = "clinic"'])
def test_a_malformed_suite_is_an_error_only_where_it_is_asked_for(assay, content: str, tmp_path: Path) -> None:
    path = tmp_path / "config/assay/suites/clinic/suite.toml"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    other = assay("tasks", "pocket")
    assert other.returncode == 0 and f"skipping a suite of your configuration: {path}" in other.stderr
    for command in (["tasks", "clinic"], ["tasks", "clinic/flu"], ["prepare", "clinic:small"]):
        asked = assay(*command)
        assert asked.returncode == 2 and f"error: {path}" in asked.stderr, command
    with pytest.warns(UserWarning, match="clinic"):
        assert tasks("pocket")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "prise"], "no column 'prise'; did you mean price?"),
        ([], "No target given; pass --target COLUMN"),
        (["--target", "price", "--metric", "rsme"], "did you mean rmse?"),
        (["--target", "outcome", "--metric", "rmse"], "rmse is for numbers"),
        (["--target", "price", "--metric", "accuracy"], "accuracy is for classes"),
        (["--target", "patient", "--metric", "roc_auc"], "roc_auc is for two classes, and the target has 60"),
        (["--target", "price", "--metric", "mean_dice"], "scores more than one number or class per row"),
        (["--target", "price", "--metric", "rmsle"], "rmsle is not defined for price"),
        (["--target", "price", "--group", "patients"], "did you mean patient?"),
        (["--target", "price", "--group", "price"], "price is the target"),
        (["--target", "price", "--time", "outcome"], "neither numbers nor dates"),
        (["--target", "price", "--time", "day", "--group", "patient"], "cannot be combined"),
        (["--target", "price", "--test", "0.99"], "between 0.05 and 0.8"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_written(assay, words, message, tmp_path: Path) -> None:
    make_visits().to_csv("visits.csv", index=False)
    refused = assay("new", "task", "visits", "--from", "visits.csv", *words)
    assert refused.returncode == 2 and message in refused.stderr, refused.stderr
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pd.DataFrame({"visitId": range(240, 0, -1)}), "the old id"),
        (pd.DataFrame({"record id": [f"r{row}" for row in range(240)]}), "the old id"),
        (pd.DataFrame({"case": range(1, 241)}), "it numbers the rows"),
        (pd.DataFrame({"uric acid": np.linspace(3, 9, 240)}), None),
        (pd.DataFrame({"consumer price index": np.linspace(3, 9, 240)}), None),
        (pd.DataFrame({"paid": range(480, 0, -2)}), None),
    ],
    ids=lambda column: column.columns[0] if isinstance(column, pd.DataFrame) else "",
)
def test_columns_that_only_name_rows_are_excluded_and_measurements_are_not(column, reason: str | None) -> None:
    table = pd.concat([make_visits()[["height", "weight", "price"]], column], axis=1)
    draft = draft_task("visits", read_own_data(table), Wishes(target="price"))
    assert draft.drop == ({column.columns[0]: reason} if reason else {})


def test_words_for_missing_numbers_and_quotes_in_names_are_read(home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    visits = make_visits()[["height", "weight", "price"]].rename(columns={"weight": 'w "kg", [x]'}).astype(object)
    visits.loc[:9, "price"], visits.loc[20:49, "height"] = "NA", "NA"
    visits.to_csv("visits.csv", index=False)
    new = new_task("visits", "visits.csv", target="price", seeds=1, panel_seeds=0, progress=False)
    assert new.problems == [] and new.draft.rows == 230
    description = (new.prepared.task.folder / "description.md").read_text()
    assert '| `w "kg", [x]` | number from' in description and "% missing" in description
    settings = {"target": "price", "drop": ["height"], "seeds": 1, "panel_seeds": 0, "progress": False}
    with pytest.raises(UsageError, match="exists already"):
        new_task("visits", "visits.csv", **settings)
    with pytest.raises(UsageError, match="part of the task"):
        new_task("visits", new.prepared.task.folder / "raw/table.csv", **settings, replace=True)
    new = new_task("visits", "visits.csv", **settings, replace=True)
    assert "height" not in (new.prepared.task.folder / "description.md").read_text()
    assert [task.id for task in tasks("own")] == ["own/visits"]


def test_folders_of_a_split_are_no_classes() -> None:
    for side in ("train", "test"):
        write_images(Path("photos") / side)
    assert draft_task("photos", read_own_data(Path("photos")), Wishes()).classes == ("left", "right")


def test_columns_that_are_not_separated_by_commas_are_refused(tmp_path: Path) -> None:
    make_visits().to_csv("visits.csv", index=False, sep=";")
    with pytest.raises(UsageError, match="separate columns by commas"):
        new_task("visits", "visits.csv", target="price")


def test_equal_rows_and_groups_stay_on_one_side_and_test_is_later() -> None:
    visits = pl.DataFrame(make_visits().drop(columns=["visit_id", "day"]).to_dict("list")).cast(pl.String)
    table = pl.concat([visits, visits[:20]])
    split = split_rows(table, "outcome", test=0.3, seed=1, group="patient")
    sides = [table[rows.tolist()] for rows in split]
    assert not set(sides[0]["patient"]) & set(sides[1]["patient"])
    assert sorted([*split.train.tolist(), *split.test.tolist()]) == list(range(260))
    split = split_rows(table.drop("patient"), "outcome", test=0.3, seed=1)
    sides = [set(table[rows.tolist()].select("height", "weight", "age", "price").rows()) for rows in split]
    assert not sides[0] & sides[1] and 60 <= len(split.test) <= 90
    days = table.with_columns(pl.Series("day", [f"2024-01-{1 + row // 10:02d}" for row in range(260)]))
    split = split_rows(days, "outcome", test=0.3, seed=1, time="day")
    assert max(days[split.train.tolist()]["day"]) < min(days[split.test.tolist()]["day"])


def test_suites_metrics_and_studies_are_created(assay, tmp_path: Path) -> None:
    assert assay("new", "suite", "clinic").returncode == 0
    assert assay("tasks", "clinic").returncode == 0
    assert "already" in assay("new", "suite", "pocket").stderr
    for noun in ("metric", "study"):
        assert assay("new", noun, f"my_{noun}").returncode == 0
        compile((tmp_path / f"my_{noun}.py").read_text(), "file", "exec")
    from assay.grading.metrics import METRICS

    assert METRICS.load("my_metric.py:my_metric")(np.array([1.0, 2, 9]), np.array([2.0, 2, 2])) == 1.0


@pytest.mark.parametrize("option", ["time", "group"])
def test_the_name_of_a_column_is_never_executed(option: str, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    column = f'c"""; open({str(planted)!r}, "w"); """'
    rows = pl.DataFrame({column: [n // 4 for n in range(200)], "x": [n * 7 % 31 for n in range(200)]})
    rows = rows.with_columns(y=pl.col("x") * 1.5 + pl.Series([n % 3 / 7 for n in range(200)]))
    rows.write_parquet("rows.parquet")
    new_task("planted", "rows.parquet", target="y", seeds=1, panel_seeds=0, **{option: column})
    assert not planted.exists()


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    os.mkfifo("rows.csv")
    with pytest.raises(UsageError, match="neither a folder nor a regular file"):
        new_task("piped", "rows.csv", target="y")


def test_a_frame_of_lists_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be a table"):
        new_task("rows", pl.DataFrame({"x": [[1]] * 60, "y": range(60)}), target="y")


@pytest.mark.parametrize("source", [{"x": [1], "y": [2]}, pl.LazyFrame({"x": [1], "y": [2]})], ids=["dict", "lazy"])
def test_what_is_neither_a_path_nor_a_data_frame_is_refused(source: object) -> None:
    with pytest.raises(UsageError, match="neither a path nor a data frame"):
        new_task("rows", source, target="y")
