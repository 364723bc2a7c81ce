"""Sandboxes and executors from outside, named where Assay's own are."""

import json
from pathlib import Path

import pytest

SANDBOX = """
from dataclasses import replace

from assay.lab.sandboxes.no_sandbox import NoSandbox


class Open(NoSandbox):
    def __init__(self, home, slot, setup):
        super().__init__(home, slot, setup)
        self.sealing = replace(self.sealing, sandbox="open", enforced={"user": "by trust"})
"""
EXECUTOR = """
from assay.runs.executors.local import LocalExecutor


def make(config, run, home, *, cores, retries):
    (run.path / "asked.txt").write_text(config.on)
    return LocalExecutor(home, cores=cores, lapse=config.lease, overdue=retries.overdue)
"""


def test_a_run_uses_a_sandbox_and_an_executor_from_files(tiny, tmp_path: Path):
    sandbox, executor = tmp_path / "sandbox.py", tmp_path / "executor.py"
    sandbox.write_text(SANDBOX)
    executor.write_text(EXECUTOR)
    outside = ["--sandbox", f"{sandbox}:Open", "--on", f"{executor}:make"]
    done = tiny.call(*tiny.run_words("starter"), *outside)
    assert done.returncode == 0, done.stderr
    assert (tiny.out / "asked.txt").read_text() == f"{executor}:make"
    events = next(tiny.out.glob("trials/*/events.jsonl")).read_text().splitlines()
    opened = next(event for event in map(json.loads, events) if event["kind"] == "lab_opened")
    assert (opened["sealing"]["sandbox"], opened["sealing"]["sealed"]) == ("open", False)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--sandbox", "no sandbox is called 'bubblewarp'; did you mean bubblewrap?"),
        ("--on", "no executor is called 'bubblewarp'; available: local, ray, slurm, path.py:NAME"),
    ],
)
def test_a_name_that_nothing_has_is_refused_before_a_run_has_a_folder(tiny, option: str, message: str):
    done = tiny.call(*tiny.run_words("starter"), option, "bubblewarp")
    assert done.returncode == 2 and message in done.stderr
    assert not tiny.out.exists()
