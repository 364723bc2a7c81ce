"""`assay audit --quick` passes a sound task and names what is wrong with each kind of unsound one."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from assay.audit.file_leaks import find_leaks
from assay.audit.table_leaks import hash_cells, search_tables
from assay.audit.task_check import CheckResult, check_task
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.tasks import Registry

GRADABLE = "the sample submission is valid and wins no medal"
GOLD = "the answers win gold"
TABLES = "no public table holds the answers"
FILES = "file properties do not reveal labels"
PRIVATE = "no private file is public"

SUITE = 'format = "suite/1"\nname = "toys"\ntitle = "Toys."\neditions = ["v1"]\ntasks = ["toy"]\n'
TASK = """
format = "task/1"
title = "Toy"
summary = "A toy."
kind = "image-classification"

[source]
about = "made up"
license = "none needed"

[data]
train = "train.csv"
test = "test.csv"
id = "id"

[submission]
form = "csv"
file = "submission.csv"
id = "id"

[submission.columns.label]
type = "number"
min = 0
max = 1

[metric]
name = "roc_auc"
direction = "higher"

[budget]
time = "1m"

[leaderboard]
gold = 0.9
silver = 0.8
bronze = 0.7
median = 0.6
teams = 100
"""
SOUND = """
import random

def prepare(job):
    public, private, draw = job.public, job.private, random.Random(7)
    ids = sorted(draw.sample(range(1000, 10**6), 300))
    labels = {id: draw.randrange(2) for id in ids}
    (public / "test").mkdir()
    for id in ids:
        (public / "test" / f"{id}.bin").write_bytes(draw.randbytes(draw.randrange(50, 90)))
    write(public / "train.csv", [("id", "label"), *((id, id % 2) for id in range(100))])
    write(public / "test.csv", [("id",), *((id,) for id in ids)])
    write(public / "sample_submission.csv", [("id", "label"), *((id, 0.5) for id in ids)])
    write(private / "answers.csv", [("id", "label"), *labels.items()])
    spoil(public, private, ids, labels)

def write(path, rows):
    path.write_text("\\n".join(",".join(map(str, row)) for row in rows) + "\\n")

def spoil(public, private, ids, labels):
"""

Check = Callable[..., dict[str, CheckResult]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Prepare the toy task, with lines of Python that spoil it and with other rules, and check it."""

    def prepare_and_check(spoil: str = "pass", **rules: str) -> dict[str, CheckResult]:
        folder = tmp_path / "suite"
        (folder / "toy").mkdir(parents=True)
        (folder / "suite.toml").write_text(SUITE)
        task = TASK
        for old, new in rules.items():
            task = task.replace(RULES[old], new)
        (folder / "toy/task.toml").write_text(task)
        (folder / "toy/prepare.py").write_text(SOUND + "    " + spoil.replace("\n", "\n    ") + "\n")
        home = Home(tmp_path / "home")
        prepared = prepare(home, Registry([folder]).task("toys/toy"), progress=NoProgress())
        return {finding.check: finding for finding in check_task(prepared, home)}

    return prepare_and_check


RULES = {"id": 'file = "submission.csv"\nid = "id"\n', "column": '[submission.columns.label]\ntype = "number"\n'}
"""The parts of the toy task that tests replace."""


def test_a_sound_task_passes_every_check(check: Check) -> None:
    findings = check()
    assert {finding.passed for finding in findings.values()} == {True}, findings
    assert "300 files of test rows" in findings[FILES].detail
    assert findings[TABLES].detail == "test rows are named in 2 tables"


