"""`assay status` before, during and after a run."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from rich.console import Console

from assay.cli.live import LiveTable, render_status
from assay.records import RunFolder, TrialFolder
from assay.records.events import Restarted
from assay.records.log import read_events_backwards
from assay.runs.status import RunStatus, TrialStatus, read_status, utc_now
from sample_run import write_run

TESTS = Path(__file__).parent.parent
FAULTY = Path(__file__).with_name("faulty.py")


def status_of(tiny, *words: str):
    result = tiny.call("status", str(tiny.out), "--json", *words)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_the_status_of_a_run_while_it_is_running_and_after_it_was_killed(tiny):
    process = tiny.start(*tiny.run_words("Sleeps", "starter", time="600s"), "--cores", "1")
    while not any("snapshot_taken" in kinds for kinds in tiny.events().values()):
        assert process.poll() is None
    status = status_of(tiny)
    assert status["stages"] == {"running": 1, "waiting": 1} and status["over"] is False
    assert status["trials"][0]["steps"] == 1 and status["trials"][0]["elapsed"] > 0
    assert [trial["node"] for trial in status["trials"]] == [socket.gethostname(), None]
    assert 600 < status["left"] <= 1200
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    # The trial's process may outlive its driver for a moment, in which it still holds its lease.
    while (status := status_of(tiny))["stages"].get("running"):
        pass
    assert status["stages"] == {"interrupted": 1, "waiting": 1}


def test_a_large_run_is_a_matrix_that_fits_a_terminal(assay, tmp_path):
    run = write_run(tmp_path / "run", seeds=6)
    lines = assay("status", run.path).stdout.splitlines()
    assert lines[0] == "run, pocket: 48 trials (● done, ✕ failed)"
    assert [line.split() for line in lines[1:4]] == [
        ["task", "starter", "research"],
        ["digits", "6●", "6●"],
        ["house-price", "6●", "6●"],
    ]
    assert lines[5].split() == ["vectorization", "6●", "5●", "1✕"]
    assert "failed: crash" in assay("status", run.path).stdout and max(map(len, lines[:6])) <= 80


def test_the_status_of_a_finished_run_shows_causes_time_tokens_and_cost(tiny, tmp_path):
    agents = [f"{FAULTY}:Spender", f"{FAULTY}:Unpriced", f"{FAULTY}:Unlucky,count={tmp_path / 'count'},times=9"]
    words = [word for agent in agents for word in ("--agent", agent)]
    run = ["run", "tiny", *words, "--out", str(tiny.out), "--quiet", "--attempts", "1"]
    assert tiny.call(*run).returncode == 1
    status = status_of(tiny)
    assert status["stages"] == {"done": 2, "failed": 1} and status["failed"] == {"infrastructure": 1}
    assert (status["tokens"], status["cost"], status["unpriced"], status["left"]) == (1500, 3.0, 1, 0.0)
    text = tiny.call("status", str(tiny.out)).stdout
    assert "3 trials: 2 done, 1 failed (1 infrastructure)" in text
    assert "1,500 tokens, $3.00 plus the cost of 1 trial with a model of unknown price" in text
    assert "failed: infrastructure" in text and "failure number 1" in text


def test_following_a_finished_run_returns_at_once(tiny):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    result = tiny.call("status", str(tiny.out), "--follow")
    assert result.returncode == 0 and "1 trial: 1 done" in result.stdout


def test_log_lines_are_shown_without_terminal_control_characters(tiny):
    words = ["run", "tiny", "--agent", f"{FAULTY}:Talks", "--out", str(tiny.out), "--quiet"]
    assert tiny.call(*words).returncode == 0
    (trial,) = tiny.folder.trials()
    result = tiny.call("status", str(tiny.out), "--trial", trial.path.name, "--lines", "50")
    assert result.returncode == 0 and "hello" in result.stdout
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout and "\r" not in result.stdout
    assert result.stdout.splitlines()[-1].split()[1] == "graded"
    few = tiny.call("status", str(tiny.out), "--trial", "coin", "--lines", "2").stdout.splitlines()
    assert [line.split()[1] for line in few] == ["submitted", "graded"]
    assert tiny.call("status", str(tiny.out), "--trial", "missing").returncode == 2


def test_a_log_with_long_lines_can_be_read_backwards(tmp_path):
    folder = TrialFolder(tmp_path)
    sizes = [10, 200_000, 5, 70_000, 65_536, 1, 300_000, 7]
    lines = [Restarted(number=number, reason="x" * size).model_dump_json() for number, size in enumerate(sizes)]
    folder.events.write_text("\n".join(lines) + '\n{"torn')
    assert [event.number for event in read_events_backwards(folder.events)] == list(reversed(range(len(sizes))))
    folder.events.write_text("")
    assert list(read_events_backwards(folder.events)) == []


def test_trials_of_a_run_that_has_not_started_are_waiting(tiny):
    result = tiny.call(*tiny.run_words("starter", seeds=3), "--total-cost", "0.000001", "--total-time", "0.000001s")
    assert result.returncode == 0, result.stderr
    assert "3 trials were not started because the run's time limit (1e-06 s) is reached" in result.stdout
    status = read_status(RunFolder(tiny.out), utc_now())
    assert status.stages == {"waiting": 3} and status.cost == 0 and not status.over


def test_a_terminal_shows_a_table_during_the_run(tiny):
    screen, terminal = os.openpty()
    words = [word for word in tiny.run_words("starter") if word != "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "--tasks", str(TESTS / "tiny"), *words],
        env=os.environ | {"ASSAY_HOME": str(tiny.home.root), "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
        stdout=subprocess.DEVNULL,
        stderr=terminal,
    )
    os.close(terminal)
    output = b""
    try:
        while chunk := os.read(screen, 65536):
            output += chunk
    except OSError:  # a terminal signals its end this way
        pass
    finally:
        os.close(screen)
    assert process.wait() == 0
    assert b"1 trial on" in output and b"tokens, $" in output and b"1 trial: 1 " in output


def shown_trial(seed: int, stage: str, **facts: object) -> TrialStatus:
    """A trial with long names, as the live view gets it."""
    values = {field.name: None for field in fields(TrialStatus)} | {
        "trial": f"trial-{seed}",
        "task": "mlebench/new-york-city-taxi-fare-prediction",
        "agent": "aide policy=mcts · openai/gpt-5",
        "seed": seed,
        "stage": stage,
        "elapsed": 73.2,
        "time": 600.0,
        "steps": 3,
        "tokens": 1200,
        "attempts": 1,
        "doing": "python train.py --epochs 30",
    }
    return TrialStatus(**values | facts)


@pytest.mark.parametrize("width", [80, 120])
def test_the_live_view_fits_the_terminal_and_shows_phases_scores_and_reasons(width):
    trials = (
        shown_trial(1, "running"),
        shown_trial(2, "grading", doing=""),
        shown_trial(3, "done", score=0.8123),
        shown_trial(4, "failed", cause="agent", why="out of time after 10m0s: the last command was killed"),
    )
    console = Console(width=width, file=io.StringIO())
    console.print(render_status(RunStatus("run", trials), "4 trials on 2 cores", width))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert lines[1].endswith("2 of 4 trials") and lines[2].split()[:4] == ["task", "agent", "seed", "phase"]
    assert "1  working      3  1m13s of 10m  python" in lines[3] and "2  grading      3  1m13s of 10m" in lines[4]
    assert "seed 3: score 0.8123" in lines[5] and "seed 4: failed: out" in lines[6]


def test_the_time_in_the_live_view_never_runs_backwards(tmp_path):
    live = LiveTable(RunFolder(tmp_path))
    statuses = [RunStatus("run", (shown_trial(1, "running", elapsed=elapsed),)) for elapsed in (60.0, 40.0, 70.0)]
    assert [live.forward_only(status).trials[0].elapsed for status in statuses] == [60.0, 60.0, 70.0]
