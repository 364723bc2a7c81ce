"""Agents work sealed on the miniatures of the suite, and their submissions are valid and get a score."""

import json
from pathlib import Path

import pytest
from competition import Miniatures, find_task

from assay.agents import find_agent
from assay.grading.result import Grade
from assay.records import TrialFolder
from assay.runs.plan import Plan
from assay.runs.trial import run_trial
from assay.tasks import Registry

NAMES = Registry().suites["mlebench"][0].tasks
AUTOML_NAMES = (
    "spaceship-titanic",  # labels of a table
    "nomad2018-predict-transparent-conductors",  # two numbers
    "spooky-author-identification",  # a probability per class, from text
)
AIDE_NAMES = {
    "aerial-cactus-identification": "sample_submission.csv",
    "bms-molecular-translation": "sample_submission.csv",
    "denoising-dirty-documents": "sampleSubmission.csv",
    "hms-harmful-brain-activity-classification": "sample_submission.csv",
    "kuzushiji-recognition": "sample_submission.csv",
    "mlsp-2013-birds": "sample_submission.csv",
    "nfl-player-contact-detection": "sample_submission.csv",
    "spooky-author-identification": "sample_submission.csv",
    "tabular-playground-series-may-2022": "sample_submission.csv",
    "tgs-salt-identification-challenge": "sample_submission.csv",
}
"""Ten tasks of different kinds, each with its sample submission."""
SOLUTION = """I will start from the sample submission.

```python
import shutil

shutil.copyfile("data/{sample}", "submission.csv")
print("METRIC:", 0.5)
```
"""


class Trials:
    """Sealed trials on miniatures."""

    def __init__(self, miniatures: Miniatures, folder: Path) -> None:
        self.miniatures, self.folder = miniatures, folder

    def run(self, name: str, agent: str, model: str | None = None, steps: int = 2, **settings: object) -> Grade:
        """Run one trial to its grade."""
        prepared = self.miniatures.prepared(name)
        plan = Plan(
            tasks=(prepared.task,),
            agents=((agent, settings),),
            models=({"main": model},) if model else ({},),
            variant=prepared.variant,
            budget={"steps": steps, "time": 300.0},
        )
        (file,) = plan.trials(self.miniatures.home)
        trial = TrialFolder(self.folder / "trial")
        trial.create(file)
        run_trial(trial.path, self.miniatures.home)
        return trial.grade


@pytest.fixture
def trials(miniatures: Miniatures, tmp_path: Path) -> Trials:
    """Trials in labs with the machine's built environments."""
    return Trials(miniatures, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_starter_gets_a_score_on_every_task(trials: Trials, name: str) -> None:
    grade = trials.run(name, "starter")
    assert grade.valid_submission, grade.why
    assert grade.score is not None, grade.not_finite


@pytest.mark.slow
@pytest.mark.parametrize("name", AUTOML_NAMES)
def test_automl_gets_a_score(trials: Trials, name: str) -> None:
    grade = trials.run(name, "automl", max_seconds=2)
    assert grade.valid_submission, grade.why
    assert grade.score is not None


def test_automl_says_where_it_does_not_apply() -> None:
    automl = find_agent("automl")
    inapplicable = {name for name in NAMES if automl.inapplicable(find_task(name))}
    assert not inapplicable & set(AUTOML_NAMES)
    assert {"aerial-cactus-identification", "tgs-salt-identification-challenge"} <= inapplicable


@pytest.mark.parametrize("name", AIDE_NAMES)
def test_aide_gets_a_score_on_tasks_of_every_kind(trials: Trials, tmp_path: Path, name: str) -> None:
    script = tmp_path / "replies.json"
    script.write_text(json.dumps([SOLUTION.format(sample=AIDE_NAMES[name])]))
    grade = trials.run(name, "aide", f"scripted/{script}", steps=1)
    assert grade.valid_submission, grade.why