@pytest.mark.parametrize(
    ("spoil", "check_name", "detail"),
    [
        ("write(private / 'answers.csv', [('id', 'label'), *labels.items(), (ids[0], 1)])", "ids are unique", "1 ids"),
        ("write(public / 'train.csv', [('id', 'label'), (ids[3], 1)])", "train and test are disjoint", "1 ids are in"),
        ("(public / 'sample_submission.csv').write_text('id,label\\n')", GRADABLE, "no"),
        ("write(public / 'sample_submission.csv', [('id', 'label'), *labels.items()])", GRADABLE, "wins a medal"),
        ("write(private / 'answers.csv', [('id', 'label'), *((id, 1) for id in ids)])", GOLD, "roc_auc"),
        ("(public / 'notes.txt').write_bytes((private / 'answers.csv').read_bytes())", PRIVATE,
         "notes.txt is a copy of private/answers.csv"),
        ("for id in ids: (public / 'test' / f'{id}.bin').write_bytes(bytes(50 + labels[id]))", FILES,
         "size of a file is associated with label"),
        ("for id in ids:\n"
         "    folder = public / 'test' / ('a' if labels[id] else 'b')\n"
         "    folder.mkdir(exist_ok=True)\n"
         "    (public / 'test' / f'{id}.bin').rename(folder / f'{id}.bin')", FILES,
         "name, folder of a file is associated with label"),
        ("for id in ids: (public / 'test' / f'{id}.bin').rename(public / 'test' / f'{id}.{labels[id]}')", FILES,
         "suffix of a file is associated with label"),
        ("import zipfile\n"
         "with zipfile.ZipFile(public / 'test.zip', 'w') as archive:\n"
         "    for id in sorted(ids, key=labels.get): archive.writestr(f'{id}.bin', b'x')\n"
         "for id in ids: (public / 'test' / f'{id}.bin').unlink()", FILES,
         "position in the archive of a file is associated with label"),
    ],
)  # fmt: skip
def test_each_kind_of_unsound_task_is_named(check: Check, spoil: str, check_name: str, detail: str) -> None:
    finding = check(spoil)[check_name]
    assert finding.passed is False
    assert detail in finding.detail


LEAK = "write(public / 'extra.csv', [('who', 'seen'), *labels.items()])"


def test_answers_may_have_another_name_than_the_submitted_column(check: Check) -> None:
    column = '[submission.columns.guess]\nanswer = "truth"\ntype = "number"\n'
    renamed = """
write(public / 'sample_submission.csv', [('id', 'guess'), *((id, 0.5) for id in ids)])
write(private / 'answers.csv', [('id', 'truth'), *labels.items()])
"""
    findings = check(renamed + LEAK, column=column)
    assert [name for name, finding in findings.items() if finding.passed is not True] == [TABLES]
    assert findings[TABLES].detail == "extra.csv, column seen, equals guess of the answers"


COMPOSITE = """
rows = [(id, time, (labels[id] + time) % 2) for id in ids for time in range(3)]
write(public / 'sample_submission.csv', [('id', 'time', 'label'), *((id, time, 0.5) for id, time, _ in rows)])
write(private / 'answers.csv', [('id', 'time', 'label'), *rows])
"""


@pytest.mark.parametrize("leaks", [False, True])
def test_several_columns_may_name_a_row_together(check: Check, leaks: bool) -> None:
    leak = "write(public / 'extra.csv', [('time', 'seen', 'id'), *((time, label, id) for id, time, label in rows)])"
    findings = check(COMPOSITE + (leak if leaks else ""), id='file = "submission.csv"\nid = "id"\nid_with = ["time"]\n')
    failed = {name: finding.detail for name, finding in findings.items() if finding.passed is False}
    assert findings["ids are unique"].detail == "900 rows, 0 ids repeated"
    assert failed == ({TABLES: "extra.csv, column seen, equals label of the answers"} if leaks else {})


REPEATED = """
rows = [(id, (labels[id] + time) % 2) for time in range(2) for id in ids]
write(public / 'sample_submission.csv', [('id', 'label'), *((id, 0.5) for id, _ in rows)])
write(private / 'answers.csv', [('id', 'label'), *rows])
"""


@pytest.mark.parametrize("leaks", [False, True])
def test_ids_may_repeat_where_the_task_says_so(check: Check, leaks: bool) -> None:
    leak = "write(public / 'extra.csv', [('seen', 'id'), *((label, id) for id, label in rows)])"
    findings = check(
        REPEATED + (leak if leaks else ""), id='file = "submission.csv"\nid = "id"\nids = "nth_occurrence"\n'
    )
    failed = {name: finding.detail for name, finding in findings.items() if finding.passed is False}
    assert findings["ids are unique"].passed is None
    assert "600 rows, 300 ids repeated" in findings["ids are unique"].detail
    assert failed == ({TABLES: "extra.csv, column seen, equals label of the answers"} if leaks else {})


def write_csv(path: Path, table: pd.DataFrame) -> None:
    table.to_csv(path, index=False)


LEAKING_FILES: dict[str, Callable[[Path, pd.DataFrame], object]] = {
    "extra.csv": write_csv,
    "extra.tsv": lambda path, table: table.to_csv(path, index=False, sep="\t"),
    "extra.csv.zip": write_csv,
    "deep/er/extra.json": lambda path, table: table.to_json(path, orient="records"),
    "lines.json": lambda path, table: table.to_json(path, orient="records", lines=True),
    "extra.jsonl": lambda path, table: table.to_json(path, orient="records", lines=True),
    "coco.json": lambda path, table: path.write_text('{"info": 1, "images": ' + table.to_json(orient="records") + "}"),
    "extra.parquet": lambda path, table: pl.DataFrame(table.to_dict("list")).write_parquet(path),
}
IDS = [f"r{row}" for row in range(40)]
TRUTH = [row % 3 for row in range(40)]


