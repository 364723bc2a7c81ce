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
from figures import report
from toy import make_suite

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare

GOAL = 1.5
IMAGES = """
import os
from pathlib import Path
from assay.data import files
from assay.data import pandas_tables
from assay.data.splits import random_rows

def prepare(job):
    raw = Path(os.environ["BENCH_RAW"]) / "images"
    table = pandas_tables.read(raw / "train.csv")
    train, test = pandas_tables.split(table, random_rows(len(table), test=0.1, seed=0))
    pandas_tables.write_csv_split(train, test, public=job.public, private=job.private, id="id", sample={"target": 0.5})
    for side, rows in (("train", train), ("test", test)):
        files.copy((raw / "train" / f"{name}.jpg", job.public / side / f"{name}.jpg") for name in rows["id"])
"""
TABLE = """
import os
from pathlib import Path
from assay.data import pandas_tables
from assay.data.splits import random_rows

def prepare(job):
    table = pandas_tables.read(Path(os.environ["BENCH_RAW"]) / "table.csv")
    train, test = pandas_tables.split(table, random_rows(len(table), test=0.1, seed=0))
    pandas_tables.write_csv_split(train, test, public=job.public, private=job.private, id="id", sample={"target": 0.5})
"""


def main() -> None:
    """Make both competitions, prepare each a few times, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as folder:
        root = Path(folder)
        raw, home = root / "raw", Home(root / "home")
        tasks = make_suite(root / "suite", {"images": IMAGES, "table": TABLE})
        os.environ["BENCH_RAW"] = str(raw)
        make_images(raw / "images", asked.images)
        make_table(raw / "table.csv", asked.rows)
        taken, least = in_turn(
            asked.times,
            lambda: prepare(home, tasks["images"], progress=NoProgress(), again=True),
            lambda: copy_once(raw / "images" / "train", root / "copy"),
        )
        name, baseline = f"preparing {asked.images:,} images", f"copying them once ({least:.2f} s)"
        report(name, f"{taken:.2f} s", taken / least, baseline, GOAL)
        taken, least = in_turn(
            asked.times,
            lambda: prepare(home, tasks["table"], progress=NoProgress(), again=True),
            lambda: pd.read_csv(raw / "table.csv").to_csv(root / "copy.csv", index=False),
        )
        name, baseline = f"preparing {asked.rows:,} rows", f"reading and writing them once ({least:.2f} s)"
        report(name, f"{taken:.2f} s", taken / least, baseline, GOAL)


def in_turn(times: int, *jobs: Callable[[], object]) -> list[float]:
    """The median time of each job. They take turns, so that a disk that gets slower is slow for all of them.

    Each begins when everything before it is on the disk, and the first turn does not count.
    """
    taken: list[list[float]] = [[] for _ in jobs]
    for _ in range(times + 1):
        for job, seconds in zip(jobs, taken, strict=True):
            os.sync()
            start = time.perf_counter()
            job()
            seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds[1:]) for seconds in taken]


def copy_once(source: Path, target: Path) -> None:
    """Copy a folder of files, and wait for the disk as preparation does."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for entry in os.scandir(source):
        shutil.copyfile(entry.path, target / entry.name)
    os.sync()


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
