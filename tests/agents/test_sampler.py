"""The sampler on a real task: what it submits can be made again from the code that it names."""

from assay.records import TrialFolder
from assay.runs.plan import Plan
from assay.runs.trial import run_trial
from assay.tasks import Registry


def test_the_pipeline_that_hidden_rows_select_is_trained_again_from_its_code(pocket_home, tmp_path):
    settings = {"search": "noisy", "candidates": 3, "max_rows": 200}
    task = Registry().task("pocket/house-price")
    plan = Plan((task,), (("sampler", settings),), ({},), submit="code", selection="hidden", seeds=1)
    (file,) = plan.trials(pocket_home)
    trial = TrialFolder(tmp_path / "trial")
    trial.create(file)
    run_trial(trial.path, pocket_home)
    assert trial.state.status == "done", trial.state.reason
    rerun = trial.grade.rerun
    # Nothing depends on the seed of the rerun, so that the score is the same and not only within noise.
    assert rerun.reproduced and trial.grade.score == rerun.first_score
