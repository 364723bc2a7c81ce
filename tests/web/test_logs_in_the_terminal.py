"""`assay logs` shows the trace of a trial in the terminal, live, and nothing in it controls the terminal."""

import re
import subprocess
import sys

from sample_run import Texts, write_run, write_trial

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_a_trial_is_followed_until_it_ends(tmp_path):
    run = write_run(tmp_path / "run", seeds=1, tasks=("digits",), pending=True)
    trial = next(trial for trial in run.trials() if trial.state.status == "running")
    command = [sys.executable, "-m", "assay", "logs", str(trial.path), "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert any("python train.py" in line for line in process.stdout)
            write_trial(trial, Texts(), strong=True)
            rest = process.stdout.read().splitlines()
        finally:
            process.kill()
    assert any("HistGradientBoosting" in line or "mean: 0.9695" in line for line in rest)
    assert rest[-1] == "done"


def test_one_step_is_shown_and_options_that_exclude_each_other_are_refused(assay, tmp_path):
    trial = list(write_run(tmp_path / "run", seeds=1, tasks=("digits",)).trials())[1]
    second = assay("logs", trial.path, "--step", "2").stdout
    assert "step 2" in second and "step 1" not in second and "step 3" not in second
    assert re.search(r"^\S+  step 2    write train\.py \(\d+ bytes\)$", second, re.MULTILINE)
    whole = assay("logs", trial.path).stdout
    assert (
        "call_" not in whole and "✕ exit code 1  fold 1: 0.971" in whole and "lab opened: bubblewrap, sealed" in whole
    )
    refused = assay("logs", trial.path, "--follow", "--json")
    assert refused.returncode == 2 and "--follow and --json exclude each other" in refused.stderr


def test_nothing_that_an_agent_wrote_controls_the_terminal(assay, tmp_path):
    evil = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202e\r\x08over"
    texts = Texts(*[evil] * 6, label="research", reason=evil, code=evil)
    trial = list(write_run(tmp_path / "run", seeds=1, tasks=("digits",), texts=texts).trials())[1]
    printed = assay("logs", trial.path)
    assert printed.returncode == 0 and "red" in printed.stdout and not CONTROL.search(printed.stdout + printed.stderr)
