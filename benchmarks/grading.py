"""Measure the speed of grading, as ratios within one run: `python benchmarks/grading.py [--rows 1000000 10000000]`.

Goals: reading and scoring a submission, in order or shuffled, takes at most 1.3 times as long as reading both CSV files
once with polars; its peak memory at 10 million rows, net of imports, is at most 2.5 times the file; with the noise of
its score it takes at most 1.1 times as long as without; `assay grade` takes at most 1.5 times as long for a small file
as the imports that it needs; a list of 75 small files of one task takes at most 2.5 times as long as a list of one, and
one of 75 competitions 2.5 times as long as the imports and two thirds as long as the published benchmark.

The published benchmark is stood in for by less than it does: importing pandas and scikit-learn, reading each submission
and its answers with pandas, and grading them with the reference grader of the competition's test. Its command line,
registry, configuration files, leaderboards and preparation modules, all of which it loads too, are not counted.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from figures import report
from toy import make_suite

from assay.core.home import Home
from assay.data import load_prepared
from assay.tasks import Registry

PREPARE = """
import os
import shutil
from pathlib import Path

def prepare(job):
    shutil.copyfile(os.environ["BENCH_ANSWERS"], job.private / "answers.csv")
    (job.public / "nothing.txt").write_text("")
"""
GRADE = """
import re, sys, time
from pathlib import Path
from assay.data.store import load_prepared
from assay.grading import grade_submission
from assay.core.home import Home
from assay.tasks import Registry
home = Home.default()
task = Registry([Path(sys.argv[1])]).task("bench/auc")
data = load_prepared(home, task)
import assay.grading.metrics.classification, assay.grading.submission.read
if sys.argv[2] != "-":
    grade_submission(Path(sys.argv[2]), data, home=home)
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = peak()
import assay.grading.grade as module
measure, noise = module.measure_noise, [0.0]
def measure_timed(*arguments):
    started = time.perf_counter()
    result = measure(*arguments)
    noise[0] += time.perf_counter() - started
    return result
module.measure_noise = measure_timed
started = time.perf_counter()
grade_submission(Path(sys.argv[3]), data, home=home)
print(time.perf_counter() - started, peak() - before, noise[0])
"""

REFERENCE = """
import json, sys, time, warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from competition import read_as_published
modules = [import_module(path.stem) for path in Path(sys.argv[1]).glob("test_*.py")]
kinds = [kind for module in modules for kind in vars(module).values() if hasattr(kind, "grade_reference")]
graders = {kind.name: kind() for kind in kinds if hasattr(kind, "name")}
entries = json.loads(Path(sys.argv[2]).read_text())
warnings.simplefilter("ignore")
started = time.perf_counter()
for name, submission, answers in entries:
    tables = [read_as_published(Path(path).read_text()) for path in (submission, answers)]
    with suppress(Exception):  # a sample that the competition refuses
        graders[name].grade_reference(*tables)
print(time.perf_counter() - started)
"""
NEEDED = "numpy, polars, pydantic, click"
COMPETITION_TESTS = Path(__file__).parents[1] / "tests" / "mlebench"


def main() -> None:
    """Print every figure and whether its goal is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        for rows in parser.parse_args().rows:
            measure_rows(folder / str(rows), rows)
        measure_start(folder / "start")
        measure_batch(folder / "batch")
        measure_competitions(folder / "competitions")


def measure_rows(folder: Path, rows: int) -> None:
    """Measure time and memory of one submission, in order and shuffled."""
    environment = prepare(folder, rows)
    answers, ordered, shuffled = (folder / f"{name}.csv" for name in ("answers", "ordered", "shuffled"))

    def read_both() -> None:
        pl.read_csv(answers)
        pl.read_csv(ordered)

    reading = fastest(read_both)
    for path, goal in ((ordered, 1.3), (shuffled, 1.3)):
        seconds, _, noise = min(grade(folder, path, path, environment) for _ in range(3))
        name = f"grading {rows:,} rows, {path.stem}"
        report(name, f"{seconds:.2f} s", seconds / reading, f"reading both files with polars ({reading:.2f} s)", goal)
        bare = seconds - noise
        report(f"{name}, with its noise", f"{noise:.3f} s", seconds / bare, f"without ({bare:.2f} s)", 1.1)
    _, memory, _ = grade(folder, "-", ordered, environment)
    goal = 2.5 if rows >= 10**7 else None  # below, the fixed overhead exceeds the file
    size = ordered.stat().st_size
    name = f"grading {rows:,} rows, peak memory"
    report(name, f"{memory / 1e6:.0f} MB", memory / size, f"file size ({size / 1e6:.0f} MB)", goal)


def measure_start(folder: Path) -> None:
    """Compare the command on a small file with importing its dependencies."""
    environment = prepare(folder, 100)
    command = [sys.executable, "-m", "assay", "--tasks", str(folder / "suite"), "grade"]
    graded = fastest(lambda: call([*command, str(folder / "ordered.csv"), "bench/auc"], environment), 9)
    bare = fastest(lambda: call([sys.executable, "-c", f"import {NEEDED}"], environment), 9)
    report("grading one small file", f"{graded:.2f} s", graded / bare, f"import {NEEDED} ({bare:.2f} s)", 1.5)


