"""How fast preparation is and how much memory it takes, on large raw data for competitions of `mlebench`.

    python benchmarks/prepare.py                                   # a few minutes
    python benchmarks/prepare.py --full                            # 100,000 images, 10 million rows, files of 2 GB
    python benchmarks/prepare.py --only bson --gigabytes 0.5

Each competition is prepared whole (split, copied or written, laid out, listed with hashes, made durable) in a process
of its own, and compared with the least that the machine must do: reading and writing the bytes once, for a table with
pandas. Goals: at most twice that time, and at most 500 MB of memory where data is streamed.
"""

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from figures import report

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.core.quantities import format_size
from assay.data import prepare
from assay.data.job import run_synthesize
from assay.data.store import PrepareOptions
from assay.tasks import Registry

TIME_GOAL = 2.0
MEMORY_GOAL = 500 * 10**6
DOCUMENT_SIZE = 57_000
"""Bytes of a Wikipedia page in the questions: 17 GB of them are 307,000 lines."""


@dataclass(frozen=True)
class Case:
    """Large raw data for one competition: how it is made, and what the least work on it is."""

    task: str
    make: Callable[[Path, argparse.Namespace], str]
    least: Callable[[Path, Path], None]
    streamed: bool


def main() -> None:
    """Make each competition's raw data, prepare it a few times, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, action="append", help="measure only this; repeat for several")
    parser.add_argument("--full", action="store_true", help="100,000 images, 10 million rows, files of 2 GB")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--gigabytes", type=float, default=0.5, help="size of the JSON lines and BSON files")
    parser.add_argument("--times", type=int, default=2, help="how often to measure; the median counts")
    asked = parser.parse_args()
    if asked.full:
        asked.images, asked.rows, asked.gigabytes = 100_000, 10_000_000, 2.0
    available = Registry().suites["mlebench"][0].tasks
    for name in asked.only or CASES:
        if CASES[name].task in available:
            measure(CASES[name], asked)
        else:
            print(f"{name}: this version has no {CASES[name].task}", file=sys.stderr)


def measure(case: Case, asked: argparse.Namespace) -> None:
    """Prepare one competition and report time and memory."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as folder:
        root = Path(folder)
        raw = root / "raw"
        raw.mkdir()
        what = case.make(raw, asked)
        seconds: list[float] = []
        least: list[float] = []
        memory = 0
        for turn in range(asked.times + 1):  # the first turn fills caches and does not count
            taken, peak = run_in_process(case.task, raw, root / f"home-{turn}")
            shutil.rmtree(root / f"home-{turn}")
            seconds.append(taken)
            memory = max(memory, peak)
            least.append(time_of(lambda: case.least(raw, root / "copy")))
            shutil.rmtree(root / "copy")
    taken, once = statistics.median(seconds[1:]), statistics.median(least[1:])
    baseline = f"reading and writing {'it' if case.streamed else 'it with pandas'} once ({once:.2f} s)"
    report(f"preparing {what}", f"{taken:.2f} s", taken / once, baseline, TIME_GOAL)
    goal = 1.0 if case.streamed else None
    report(f"memory for {what}", format_size(memory), memory / MEMORY_GOAL, format_size(MEMORY_GOAL), goal)


def run_in_process(task: str, raw: Path, home: Path) -> tuple[float, int]:
    """Prepare in a new process; return the seconds it takes and its peak memory in bytes."""
    os.sync()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(prepare_once, (task, raw, home))


def prepare_once(name: str, raw: Path, home: Path) -> tuple[float, int]:
    """Prepare from raw data, in this process."""
    task = Registry().task(f"mlebench/{name}")
    start = time.perf_counter()
    prepare(Home(home), task, "v1", "unverified", progress=NoProgress(), options=PrepareOptions(user_copy=raw))
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def time_of(job: Callable[[], object]) -> float:
    """Return the seconds that a job takes when everything before it is on the disk."""
    os.sync()
    start = time.perf_counter()
    job()
    os.sync()
    return time.perf_counter() - start


def copy_files(raw: Path, target: Path) -> None:
    """Copy a folder of files."""
    target.mkdir()
    for path in raw.rglob("*"):
        if path.is_file():
            shutil.copyfile(path, target / path.name)


