"""How long pages and reports of large runs take: `python benchmarks/page.py [--trials 1000 10000]`.

The runs are generated: finished trials of six agents on the tasks of MLE-bench, with several seeds each. Measured are
the commands `status`, `report` and `compare`, and the viewer from the first request to the first paint of the run's
page in a browser, each as a ratio to reading the index of the run alone. The goals, for an idle machine, are in
seconds: first paint within 0.7 s for 1,000 trials and 1.8 s for 10,000, and 2 s for each command.

A board with one entry of 75 tasks × 3 seeds, each trial with 60 steps, is built as a site, as a ratio to reading the
logs of these trials alone; the goal is one minute.

The browser is Debian's chromium, driven by Playwright; without them the time until the page has been sent is measured.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

from figures import report

from assay.board.folder import BoardEntry, RunInfo
from assay.grading.result import Grade
from assay.lab.interface import Sealing
from assay.records import BudgetUsed, RunFolder, State, TrialFile, TrialFolder, read_events, read_trials
from assay.records.events import (
    CallFinished,
    CallStarted,
    CommandRequest,
    CommandResult,
    Content,
    Started,
    WriteRequest,
    WriteResult,
)
from assay.results.export import export_run
from assay.tasks import Budget, Registry
from assay.tasks.model import Resources

AGENTS = ("aide", "aide-wide", "research", "shell", "automl", "starter")
COMMAND_SECONDS = 2.0
PAINT_SECONDS = {1_000: 0.7, 10_000: 1.8}
BOARD_TASKS, BOARD_SEEDS, BOARD_STEPS, BOARD_SECONDS = 75, 3, 60, 60.0
COMMANDS = {
    "status": ("status",),
    "report": ("report",),
    "compare": ("compare", "--agent", "aide", "--agent", "research"),
}
SETTLING = 3.5
"""Seconds after which the index stores what was written."""


def main() -> None:
    """Print the figures of each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        os.environ["ASSAY_HOME"] = f"{name}/home"
        # Commands are measured as users have them: compiled once, whatever this shell says about bytecode.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{name}/bytecode"
        for trials in asked.trials:
            run = write_run(Path(name) / f"run-{trials}", trials)
            time.sleep(SETTLING)
            measure(run, trials, asked.repeat)
        measure_board(Path(name))


def measure_board(folder: Path) -> None:
    """Measure how long the site of a board takes."""
    run = write_run(folder / "entry", BOARD_TASKS * BOARD_SEEDS, agents=("aide",), tasks=BOARD_TASKS)
    first, *others = run.trials()
    write_log(first)
    for trial in others:  # every event is synced to the disk, so that writing all of them would take minutes
        shutil.copyfile(first.events, trial.events)
    bundle = folder / "bundle.zip"
    entry = BoardEntry(
        digest=export_run(run, bundle),
        added_at="2026-11-17T12:00:00+00:00",
        info=RunInfo(by="benchmark"),
        signed="no",
        trials=len(run.file.trials),
        regraded=len(run.file.trials),
        removed=0,
        logs=(),
    )
    entry_folder = folder / "board" / "entries" / entry.name
    entry_folder.mkdir(parents=True)
    bundle.rename(entry_folder / "bundle.zip")
    write(entry_folder / "entry.json", entry.model_dump(mode="json"))
    read = seconds_for(lambda: [read_events(trial.events) for trial in run.trials()], 1)
    command = [sys.executable, "-m", "assay", "board", "build", str(folder / "board"), "--out", str(folder / "site")]
    taken = seconds_for(lambda: subprocess.run(command, check=True, capture_output=True), 1)
    name = f"assay board build, {BOARD_TASKS} × {BOARD_SEEDS} trials"
    report(name, f"{taken:.1f} s", taken / read, "reading the logs", BOARD_SECONDS / read)


def write_log(trial: TrialFolder) -> None:
    """Write the log of a trial in which an agent writes and runs a script in each of its steps."""
    with trial.acquire() as lease, TrialFolder(trial.path, lease).log() as log:
        log.append(Started(trial=trial.path.name, trial_file_sha256="0" * 64, attempt=1))
        for step in range(1, BOARD_STEPS + 1):
            code = "".join(f"value_{line} = train(model, fold={line}, step={step})\n" for line in range(40)).encode()
            content = Content(sha256=hashlib.sha256(code).hexdigest(), size=len(code), text=code.decode())
            output = "".join(f"epoch {line}: loss {1 / (line + step):.5f}\n" for line in range(60))
            calls = (
                (WriteRequest(path="train.py", content=content), WriteResult()),
                (
                    CommandRequest(command=("python", "train.py"), seconds=60),
                    CommandResult(ended="exit", code=0, stdout=output, stderr="", seconds=10.0),
                ),
            )
            for request, result in calls:
                number = log.append(CallStarted(step=step, request=request, changes=True)).number
                log.append(CallFinished(call=number, result=result, used=BudgetUsed(steps=step)))


def measure(run: RunFolder, trials: int, repeat: int) -> None:
    """Measure the index, the commands and the page."""
    built = seconds_for(lambda: read_trials(run), 1)
    read = seconds_for(lambda: read_trials(run), repeat)
    print(f"{trials:,} trials: index built from the records in {built:.2f} s, read in {read:.2f} s", flush=True)
    for name, arguments in COMMANDS.items():
        command = [sys.executable, "-m", "assay", arguments[0], str(run.path), *arguments[1:]]
        taken = seconds_for(lambda command=command: subprocess.run(command, check=True, capture_output=True), repeat)
        show(f"assay {name}, {trials:,} trials", taken, read, COMMAND_SECONDS)
    goal = PAINT_SECONDS.get(trials)
    for name, taken in first_paint(run, repeat).items():
        show(f"{name}, {trials:,} trials", taken, read, goal)


