"""How fast preparation is and how much memory it takes, on large raw data for competitions of `mlebench`.

    python benchmarks/prepare.py                                   # 1 GB of each kind
    python benchmarks/prepare.py --full                            # 10 GB of each kind; needs 50 GB of disk
    python benchmarks/prepare.py --only bson --gigabytes 0.2

Each competition is prepared whole by `assay prepare` (split, written, laid out, listed with hashes, made durable).
Next to it is the least that a machine must do: copying the files and hashing the copies. Tables, JSON lines and BSON
are also prepared as the published code does it; see `published.py`. The figures are seconds of CPU, user and system,
of whole processes.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from figures import report

from assay.core.quantities import format_size
from assay.data import pandas_tables
from assay.data.job import run_synthesize
from assay.tasks import Registry

FOLDER = Path(__file__).parent
COPY_GOAL = 3.0
MEMORY_GOAL = 15 * 10**8
DOCUMENT_SIZE = 57_000
"""Bytes of a Wikipedia page in the questions: 17 GB of them are 307,000 lines."""
IMAGE_SIZE = 7_000


@dataclass(frozen=True)
class Case:
    """Large raw data for one competition, and how many times less CPU than the published code it is to take."""

    task: str
    make: Callable[[Path, float], None]
    published_goal: float | None = None


@dataclass(frozen=True)
class Cost:
    """What a process took: seconds of CPU and of time, and bytes of memory."""

    cpu: float
    seconds: float
    memory: int

    def __str__(self) -> str:
        return f"{self.cpu:.1f} s of CPU, {self.seconds:.1f} s, {format_size(self.memory)}"


def main() -> None:
    """Make each competition's raw data, prepare it, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, action="append", help="measure only this; repeat for several")
    parser.add_argument("--full", action="store_true", help="10 GB of each kind")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the raw data")
    parser.add_argument("--without-published", action="store_true", help="do not measure the published code")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where to write the data")
    asked = parser.parse_args()
    size = 10.0 if asked.full else asked.gigabytes
    for name in asked.only or CASES:
        measure(name, size, asked.folder, with_published=not asked.without_published)


def measure(name: str, size: float, folder: Path, *, with_published: bool) -> None:
    """Prepare one competition, and report its cost next to copying and to the published code."""
    case = CASES[name]
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir=folder) as temporary:
        root = Path(temporary)
        (root / "raw").mkdir()
        case.make(root / "raw", size)
        folders = [str(root / "raw"), str(root / "target")]
        options = ["--edition", "v1", "--raw", folders[0], "--unverified", "--quiet"]
        ours = run_step(["-m", "assay", "prepare", f"mlebench/{case.task}", *options], root)
        copying = run_step([str(FOLDER / "copy_files.py"), *folders], root)
        published = None
        if case.published_goal and with_published:
            published = run_step([str(FOLDER / "published.py"), name, *folders], root)
    what = f"{size:g} GB, {name}"
    report(f"preparing {what}", str(ours), ours.cpu / copying.cpu, f"copying and hashing ({copying})", COPY_GOAL)
    report(f"memory for {what}", format_size(ours.memory), ours.memory / MEMORY_GOAL, format_size(MEMORY_GOAL), 1.0)
    if published and case.published_goal:
        goal = round(1 / case.published_goal, 3)
        report(f"preparing {what}", str(ours), ours.cpu / published.cpu, f"the published code ({published})", goal)


def run_step(arguments: list[str], root: Path) -> Cost:
    """Run a step in a new process, from raw data that is on the disk and in the page cache."""
    target = root / "target"
    target.mkdir()
    os.sync()
    start = time.perf_counter()
    environment = os.environ | {"ASSAY_HOME": str(target)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every start would compile the package again
    process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments[0]} failed")
    shutil.rmtree(target)
    return Cost(usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss * 1024)


def make_images(raw: Path, size: float) -> None:
    """Write files of the size of small photographs, and their labels."""
    (raw / "train").mkdir()
    random, names = np.random.default_rng(0), make_names(size)
    for name in names:
        (raw / "train" / f"{name}.jpg").write_bytes(random.bytes(IMAGE_SIZE))
    scores = random.integers(1, 101, len(names))
    pd.DataFrame({"Id": names, "Eyes": scores % 2, "Pawpularity": scores}).to_csv(raw / "train.csv", index=False)


def make_archive(raw: Path, size: float) -> None:
    """Write an archive of small photographs, and their labels."""
    random, names = np.random.default_rng(0), [f"{name}.jpg" for name in make_names(size)]
    with zipfile.ZipFile(raw / "train.zip", "w") as archive:
        for name in names:
            archive.writestr(f"train/{name}", random.bytes(IMAGE_SIZE))
    labels = random.integers(0, 2, len(names))
    pd.DataFrame({"id": names, "has_cactus": labels}).to_csv(raw / "train.csv", index=False)


