"""The functions of `import assay`: what the commands do, as Python people expect it."""

import json
import subprocess
import sys
from datetime import datetime

import pandas as pd
import polars as pl
import pytest

import assay
from assay.agents.inline import name_agent
from assay.core.errors import UsageError
from tiny_run import TESTS, prepare_tiny

TINY = TESTS / "tiny"
CONSTANT = {"text": ["a", 1, None]}
COMMAND = ["python", "train.py"]


def list_command(extra: str) -> list[str]:
    return [*COMMAND, extra]


class RunsStarter(assay.Agent):
    """Run the starter code."""

    async def work(self, bench: assay.Workbench) -> None:
        await bench.run(COMMAND)


async def run_starter(bench):
    """Run the starter code, too."""
    assert CONSTANT["text"] == ["a", 1, None] and list_command("x")[-1] == "x" and json.dumps(1) == "1"
    await bench.run(COMMAND)


@pytest.fixture
def prepared(home, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    monkeypatch.chdir(tmp_path)
    prepare_tiny(home)
    return home


def test_importing_is_fast_and_dir_lists_the_public_names():
    assert {"tasks", "prepare", "run", "grade", "compare", "load_run"} < set(dir(assay))
    code = "import sys, assay; print([name for name in sys.modules if name.startswith('assay.') or name == 'pandas'])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_tasks_are_selected_by_name_and_describe_themselves():
    tasks = assay.tasks("pocket")
    assert {task.suite for task in tasks} == {"pocket"}
    assert "pocket/house-price" in repr(tasks) and ">pocket/house-price</th>" in tasks._repr_html_()
    assert len(assay.tasks()) > len(tasks)
    with pytest.raises(UsageError, match="pocket"):
        assay.tasks("pockett")


def test_agents_are_run_by_name_class_or_function_and_compared(prepared):
    run = assay.run(
        "coin", ["starter", RunsStarter, run_starter], seeds=1, time=60, folder=TINY, out="runs/api", progress=False
    )
    frame = run.frame()
    assert frame.agents == ["starter", "RunsStarter", "run_starter"]
    assert [row.status for row in frame] == ["done"] * 3, [row.reason for row in frame]
    assert "3 trials of 3 agents on 1 task" in repr(run) and "<table" in run._repr_html_()
    trial = run.trials[run.trials[1].id]
    assert isinstance(trial.started_at, datetime) and "done" in repr(trial)
    assert run.to_frame().loc[trial.id, "score"] == trial.grade.score
    with pytest.raises(KeyError):
        run.trials["coin"]
    comparison = assay.compare(run, measure="wins")
    assert len(comparison.verdicts) == 3 and comparison.verdicts[0] in repr(comparison)
    assert "<table" in comparison._repr_html_()
    again = assay.run("coin", "starter", seeds=1, time=60, folder=TINY, out="runs/api", progress=False)
    assert len(again.trials) == 3, "the same call runs nothing twice"


def test_an_export_is_loaded_like_its_folder(prepared, assay):
    import assay as package

    run = package.run("coin", "starter", seeds=1, time=60, folder=TINY, out="runs/one", progress=False)
    assert assay("export", "runs/one", "--out", "one.zip", home=prepared).returncode == 0
    exported = package.load_run("one.zip")
    assert exported.to_frame()["score"].tolist() == run.to_frame()["score"].tolist()
    steps = run.progress()
    assert steps.loc[steps["end"], "score"].tolist() == run.to_frame()["score"].tolist()
    with pytest.raises(UsageError, match="load the run folder instead"):
        exported.progress()


@pytest.mark.parametrize("form", ["path", "bytes", "pandas", "polars"])
def test_a_submission_is_graded_from_a_file_its_content_or_a_data_frame(prepared, tmp_path, form):
    public = assay.prepare("coin", folder=TINY, progress=False)[0].public
    sample = tmp_path / "sample.csv"
    pd.read_csv(public / "test.csv").assign(side=0).to_csv(sample, index=False)
    submission = {
        "path": lambda: sample,
        "bytes": sample.read_bytes,
        "pandas": lambda: pd.read_csv(sample),
        "polars": lambda: pl.read_csv(sample),
    }[form]()
    grade = assay.grade(submission, "tiny/coin", folder=TINY)
    assert grade.score == pytest.approx(2 / 3, abs=1e-5)  # every third coin shows heads
    with pytest.raises(UsageError, match="does not exist"):
        assay.grade("nothing.csv", "tiny/coin", folder=TINY)
    with pytest.raises(UsageError, match="not int"):
        assay.grade(1, "tiny/coin", folder=TINY)


def test_a_call_that_cannot_work_says_why(prepared):
    with pytest.raises(UsageError, match="No run given"):
        assay.compare()
    with pytest.raises(UsageError, match="not an agent"):
        assay.run("coin", [print], folder=TINY)
    with pytest.raises(UsageError, match="no agent is called"):
        assay.run("coin", "strater", folder=TINY)
    with pytest.raises(UsageError, match="seedz"):
        assay.run("coin", "starter", folder=TINY, seedz=1)


def test_an_agent_that_depends_on_an_object_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(run_starter.__globals__, "CONSTANT", object())
    with pytest.raises(UsageError, match="CONSTANT cannot be written as source"):
        name_agent(run_starter, tmp_path)