@pytest.mark.parametrize("name", LEAKING_FILES)
def test_answers_are_found_in_every_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame({"noise": range(40), "seen": TRUTH, "who": IDS}).sample(frac=0.75, random_state=0)
    LEAKING_FILES[name](path, table)
    search = search_tables(
        tmp_path, pd.DataFrame({"id": IDS}), pd.DataFrame({"label": [f"{label}.0" for label in TRUTH]})
    )
    assert search.leak and (search.leak.column, search.leak.target) == ("seen", "label")
    assert search.leak.table.startswith(name)


def test_a_table_that_names_few_test_rows_or_differs_in_one_is_not_a_leak(tmp_path: Path) -> None:
    table = pd.DataFrame({"who": IDS, "seen": [*TRUTH[:-1], 7]})
    write_csv(tmp_path / "one-differs.csv", table)
    write_csv(tmp_path / "few.csv", table[:19])
    write_csv(tmp_path / "constant.csv", table.assign(seen=1))
    (tmp_path / "not-a-table.csv").write_bytes(b'a,b\n"1,2\n\xff\xfe')
    (tmp_path / "broken.json").write_text('{"a": [')
    search = search_tables(tmp_path, pd.DataFrame({"id": IDS}), pd.DataFrame({"label": map(str, TRUTH)}))
    assert search.leak is None
    assert (search.tables, search.cut) == (2, ())


def test_a_large_table_is_read_in_chunks_up_to_a_limit_that_is_reported(tmp_path: Path) -> None:
    """Test rows come at the end, 8,000 rows behind the first chunk."""
    others = pd.DataFrame({"who": [f"x{row}" for row in range(9000)], "seen": 0})
    write_csv(tmp_path / "big.csv", pd.concat([others, pd.DataFrame({"who": IDS, "seen": TRUTH})]))
    ids, labels = pd.DataFrame({"id": IDS}), pd.DataFrame({"label": map(str, TRUTH)})
    assert search_tables(tmp_path, ids, labels, chunk_cells=1000).leak is not None
    search = search_tables(tmp_path, ids, labels, chunk_cells=1000, max_rows=2500)
    assert search.leak is None
    assert search.cut == ("the first 2,500 rows of big.csv",)


def test_numbers_and_booleans_are_equal_however_they_are_written() -> None:
    hashes = hash_cells(np.array(["1", "1.0", " 1e0 ", "True", "true", "0.5", ".50", "a", "A", "-0", "False"], object))
    groups = pd.Series(range(len(hashes))).groupby(hashes).agg(list).tolist()
    assert sorted(groups) == [[0, 1, 2, 3, 4], [5, 6], [7, 8], [9, 10]]


def test_times_inodes_and_links_that_follow_labels_are_found(tmp_path: Path) -> None:
    """Preparing removes these, so they are made directly; labels follow the inodes."""
    paths = [tmp_path / f"{row}.jpg" for row in range(200)]
    for path in paths:
        path.write_bytes(b"x")
    inodes = np.array([path.stat().st_ino for path in paths])
    labels = (inodes > np.median(inodes)).astype(int)
    for path, label in zip(paths, labels, strict=True):
        os.utime(path, (label, label))
        if label:
            os.link(path, tmp_path / f"other-{path.stem}")
    files, leaks = find_leaks(tmp_path, {str(row): row for row in range(200)}, {"label": labels})
    assert files == 200
    assert {leak.property for leak in leaks} >= {"inode", "time", "number of links"}


@pytest.mark.parametrize(("suffix", "leaking"), [("tif", ["size"]), ("jpg", [])])
def test_a_number_that_follows_file_sizes_is_found_unless_they_follow_from_the_content(
    suffix: str, leaking: list[str], tmp_path: Path
) -> None:
    prices = np.random.default_rng(0).normal(size=100)
    for row, price in enumerate(prices):
        (tmp_path / f"{row}.{suffix}").write_bytes(bytes(1000 + int(100 * price)))
    _, leaks = find_leaks(tmp_path, {str(row): row for row in range(100)}, {"price": prices})
    assert [leak.property for leak in leaks] == leaking