def show(name: str, taken: float, read: float, goal: float | None) -> None:
    """Report a time as a ratio to that of reading the index; the goal is converted into such a ratio."""
    report(name, f"{taken:.2f} s", taken / read, "reading the index", None if goal is None else goal / read)


def seconds_for(work: Callable[[], object], repeat: int) -> float:
    """Return the shortest time that some work took."""
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def first_paint(run: RunFolder, repeat: int) -> dict[str, float]:
    """Return the seconds from the request of a new viewer's first page until it is sent, and until it is painted."""

    def send() -> float:
        with serving(run.path) as address:
            started = time.perf_counter()
            build_opener(HTTPCookieProcessor()).open(address, timeout=120).read()
            return time.perf_counter() - started

    seconds = {"page sent": min(send() for _ in range(repeat))}
    executable = shutil.which("chromium")
    if executable is None:
        return seconds
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        seconds["first paint"] = min(paint_once(run, browser) for _ in range(repeat))
        browser.close()
    return seconds


def paint_once(run: RunFolder, browser: object) -> float:
    """Return the seconds from the request of a new viewer's first page to its first contentful paint."""
    with serving(run.path) as address:
        page = browser.new_page()  # type: ignore[attr-defined]
        page.goto(address, wait_until="commit")
        painted = page.evaluate(
            "() => new Promise((done) => new PerformanceObserver((list) => {"
            "  const found = list.getEntriesByName('first-contentful-paint')[0];"
            "  if (found) done(found.startTime);"
            "}).observe({ type: 'paint', buffered: true }))"
        )
        page.close()
        return painted / 1000


@contextmanager
def serving(run: Path) -> Iterator[str]:
    """Serve the pages of a run from another process, as users do, and yield their address."""
    command = [sys.executable, "-m", "assay", "view", str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def write_run(folder: Path, trials: int, *, agents: Sequence[str] = AGENTS, tasks: int | None = None) -> RunFolder:
    """Write a run of finished trials; every agent has every task, and a tenth of the trials fail."""
    draw = random.Random(0)
    chosen = Registry().select("mlebench")[:tasks]
    names = []
    for number in range(trials):
        task, agent = chosen[number // len(agents) % len(chosen)], agents[number % len(agents)]
        seed = number // (len(agents) * len(chosen)) + 1
        file = make_file(f"{task.name}-{agent}-{seed}-{number:010d}", task.id, agent, seed)
        failed = draw.random() < 0.1
        trial_folder = folder / "trials" / file.id
        trial_folder.mkdir(parents=True)
        names.append(file.id)
        write(trial_folder / "trial.json", file.model_dump(mode="json"))
        write(trial_folder / "state.json", make_state(draw, failed).model_dump(mode="json"))
        write(trial_folder / "grade.json", make_grade(draw, task.id, failed).model_dump(mode="json"))
    write(folder / "run.json", {"format": "run/1", "created_at": "2026-11-16T12:00:00+00:00", "trials": names})
    return RunFolder(folder)


def write(path: Path, content: object) -> None:
    """Write JSON as records have it."""
    path.write_text(json.dumps(content, indent=2) + "\n")


def make_file(name: str, task: str, agent: str, seed: int) -> TrialFile:
    """Return the plan of a trial."""
    return TrialFile(
        id=name,
        task=task,
        edition="v1",
        variant="real",
        agent=agent,
        label=agent,
        models={"main": "openai/gpt-5"},
        seed=seed,
        budget=Budget(time=86_400, steps=500),
        resources=Resources(),
        environment="core",
        sandbox="bubblewrap",
        versions={"assay": "1.0", "python": "3.11.7", "numpy": "2.3.0"},
        hashes={"agent": "0" * 64, "data": "1" * 64, "task": "2" * 64},
    )


def make_state(draw: random.Random, failed: bool) -> State:
    """Return the state of a finished trial."""
    sealing = Sealing(
        sandbox="bubblewrap", sealed=True, network="none", enforced={"answers": "not mounted"}, missing={}
    )
    return State(
        status="failed" if failed else "done",
        cause="agent" if failed else None,
        failure="no submission" if failed else None,
        reason="nothing was submitted" if failed else None,
        elapsed=draw.uniform(100, 80_000),
        steps=draw.randrange(1, 500),
        tokens=draw.randrange(1_000, 5_000_000),
        cost=draw.uniform(0.1, 20),
        started_at="2026-11-16T12:00:00+00:00",
        ended_at="2026-11-17T12:00:00+00:00",
        sealing=sealing,
        answers="withheld",
        load=0.5,
    )


def make_grade(draw: random.Random, task: str, failed: bool) -> Grade:
    """Return a grade, with a medal for some."""
    score, medal = draw.random(), None if failed else draw.choice([None, None, None, "gold", "silver", "bronze"])
    return Grade(
        competition_id=task.partition("/")[2],
        score=None if failed else score,
        gold_threshold=0.9,
        silver_threshold=0.8,
        bronze_threshold=0.7,
        median_threshold=0.5,
        any_medal=medal is not None,
        gold_medal=medal == "gold",
        silver_medal=medal == "silver",
        bronze_medal=medal == "bronze",
        above_median=score > 0.5,
        submission_exists=not failed,
        valid_submission=not failed,
        is_lower_better=False,
        created_at="2026-11-17T12:00:00",
        submission_path="submission.csv",
        task=task,
        edition="v1",
        variant="real",
        percentile=None if failed else 100 * score,
        success=medal is not None,
        success_published=medal is not None,
    )


if __name__ == "__main__":
    main()
