"""How fast preparation is, as ratios measured in one run: `python benchmarks/prepare.py [--rows 2000000]`.

Each competition is prepared whole (split, copied or written, laid out, listed with hashes, made durable), and compared
with the least that the machine must do: copying every image once, and reading and writing the table once with pandas.
Goals: at most 1.5 times that, for images and for tables.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from assay.data import prepare
from assay.home import Home
from assay.progress import Silent
from assay.tasks import Registry, Task

GOAL = 1.5
SUITE = 'format = "suite/1"\nname = "bench"\ntitle = "For measuring."\neditions = ["v1"]\ntasks = ["images", "table"]\n'
TASK = """
format = "task/1"
title = "Large"
summary = "For measuring."
kind = "tabular-classification"

[source]
about = "made up"
licence = "none needed"

[submission]
form = "csv"
file = "submission.csv"
id = "id"

[submission.columns.target]
type = "number"

[metric]
name = "roc_auc"
direction = "higher"

[budget]
time = "1m"
"""
IMAGES = """
import os
from pathlib import Path
from assay.data import files, frames
from assay.data.splits import random_rows

def prepare(raw, public, private, edition):
    raw = Path(os.environ["BENCH_RAW"]) / "images"
    table = frames.read(raw / "train.csv")
    train, test = frames.split(table, random_rows(len(table), test=0.1, seed=0))
    frames.write_csv_split(train, test, public=public, private=private, id="id", sample={"target": 0.5})
    for side, rows in (("train", train), ("test", test)):
        files.copy((raw / "train" / f"{name}.jpg", public / side / f"{name}.jpg") for name in rows["id"])
"""
TABLE = """
import os
from pathlib import Path
from assay.data import frames
from assay.data.splits import random_rows

def prepare(raw, public, private, edition):
    table = frames.read(Path(os.environ["BENCH_RAW"]) / "table.csv")
    train, test = frames.split(table, random_rows(len(table), test=0.1, seed=0))
    frames.write_csv_split(train, test, public=public, private=private, id="id", sample={"target": 0.5})
"""


def main() -> None:
    """Make both competitions, prepare each a few times, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        raw, home, tasks = root / "raw", Home(root / "home"), suite(root / "suite")
        os.environ["BENCH_RAW"] = str(raw)
        make_images(raw / "images", asked.images)
        make_table(raw / "table.csv", asked.rows)
        copying = least(asked.times, lambda: copy_once(raw / "images" / "train", root / "copy"))
        report(f"{asked.images:,} images", prepared(home, tasks["images"], asked.times), copying, "copying them once")
        passing = least(asked.times, lambda: pd.read_csv(raw / "table.csv").to_csv(root / "copy.csv", index=False))
        report(f"{asked.rows:,} rows", prepared(home, tasks["table"], asked.times), passing, "reading and writing once")


def prepared(home: Home, task: Task, times: int) -> float:
    """The time of preparing anew."""
    return least(times, lambda: prepare(home, task, progress=Silent(), again=True))


def least(times: int, work: Callable[[], object]) -> float:
    """The median of several, each begun when everything before it is on the disk."""
    taken = []
    for _ in range(times):
        os.sync()
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def copy_once(source: Path, target: Path) -> None:
    """Copy a folder of files, and wait for the disk as preparation does."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for entry in os.scandir(source):
        shutil.copyfile(entry.path, target / entry.name)
    os.sync()


def report(what: str, taken: float, least_possible: float, meaning: str) -> None:
    """Print one ratio and whether it meets the goal."""
    ratio = taken / least_possible
    verdict = "met" if ratio <= GOAL else "MISSED"
    print(f"{what}: {taken:.2f} s, {ratio:.2f} x {meaning} ({least_possible:.2f} s); goal {GOAL}: {verdict}")


def suite(folder: Path) -> dict[str, Task]:
    """A suite of the two competitions."""
    for name, code in (("images", IMAGES), ("table", TABLE)):
        (folder / name).mkdir(parents=True)
        (folder / name / "task.toml").write_text(TASK)
        (folder / name / "description.md").write_text("For measuring.\n")
        (folder / name / "prepare.py").write_text(code)
    (folder / "suite.toml").write_text(SUITE)
    return {task.name: task for task in Registry([folder]).select("bench")}


def make_images(folder: Path, count: int) -> None:
    """Files of the size of small photographs, and their labels."""
    random = np.random.default_rng(0)
    (folder / "train").mkdir(parents=True)
    names = [f"{random.bytes(8).hex()}" for _ in range(count)]
    for name, size in zip(names, random.integers(10_000, 30_000, count), strict=True):
        (folder / "train" / f"{name}.jpg").write_bytes(random.bytes(int(size)))
    pd.DataFrame({"id": names, "target": random.integers(0, 2, count)}).to_csv(folder / "train.csv", index=False)


def make_table(path: Path, rows: int) -> None:
    """A table with whole numbers, fractions and words."""
    random = np.random.default_rng(0)
    columns: dict[str, object] = {"id": np.arange(rows)}
    columns |= {f"number_{place}": random.normal(size=rows).round(6) for place in range(5)}
    columns |= {f"count_{place}": random.integers(0, 1000, rows) for place in range(5)}
    columns["word"] = random.choice(["red", "green", "blue"], rows)
    columns["target"] = random.integers(0, 2, rows)
    pd.DataFrame(columns).to_csv(path, index=False)


if __name__ == "__main__":
    main()
