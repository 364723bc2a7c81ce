"""Exported tasks under Harbor's own job runner, in labs instead of containers; and files that its tools check."""

import json
import os
import platform
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.interop.harbor.parity import grade_again, make_parity
from assay.interop.importers import read_results
from command_line import run_assay
from outside import newer_python, outside_python
from sample_run import write_run

TASKS = ["mlebench/leaf-classification", "mlagentbench/house-price", "bait/repeated-rows"]


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python with Harbor and Every Eval Ever."""
    return outside_python("harbor>=0.24,<0.26", "every-eval-ever>=0.3,<0.4", python=newer_python())


@pytest.fixture(scope="module")
def jobs(python: Path, shared_home, tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Path]:
    """A job of Harbor with three agents: the oracle, one that does nothing, and one that writes its own reward."""
    home, folder = shared_home("harbor"), tmp_path_factory.mktemp("harbor")
    done = run_assay(home, "export", "--harbor", folder / "tasks", *TASKS, "--quiet")
    assert done.returncode == 0, done.stderr
    config = {
        "job_name": "job",
        "jobs_dir": str(folder / "jobs"),
        "n_concurrent_trials": 2,
        "agents": [{"name": "oracle"}, {"name": "nop"}, {"import_path": "cheating_agent:Cheater"}],
        "datasets": [{"path": str(folder / "tasks")}],
        "environment": {"import_path": "assay.interop.harbor.environment:Lab"},
    }
    (folder / "job.json").write_text(json.dumps(config))
    variables = {
        "ASSAY_HOME": str(home.root),
        "ASSAY_PYTHON": platform.python_version(),
        "HOME": str(folder),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONPATH": str(Path(__file__).parent),
    }
    command = [python.with_name("harbor"), "run", "-c", folder / "job.json", "-q", "-y"]
    done = subprocess.run(command, env=os.environ | variables, cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return home, folder / "jobs"


def test_the_oracle_is_rewarded_and_others_are_not(jobs: tuple[Home, Path]):
    _, folder = jobs
    rewards: dict[str, dict[str, float]] = defaultdict(dict)
    for path in folder.glob("job/*/result.json"):
        result = json.loads(path.read_text())
        assert result["exception_info"] is None, result["exception_info"]
        rewards[result["agent_info"]["name"]][result["task_name"]] = result["verifier_result"]["rewards"]["reward"]
    names = {f"assay/{name.replace('/', '__')}" for name in TASKS}
    assert rewards == {
        "oracle": dict.fromkeys(names, 1.0),
        "nop": dict.fromkeys(names, 0.0),
        "cheater": dict.fromkeys(names, 0.0),
    }


def test_rewards_are_the_scores_of_assay_grade(jobs: tuple[Home, Path]):
    home, folder = jobs
    trials = list(grade_again([folder], home))
    assert len(trials) == 3 * len(TASKS)
    assert all(trial.agrees for trial in trials)
    parity = {experiment["agent"]: experiment for experiment in make_parity(trials)}
    assert parity["oracle"]["parity_benchmark_size"] == len(TASKS)
    for metric in parity["oracle"]["metrics"]:
        assert metric["original_runs"] == metric["harbor_runs"]
        assert metric["tasks"]


def test_a_job_is_read_as_trials_of_these_tasks(jobs: tuple[Home, Path]):
    frame = read_results([jobs[1]]).frame
    assert sorted({row.task for row in frame}) == sorted(TASKS)
    assert sorted(frame.agents) == ["cheater", "nop", "oracle"]
    assert all(row.valid == (row.agent == "oracle") for row in frame)
    assert {row.variant for row in frame if row.suite != "bait"} == {"synthetic-0"}


def test_trajectories_and_results_pass_the_checks_of_their_formats(python: Path, tmp_path: Path, assay):
    run = write_run(tmp_path / "run", seeds=2)
    done = assay("export", run.path, "--to", "atif", tmp_path / "atif", "--to", "every-eval-ever", tmp_path / "eee")
    assert done.returncode == 0, done.stderr
    check = (
        "import sys; from harbor.utils.trajectory_validator import validate_trajectory as is_valid; "
        "sys.exit(not all(map(is_valid, sys.argv[1:])))"
    )
    files = sorted(map(str, (tmp_path / "atif").rglob("*.json")))
    assert len(files) == 16
    checked = subprocess.run([python, "-c", check, *files], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    files = sorted(str(path) for path in (tmp_path / "eee").rglob("*.json*"))
    checked = subprocess.run([python.with_name("every_eval_ever"), "validate", *files], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
