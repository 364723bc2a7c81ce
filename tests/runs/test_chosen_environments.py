"""The environment and the weights of a run: chosen by the user, built when missing, part of a trial's identity."""

import json
import shutil
from pathlib import Path

import assay.lab
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import prepare
from assay.lab.environments import environment_folder
from assay.runs.plan import Plan
from assay.tasks import Registry

CORE = Path(assay.lab.__file__).parent / "environments" / "core.txt"
LOOKER = """
from assay.agents import Agent


class Looker(Agent):
    "Looks at the weights in its lab, and tries to change them."

    async def work(self, bench):
        code = (
            "import os, pathlib; folder = pathlib.Path(os.environ['WEIGHTS']); print(os.environ['HF_HOME'], "
            "os.environ['HF_HUB_OFFLINE'], (folder / 'model.bin').read_text()); (folder / 'new').write_text('')"
        )
        result = await bench.run(["python", "-c", code])
        await bench.note("looked", stdout=result.stdout, stderr=result.stderr)
"""


def test_an_environment_is_part_of_a_trials_identity_by_its_packages(tiny, tmp_path):
    own = tmp_path / "own.txt"
    own.write_text(CORE.read_text() + "\n# the same packages, so that nothing has to be built\n")
    words = (*tiny.run_words("starter"), "--no-build")
    for more in (("--environment", str(own)), ("--environment", "core"), ()):
        result = tiny.call(*words, *more)
        assert result.returncode == 0, result.stderr
    (trial,) = tiny.folder.trials()
    assert trial.file.environment_from == str(own) and trial.file.origins["environment"] == "flag"
    assert trial.grade.valid_submission
    other = trial.file.model_copy(update={"environment": "0" * 24})
    assert trial.file.trial_id == trial.file.id != other.trial_id


def test_competitions_have_a_large_environment_on_real_data_and_a_small_one_on_miniatures(home: Home, assay):
    task = Registry().task("mlebench/random-acts-of-pizza")
    environments = [task.environment_for(variant) for variant in ("real", "unverified", "synthetic-3")]
    assert environments == ["full-cpu", "full-cpu", "mlebench"]
    prepare(home, task, variant="synthetic-0", progress=NoProgress())
    (trial,) = Plan(tasks=(task,), agents=(("starter", {}),)).trials(home)
    assert trial.environment == environment_folder(home, "mlebench").name
    assert (trial.budget.time, trial.budget.steps) == (600, 50)
    assert "environment full-cpu (mlebench on miniatures)" in " ".join(assay("tasks", task.id).stdout.split())
    assert "Lab environment: mlebench\n" in assay("plan", task.id, "--agent", "starter").stdout


def test_a_missing_environment_is_built_unless_that_is_refused(tiny, tmp_path):
    environments = tiny.home.root / "environments"
    if environments.is_symlink():  # borrowed from the machine
        environments.unlink()
    bare = tmp_path / "bare.txt"
    bare.write_text("# nothing but Python\nsize 60MB\n")
    words = (*tiny.run_words("starter"), "--environment", str(bare))
    planned = tiny.call("plan", "tiny", "--agent", "starter", "--seeds", "1", "--environment", str(bare))
    assert "(0 packages, about 60MB)" in planned.stdout and "1 trial, 0 done." in planned.stdout
    refused = tiny.call(*words, "--no-build")
    assert refused.returncode != 0 and "is not built" in refused.stderr and "assay lab build" in refused.stderr
    built = tiny.call(*words)
    assert built.returncode == 0, built.stderr
    assert "Building environment" in built.stderr and "0 packages, about 60MB" in built.stderr
    (trial,) = tiny.folder.trials()
    assert trial.grade.valid_submission
    bare.write_text("six==1.17.0\n")
    shutil.rmtree(trial.path / "submission")
    again = tiny.call(*words, "--no-build")
    assert "is not built" in again.stderr


def test_weights_are_read_only_in_the_lab_and_recorded(tiny, tmp_path):
    weights, agent = Path(tiny.home.root) / "weights", tmp_path / "looker.py"
    weights.mkdir()
    (weights / "model.bin").write_text("pretrained")
    agent.write_text(LOOKER)
    words = ("run", "tiny", "--agent", f"{agent}:Looker", "--time", "60s", "--out", str(tiny.out), "--quiet")
    tiny.call(*words, "--weights", str(weights))
    (trial,) = tiny.folder.trials()
    assert trial.file.weights == str(weights) and trial.file.weights_digest
    notes = [json.loads(line) for line in trial.events.read_text().splitlines() if "looked" in line]
    said = json.dumps(notes)
    assert "/opt/weights 1 pretrained" in said and "Read-only file system" in said
    (weights / "model.bin").write_text("pretrained again")
    tiny.call(*words, "--weights", str(weights))
    assert len({trial.file.id for trial in tiny.folder.trials()}) == 2