def make_names(size: float) -> list[str]:
    """Return names for as many photographs as have this size together."""
    random = np.random.default_rng(1)
    return [random.bytes(16).hex() for _ in range(int(size * 10**9) // IMAGE_SIZE)]


def make_parquet(raw: Path, size: float) -> None:
    """Write batches of pulses of 40 MB each, and a table of 200,000 events for each batch."""
    run_synthesize(Registry().task(f"mlebench/{CASES['parquet'].task}"), 0, raw)
    shutil.rmtree(raw / "train")
    random, events = np.random.default_rng(0), []
    for batch in range(1, max(10, int(size * 10**9) // 40_000_000) + 1):
        numbers = np.arange(200_000) + batch * 10**6
        angles = {name: random.uniform(0, 3, len(numbers)) for name in ("azimuth", "zenith")}
        pulses = {"first_pulse_index": numbers, "last_pulse_index": numbers + 1}
        events.append(pd.DataFrame({"batch_id": batch, "event_id": numbers} | pulses | angles))
        charges = pd.DataFrame({"charge": random.random(3_000_000), "time": np.arange(3_000_000)})
        pandas_tables.write_parquet(charges, raw / f"train/batch_{batch}.parquet")
    pandas_tables.write_parquet(pd.concat(events, ignore_index=True), raw / "train_meta.parquet")


def make_table(raw: Path, size: float) -> None:
    """Write taxi rides by repeating those of the miniature, each with a key of its own.

    As in the real file, a seventh of the fares have no decimals, and a few coordinates are 0 or have many digits.
    """
    run_synthesize(Registry().task(f"mlebench/{CASES['table'].task}"), 0, raw)
    rides = pd.read_csv(raw / "train.csv", dtype=str)
    rides.loc[::7, "fare_amount"] = rides["fare_amount"][::7].str.partition(".")[0]
    rides.loc[::50, ["dropoff_longitude", "dropoff_latitude"]] = "0"
    rides.loc[1::100, "pickup_longitude"] = rides["pickup_longitude"][1::100].astype(float).add(1e-14).map(repr)
    rows = rides.drop(columns="key").to_csv(index=False, header=False).splitlines()
    dates = rides["key"].str.slice(0, 20).tolist()
    with (raw / "train.csv").open("w") as file:
        file.write(",".join(rides.columns) + "\n")
        number = 0
        while file.tell() < size * 10**9:
            pairs = zip(dates, rows, strict=True)
            file.writelines(f"{date}{key},{row}\n" for key, (date, row) in enumerate(pairs, number))
            number += len(rows)


def make_json_lines(raw: Path, size: float) -> None:
    """Write questions about long pages by repeating those of the miniature with new ids and longer pages."""
    run_synthesize(Registry().task(f"mlebench/{CASES['json-lines'].task}"), 0, raw)
    (path,) = raw.glob("*.jsonl")
    questions = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    filler = "<P> the quick brown fox jumps over a lazy dog </P> " * (DOCUMENT_SIZE // 51)
    count = int(size * 10**9) // DOCUMENT_SIZE // 1000 * 1000
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            question = questions[number % len(questions)]
            page = f"{question['document_text']} {filler}"
            file.write(json.dumps(question | {"example_id": number + 1, "document_text": page}) + "\n")


def make_bson(raw: Path, size: float) -> None:
    """Write products with photographs of the size of the real ones."""
    run_synthesize(Registry().task(f"mlebench/{CASES['bson'].task}"), 0, raw)
    random = np.random.default_rng(0)
    photograph = random.bytes(8_000)
    with (raw / "train.bson").open("wb") as file:
        number = 0
        while file.tell() < size * 10**9:
            length = int(random.integers(4_000, 8_000))
            picture = encode_document(b"\x05picture\0" + struct.pack("<i", length) + b"\0" + photograph[:length])
            images = b"\x04imgs\0" + encode_document(b"\x030\0" + picture)
            category = b"\x10category_id\0" + struct.pack("<i", 1000000000 + number % 5000)
            file.write(encode_document(b"\x10_id\0" + struct.pack("<i", number), images, category))
            number += 1


def encode_document(*elements: bytes) -> bytes:
    """Return a BSON document."""
    content = b"".join(elements)
    return struct.pack("<i", len(content) + 5) + content + b"\0"


CASES = {
    "table": Case("new-york-city-taxi-fare-prediction", make_table, 8),
    "json-lines": Case("tensorflow2-question-answering", make_json_lines, 4),
    "bson": Case("cdiscount-image-classification-challenge", make_bson, 4),
    "archive": Case("aerial-cactus-identification", make_archive),
    "parquet": Case("icecube-neutrinos-in-deep-ice", make_parquet),
    "images": Case("petfinder-pawpularity-score", make_images),
}

if __name__ == "__main__":
    main()