def measure_batch(folder: Path) -> None:
    """Compare a list of 75 submissions with a list of one."""
    environment = prepare(folder, 2_000)
    entry = json.dumps({"competition_id": "bench/auc", "submission_path": str(folder / "ordered.csv")})
    seconds = {}
    for count in (1, 75):
        listing = folder / f"{count}.jsonl"
        listing.write_text(f"{entry}\n" * count)
        command = [sys.executable, "-m", "assay", "--tasks", str(folder / "suite"), "grade", str(listing)]
        seconds[count] = fastest(lambda: call([*command, "--out", str(folder / "out"), "--quiet"], environment), 3)  # noqa: B023
    ratio = seconds[75] / seconds[1]
    report("grading a list of 75", f"{seconds[75]:.2f} s", ratio, f"a list of one ({seconds[1]:.2f} s)", 2.5)


def measure_competitions(folder: Path) -> None:
    """Compare a list of the sample submissions of 75 competitions with reading and grading them as published."""
    folder.mkdir()
    environment = os.environ | {"ASSAY_HOME": str(folder / "home")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    assay = [sys.executable, "-m", "assay"]
    call([*assay, "prepare", "mlebench", "--synthetic", "--quiet"], environment)
    entries = list_samples(Home(folder / "home"))[:75]
    (folder / "entries.json").write_text(json.dumps(entries))
    lines = [json.dumps({"competition_id": name, "submission_path": path}) for name, path, _ in entries]
    listing = folder / "list.jsonl"
    listing.write_text("\n".join(lines))
    command = [*assay, "grade", str(listing), "--variant", "synthetic", "--out", str(folder / "out"), "--quiet"]
    ours = fastest(lambda: call(command, environment), 5)
    imports = [sys.executable, "-c", "import pandas, sklearn.metrics, sklearn.model_selection"]
    published = fastest(lambda: call(imports, environment), 5)
    reference = [sys.executable, "-c", REFERENCE, str(COMPETITION_TESTS), str(folder / "entries.json")]
    outputs = [subprocess.run(reference, capture_output=True, text=True, check=True).stdout for _ in range(3)]
    published += min(map(float, outputs))
    name = f"grading a list of {len(entries)} competitions"
    bare = fastest(lambda: call([sys.executable, "-c", f"import {NEEDED}, pandas"], environment), 5)
    report(name, f"{ours:.2f} s", ours / bare, f"import {NEEDED}, pandas ({bare:.2f} s)", 2.5)
    report(name, f"{ours:.2f} s", ours / published, f"reading and grading them as published ({published:.2f} s)", 0.67)


def list_samples(home: Home) -> list[tuple[str, str, str]]:
    """Return each competition with its sample submission and its answers, if both are CSV files."""
    samples = []
    for task in Registry().select("mlebench"):
        prepared = load_prepared(home, task, variant="synthetic-0")
        side, _, name = task.data.sample.partition("/")
        sample = (prepared.public if side == "public" else prepared.private) / name
        answers = prepared.private / prepared.task.data.answers
        if sample.suffix == answers.suffix == ".csv":
            samples.append((task.name, str(sample), str(answers)))
    return samples


def prepare(folder: Path, rows: int) -> dict[str, str]:
    """Prepare one task of so many rows, and write answers and submissions for it."""
    folder.mkdir()
    random = np.random.default_rng(0)
    ids = [f"row-{number:09d}" for number in range(rows)]
    truth = random.integers(0, 2, rows)
    guess = np.clip(truth * 0.2 + random.random(rows) * 0.8, 0, 1).round(6)
    pl.DataFrame({"id": ids, "target": truth}).write_csv(folder / "answers.csv")
    table = pl.DataFrame({"id": ids, "target": guess})
    table.write_csv(folder / "ordered.csv")
    table.sample(fraction=1, shuffle=True, seed=1).write_csv(folder / "shuffled.csv")
    make_suite(folder / "suite", {"auc": PREPARE})
    environment = os.environ | {"ASSAY_HOME": str(folder / "home"), "BENCH_ANSWERS": str(folder / "answers.csv")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every start would compile the package again
    call(
        [sys.executable, "-m", "assay", "--trust", "--tasks", str(folder / "suite"), "prepare", "bench", "--quiet"],
        environment,
    )
    return environment


def grade(folder: Path, first: Path | str, path: Path, environment: dict[str, str]) -> tuple[float, float, float]:
    """Return the seconds of grading `path` in a process that graded `first` before, the additional peak memory, and the
    seconds that estimating the noise of the score took.

    With `-` for `first` nothing was graded before, only imported.
    """
    command = [sys.executable, "-c", GRADE, str(folder / "suite"), str(first), str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, memory, noise = map(float, done.stdout.split())
    return seconds, memory, noise


def call(command: list[str], environment: dict[str, str]) -> None:
    """Run a command without output; raise if it fails."""
    subprocess.run(command, env=environment, check=True, capture_output=True)


def fastest(work: Callable[[], None], times: int = 3) -> float:
    """Return the seconds of the fastest of a few runs, or the median of many: other load only adds."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds) if times < 5 else statistics.median(seconds)


if __name__ == "__main__":
    main()