def copy_table(raw: Path, target: Path) -> None:
    """Read and write the table with pandas, in a process that ends with its memory."""
    target.mkdir()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(rewrite_table, (raw / "train.csv", target / "train.csv"))


def rewrite_table(source: Path, target: Path) -> None:
    """Read and write a table with pandas."""
    pd.read_csv(source).to_csv(target, index=False)


def make_images(raw: Path, asked: argparse.Namespace) -> str:
    """Write files of the size of small photographs, and their labels."""
    random = np.random.default_rng(0)
    (raw / "train").mkdir()
    names = [random.bytes(16).hex() for _ in range(asked.images)]
    for name, size in zip(names, random.integers(2_000, 12_000, asked.images), strict=True):
        (raw / "train" / f"{name}.jpg").write_bytes(random.bytes(int(size)))
    scores = random.integers(1, 101, asked.images)
    pd.DataFrame({"Id": names, "Eyes": scores % 2, "Pawpularity": scores}).to_csv(raw / "train.csv", index=False)
    return f"{asked.images:,} images"


def make_table(raw: Path, asked: argparse.Namespace) -> str:
    """Write taxi rides by repeating those of the miniature, each with a key of its own."""
    run_synthesize(Registry().task(f"mlebench/{TABLE}"), 0, raw)
    rides = pd.read_csv(raw / "train.csv", dtype=str)
    with (raw / "train.csv").open("w") as file:
        for start in range(0, asked.rows, len(rides)):
            part = rides.head(asked.rows - start)
            keys = part["key"].str.slice(0, 20) + pd.Series(range(start, start + len(part)), part.index).astype(str)
            part.assign(key=keys).to_csv(file, index=False, header=start == 0)
    return f"{asked.rows:,} rows"


def make_json_lines(raw: Path, asked: argparse.Namespace) -> str:
    """Write questions about long pages by repeating those of the miniature with new ids and longer pages."""
    run_synthesize(Registry().task(f"mlebench/{JSON_LINES}"), 0, raw)
    (path,) = raw.glob("*.jsonl")
    questions = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    filler = "<P> the quick brown fox jumps over a lazy dog </P> " * (DOCUMENT_SIZE // 51)
    count = int(asked.gigabytes * 10**9) // DOCUMENT_SIZE // 1000 * 1000
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            question = questions[number % len(questions)]
            page = f"{question['document_text']} {filler}"
            file.write(json.dumps(question | {"example_id": number + 1, "document_text": page}) + "\n")
    return f"{asked.gigabytes:g} GB of JSON lines"


def make_bson(raw: Path, asked: argparse.Namespace) -> str:
    """Write products with photographs of the size of the real ones."""
    run_synthesize(Registry().task(f"mlebench/{BSON}"), 0, raw)
    random = np.random.default_rng(0)
    photograph = random.bytes(8_000)
    with (raw / "train.bson").open("wb") as file:
        number = 0
        while file.tell() < asked.gigabytes * 10**9:
            size = int(random.integers(4_000, 8_000))
            picture = encode_document(b"\x05picture\0" + struct.pack("<i", size) + b"\0" + photograph[:size])
            images = b"\x04imgs\0" + encode_document(b"\x030\0" + picture)
            category = b"\x10category_id\0" + struct.pack("<i", 1000000000 + number % 5000)
            file.write(encode_document(b"\x10_id\0" + struct.pack("<i", number), images, category))
            number += 1
    return f"{asked.gigabytes:g} GB of BSON"


def encode_document(*elements: bytes) -> bytes:
    """Return a BSON document."""
    content = b"".join(elements)
    return struct.pack("<i", len(content) + 5) + content + b"\0"


IMAGES = "petfinder-pawpularity-score"
TABLE = "new-york-city-taxi-fare-prediction"
JSON_LINES = "tensorflow2-question-answering"
BSON = "cdiscount-image-classification-challenge"
CASES = {
    "images": Case(IMAGES, make_images, copy_files, streamed=True),
    "table": Case(TABLE, make_table, copy_table, streamed=False),
    "json-lines": Case(JSON_LINES, make_json_lines, copy_files, streamed=True),
    "bson": Case(BSON, make_bson, copy_files, streamed=True),
}

if __name__ == "__main__":
    main()
