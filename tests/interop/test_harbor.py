"""Tasks exported for Harbor: complete folders whose verifier gives the score of `assay grade`."""

import json
import tomllib
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.data.store import load_prepared
from assay.grading import grade_submission
from assay.interop.harbor.verifier import main
from assay.tasks import Registry
from command_line import Assay

TASKS = ["mlebench/leaf-classification", "mlebench/champs-scalar-coupling", "mlagentbench/house-price"]


def verify(task: Path, submission: bytes | None, tmp_path: Path) -> dict[str, float]:
    """Run the verifier of a task as its `test.sh` does, and return the rewards."""
    workspace, logs = tmp_path / "workspace", tmp_path / "logs"
    workspace.mkdir(exist_ok=True)
    (workspace / "submission.csv").unlink(missing_ok=True)
    if submission is not None:
        (workspace / "submission.csv").write_bytes(submission)
    assert main(task / "tests", workspace, logs) == 0
    return json.loads((logs / "reward.json").read_text())


@pytest.mark.parametrize("name", TASKS)
def test_the_oracle_gets_the_reward_of_the_answers(name: str, assay: Assay, home: Home, tmp_path: Path):
    done = assay("export", "--harbor", tmp_path / "tasks", name, "--quiet")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "tasks" / name.replace("/", "__")
    toml = tomllib.loads((folder / "task.toml").read_text())
    assert toml["verifier"]["environment_mode"] == "separate"
    assert toml["artifacts"] == ["/workspace/submission.csv"]
    answers = (folder / "solution/submission.csv").read_bytes()
    prepared = load_prepared(home, Registry().task(name), None, "synthetic-0")
    sample = (prepared.public / "sample_submission.csv").read_bytes()
    rewards = {kind: verify(folder, file, tmp_path) for kind, file in [("oracle", answers), ("sample", sample)]}
    rewards["nothing"] = verify(folder, None, tmp_path)
    assert [rewards[kind]["reward"] for kind in ("oracle", "sample", "nothing")] == [1.0, 0.0, 0.0]
    assert rewards["nothing"]["valid"] == 0.0
    for kind, file in [("oracle", answers), ("sample", sample)]:
        grade = grade_submission(file, prepared, home=home)
        assert rewards[kind].get("score") == grade.score  # None where it is infinite


def test_answers_are_only_in_the_verifier_and_the_solution(assay: Assay, home: Home, tmp_path: Path):
    assert assay("export", "--harbor", tmp_path, TASKS[0], "--quiet").returncode == 0
    folder = tmp_path / TASKS[0].replace("/", "__")
    answers = load_prepared(home, Registry().task(TASKS[0]), None, "synthetic-0").private
    secrets = {path.read_bytes() for path in answers.rglob("*") if path.is_file() and "sample" not in path.name}
    files = [path for path in folder.rglob("*") if path.is_file()]
    holders = {path.relative_to(folder).parts[0] for path in files if path.read_bytes() in secrets}
    assert holders == {"tests", "solution"}
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_the_verifier_takes_a_link_for_nothing(assay: Assay, tmp_path: Path):
    assert assay("export", "--harbor", tmp_path, TASKS[0], "--quiet").returncode == 0
    folder, workspace = tmp_path / TASKS[0].replace("/", "__"), tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "submission.csv").symlink_to(folder / "solution/submission.csv")
    assert main(folder / "tests", workspace, tmp_path / "logs") == 0
    assert json.loads((tmp_path / "logs/reward.json").read_text())["reward"] == 0.0
