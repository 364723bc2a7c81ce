"""Executor settings, and machines that lack what a trial needs."""

import json
import sys
from pathlib import Path

import pytest

from assay.core.errors import AssayError, NotPrepared
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import load_prepared, prepare
from assay.lab.environments import find_environment
from assay.records import RunFolder, TrialFile
from assay.runs.job import JobSpec
from assay.runs.machine_setup import provision
from assay.runs.plan import Plan
from assay.runs.worker import assigned_gpus, run_job
from assay.tasks import Registry, Task

TINY = Path(__file__).parent.parent / "tiny"


@pytest.fixture
def coin() -> Task:
    return Registry([TINY]).task("tiny/coin")


@pytest.fixture
def planned(home: Home, coin: Task) -> TrialFile:
    """A trial planned on a machine that has its data and environment."""
    prepare(home, coin, progress=NoProgress())
    (file,) = Plan(tasks=(coin,), agents=(("starter", {}),), tasks_folder=TINY).trials(home)
    return file


def bare(folder: Path, environments: Path | None = None) -> Home:
    """The home of a machine that has prepared nothing."""
    folder.mkdir()
    if environments:
        (folder / "environments").symlink_to(environments)
    return Home(folder)


def test_a_machine_without_the_data_copies_it_from_a_shared_home(home, planned, coin, tmp_path):
    node = bare(tmp_path / "node", home.environments)
    provision(planned, coin, node, home)
    there, here = load_prepared(home, coin), load_prepared(node, coin)
    assert here.manifest.token != there.manifest.token
    assert here.manifest.public == there.manifest.public and here.manifest.private == there.manifest.private
    assert {path.name: path.read_bytes() for path in here.public.iterdir()} == {
        path.name: path.read_bytes() for path in there.public.iterdir()
    }
    # The copy looks as if it had been prepared here: one modification time, and private answers.
    assert len({path.stat().st_mtime for path in here.public.iterdir()}) == 1
    assert {path.stat().st_mode & 0o777 for path in here.private.iterdir()} == {0o600}


def test_a_machine_without_the_data_prepares_it(home, planned, coin, tmp_path):
    node = bare(tmp_path / "node", home.environments)
    provision(planned, coin, node)
    assert load_prepared(node, coin).manifest.public == load_prepared(home, coin).manifest.public


def test_a_shared_home_without_the_data_is_reported(home, planned, coin, tmp_path):
    node = bare(tmp_path / "node", home.environments)
    with pytest.raises(NotPrepared, match=r"cannot copy it from .*: prepare it there, share ASSAY_HOME, or set"):
        provision(planned, coin, node, bare(tmp_path / "empty"))


def test_a_copy_that_is_not_what_its_manifest_says_is_refused(home, planned, coin, tmp_path):
    answers = load_prepared(home, coin).private / "answers.csv"
    answers.write_text(answers.read_text().replace(",1", ",0"))
    node = bare(tmp_path / "node", home.environments)
    with pytest.raises(NotPrepared, match="does not match its manifest"):
        provision(planned, coin, node, home)
    with pytest.raises(NotPrepared):
        load_prepared(node, coin)


def test_data_that_the_run_was_not_planned_with_is_refused(home, planned, coin):
    other = planned.model_copy(update={"hashes": planned.hashes | {"data": "0" * 64}})
    with pytest.raises(NotPrepared, match="is not what the run was planned with"):
        provision(other, coin, home)


def test_a_machine_without_an_environment_copies_it_completely(home, planned, coin, tmp_path):
    name = find_environment(home, coin.environment).name
    shared, node = bare(tmp_path / "shared"), bare(tmp_path / "node")
    for machine in (shared, node):
        prepare(machine, coin, progress=NoProgress())
    interpreter = shared.environments / name / "bin" / "python3.11"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text("an interpreter")
    interpreter.chmod(0o755)
    interpreter.with_name("python").symlink_to("python3.11")
    provision(planned, coin, node, shared)
    copied = node.environments / name / "bin"
    assert (copied / "python").readlink() == Path("python3.11")
    assert (copied / "python3.11").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in node.environments.iterdir()] == [name]


def test_a_trial_runs_where_nothing_was_prepared(home, planned, tmp_path):
    run = RunFolder(tmp_path / "run")
    run.add([planned])
    (trial,) = run.trials()
    # Labs run as another user, who must be able to reach their workspaces.
    node = bare(home.root / "node", home.environments)
    run_job(JobSpec(kind="run", trial=trial.path, home=node.root, source=home.root))
    assert trial.state.status == "done"


@pytest.mark.parametrize(
    ("variables", "gpus"),
    [
        ({"SLURM_STEP_GPUS": "4,6", "CUDA_VISIBLE_DEVICES": "0,1"}, (4, 6)),
        ({"SLURM_JOB_GPUS": "3,5,7"}, (3, 5)),
        ({"CUDA_VISIBLE_DEVICES": "2,3"}, (2, 3)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1f2e"}, (0, 1)),
        ({}, (0, 1)),
    ],
)
def test_a_trial_gets_the_gpus_that_the_scheduler_assigned(variables, gpus):
    assert assigned_gpus(2, variables, available=(0, 1, 2)) == gpus


def test_a_trial_without_gpus_gets_none_and_one_that_needs_too_many_is_refused():
    assert assigned_gpus(0, {"CUDA_VISIBLE_DEVICES": "0"}, available=(0,)) == ()
    with pytest.raises(AssayError, match="needs 2 GPUs, but this machine has 1"):
        assigned_gpus(2, {}, available=(0,))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "nowhere"], "no executor is called 'nowhere'; available: local, ray, slurm"),
        (["-c", "slurm.partition=gpu"], "slurm settings require --on slurm"),
        (["--on", "slurm", "-c", "slurm.partition"], "write NAME=VALUE"),
        (["--on", "slurm", "-c", "slurm.output=x"], "this option is set by Assay"),
        (["--on", "slurm", "-c", "slurm.time=2:00"], "not a number of minutes"),
        (["-c", "lease=3s"], "allow at least 10 s"),
    ],
)
def test_invalid_executor_options_are_refused(tiny, words, message):
    result = tiny.call(*tiny.run_words("starter"), *words)
    assert result.returncode == 2 and message in result.stderr


def test_a_machine_without_slurm_is_reported(tiny):
    tiny.variables = {"PATH": str(Path(sys.executable).parent)}
    result = tiny.call(*tiny.run_words("starter"), "--on", "slurm", in_process=False)
    assert result.returncode == 1 and "sbatch is not on this machine" in result.stderr


def test_resume_uses_the_executor_of_the_run(tiny):
    assert tiny.call(*tiny.run_words("starter"), "-c", "lease=90s").returncode == 0
    assert not (tiny.out / "executor.json").exists()
    (tiny.out / "executor.json").write_text(json.dumps({"format": "executor/1", "on": "nowhere"}))
    result = tiny.call("resume", str(tiny.out), "--trust")  # this executor was not chosen here
    assert result.returncode == 2 and "no executor is called 'nowhere'" in result.stderr
    assert tiny.call("resume", str(tiny.out), "--on", "local").returncode == 0
    assert json.loads((tiny.out / "executor.json").read_text())["on"] == "local"
