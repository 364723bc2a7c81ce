"""`assay check` passes a sound task and names what is wrong with each kind of unsound one."""

import os
from pathlib import Path

import numpy as np
import pytest

from assay.audit.file_leaks import find_leaks
from assay.audit.task_check import Finding, check_task
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.tasks import Registry

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
import os, random
from pathlib import Path

def prepare(job):
    chance = random.Random(7)
    ids = sorted(chance.sample(range(1000, 10**6), 300))
    labels = {name: chance.randrange(2) for name in ids}
    table = lambda path, rows: path.write_text("\\n".join(",".join(map(str, row)) for row in rows) + "\\n")
    (job.public / "test").mkdir()
    for name in ids:
        (job.public / "test" / f"{name}.bin").write_bytes(chance.randbytes(chance.randrange(50, 90)))
    table(job.public / "train.csv", [("id", "label"), *((name, name % 2) for name in range(100))])
    table(job.public / "test.csv", [("id",), *((name,) for name in ids)])
    table(job.public / "sample_submission.csv", [("id", "label"), *((name, 0.5) for name in ids)])
    table(job.private / "answers.csv", [("id", "label"), *labels.items()])
    spoil(job.public, job.private, ids, labels, table)

def spoil(public, private, ids, labels, table):
"""


@pytest.fixture
def findings(tmp_path: Path):
    def examined(spoil: str = "pass") -> dict[str, Finding]:
        folder = tmp_path / "suite"
        (folder / "toy").mkdir(parents=True)
        (folder / "suite.toml").write_text(SUITE)
        (folder / "toy/task.toml").write_text(TASK)
        (folder / "toy/prepare.py").write_text(SOUND + "    " + spoil.replace("\n", "\n    ") + "\n")
        home = Home(tmp_path / "home")
        ready = prepare(home, Registry([folder]).task("toys/toy"), progress=NoProgress())
        return {finding.check: finding for finding in check_task(ready, home)}

    return examined


def test_a_sound_task_passes_every_check(findings) -> None:
    found = findings()
    assert {finding.passed for finding in found.values()} == {True}, found
    assert "300 files of test rows" in found["nothing around a file tells its label"].detail


@pytest.mark.parametrize(
    ("spoil", "check", "detail"),
    [
        ("table(private / 'answers.csv', [('id', 'label'), *labels.items(), (ids[0], 1)])", "ids are unique", "1 ids"),
        ("table(public / 'train.csv', [('id', 'label'), (ids[3], 1)])", "train and test are disjoint", "both sides"),
        ("(public / 'sample_submission.csv').write_text('id,label\\n')", "the sample is valid, without a medal", "no"),
        (
            "table(public / 'sample_submission.csv', [('id', 'label'), *labels.items()])",
            "the sample is valid, without a medal",
            "wins a medal",
        ),
        (
            "table(private / 'answers.csv', [('id', 'label'), *((name, 1) for name in ids)])",
            "the answers win gold",
            "roc_auc",
        ),
        (
            "table(public / 'extra.csv', [('who', 'truth'), *((name, label) for name, label in labels.items())])",
            "no public table holds the answers",
            "extra.csv, column truth",
        ),
        (
            "import json; (public / 'x.json').write_text("
            "json.dumps([{'id': str(name), 'seen': str(label)} for name, label in labels.items()]))",
            "no public table holds the answers",
            "x.json, column seen",
        ),
        (
            "(public / 'notes.txt').write_bytes((private / 'answers.csv').read_bytes())",
            "nothing private is in public",
            "notes.txt is a copy of private/answers.csv",
        ),
        (
            "for name in ids: (public / 'test' / f'{name}.bin').write_bytes(bytes(50 + labels[name]))",
            "nothing around a file tells its label",
            "size of a file go with label",
        ),
        (
            "for name in ids:\n"
            "    (public / 'test' / f'{name}.bin').unlink()\n"
            "    folder = public / 'test' / ('a' if labels[name] else 'b')\n"
            "    folder.mkdir(exist_ok=True)\n"
            "    (folder / f'{name}.bin').write_bytes(b'x')",
            "nothing around a file tells its label",
            "name, folder of a file go with label",
        ),
        (
            "for name in ids: (public / 'test' / f'{name}.bin').rename(public / 'test' / f'{name}.{labels[name]}')",
            "nothing around a file tells its label",
            "ending of a file go with label",
        ),
        (
            "import zipfile\n"
            "with zipfile.ZipFile(public / 'test.zip', 'w') as archive:\n"
            "    for name in sorted(ids, key=labels.get): archive.writestr(f'{name}.bin', b'x')\n"
            "for name in ids: (public / 'test' / f'{name}.bin').unlink()",
            "nothing around a file tells its label",
            "place in the archive of a file go with label",
        ),
    ],
)
def test_each_kind_of_unsound_task_is_named(findings, spoil: str, check: str, detail: str) -> None:
    found = findings(spoil)[check]
    assert found.passed is False
    assert detail in found.detail


def test_times_inodes_and_links_that_follow_labels_are_noticed(tmp_path: Path) -> None:
    """The store removes these, so they are made behind its back; labels are given by inode."""
    paths = [tmp_path / f"{row}.jpg" for row in range(200)]
    for path in paths:
        path.write_bytes(b"x")
    inodes = np.array([path.stat().st_ino for path in paths])
    labels = (inodes > np.median(inodes)).astype(int)
    for path, label in zip(paths, labels, strict=True):
        os.utime(path, (label, label))
        if label:
            os.link(path, tmp_path / f"other-{path.stem}")
    seen, leaks = find_leaks(tmp_path, {str(row): row for row in range(200)}, {"label": labels})
    assert seen == 200
    assert {leak.property for leak in leaks} >= {"inode", "time", "number of names"}


def test_a_number_that_follows_the_order_of_sizes_is_noticed(tmp_path: Path) -> None:
    prices = np.random.default_rng(0).normal(size=100)
    for row, price in enumerate(prices):
        (tmp_path / f"{row}.jpg").write_bytes(bytes(1000 + int(100 * price)))
    _, leaks = find_leaks(tmp_path, {str(row): row for row in range(100)}, {"price": prices})
    assert [leak.property for leak in leaks] == ["size"]
