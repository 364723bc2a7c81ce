"""The verifier of an exported task: grades the submission and writes the rewards.

In a container, `tests/test.sh` calls `python -m assay.interop.harbor.verifier /tests /workspace /logs/verifier`. In
Assay's own environment, `environment.py` calls `grade_rewards` outside of the lab.
"""

import json
import math
import sys
from pathlib import Path
from typing import Literal

from pydantic import Field

from assay.core.errors import RecordError, UsageError
from assay.core.home import Home
from assay.core.quantities import Model
from assay.core.untrusted import read_json, read_plain
from assay.data.store import Prepared, load_prepared
from assay.grading.grade import grade_submission_async
from assay.grading.result import Grade
from assay.lab.interface import SandboxName
from assay.tasks import Registry

RUBRIC = "assay.json"
HOME = "home"
"""The folder of the verifier that holds the data, as a home of Assay."""
TEST_SCRIPT = """\
#!/bin/sh
exec python -m assay.interop.harbor.verifier /tests /workspace /logs/verifier
"""


class Rubric(Model):
    """What an exported task is graded by, and which scores have the rewards 0 and 1."""

    format: Literal["harbor-task/1"] = "harbor-task/1"
    task: str
    edition: str
    variant: str
    submission: str = Field(description="path of the submission in the workspace")
    environment: str = Field(description="the lab environment with the task's packages")
    data: Literal["inside", "prepared"] = Field(description="in this folder, or as `assay prepare` left it")
    floor: float | None = Field(default=None, description="score of the sample submission or the starter: reward 0")
    top: float | None = Field(default=None, description="score of gold, the answers or the best solution: reward 1")

    def load(self, folder: Path) -> Prepared:
        """Return the task's data: that of the verifier's folder, or that of this machine."""
        home = Home(folder / HOME) if self.data == "inside" else Home.default()
        return load_prepared(home, Registry().task(self.task), self.edition, self.variant)


def read_rubric(folder: Path) -> Rubric | None:
    """Return the rubric in a folder of an exported task; None if it is not one of Assay's."""
    try:
        return Rubric.model_validate(read_json(folder / RUBRIC))
    except FileNotFoundError:
        return None


async def grade_rewards(
    content: bytes | None, folder: Path, rubric: Rubric, *, sandbox: SandboxName = "auto"
) -> tuple[Grade, dict[str, float]]:
    """Grade a submission in the verifier's folder, and return its grade and rewards."""
    prepared = rubric.load(folder)
    grade = await grade_submission_async(content, prepared, home=Home.default(), sandbox=sandbox, isolated=True)
    return grade, compute_rewards(grade, rubric)


def compute_rewards(grade: Grade, rubric: Rubric) -> dict[str, float]:
    """Return the rewards of a grade: `reward` from 0 to 1, the score itself, validity, success and medals if defined.

    The reward is the position of the score between the rubric's floor and top, and 0 without a valid submission. Where
    the rubric does not have both, it is success; where that is not defined, whether the score is more than 10% better
    than the floor; and without a floor, validity. A score that is not finite
    is not among the rewards, because Harbor has no such number.
    """
    score = float(grade.not_finite) if grade.not_finite else grade.score
    valid = grade.valid_submission and score is not None and not math.isnan(score)
    rewards = {"reward": 0.0, "valid": float(valid)}
    if valid and score is not None:
        if rubric.floor is None or rubric.top is None or rubric.floor == rubric.top:
            rewards["reward"] = float(_improves(grade, score, rubric.floor if rubric.top is None else None))
        else:
            position = (score - rubric.floor) / (rubric.top - rubric.floor)
            rewards["reward"] = min(1.0, max(0.0, position))
        if math.isfinite(score):
            rewards["score"] = score
    if grade.success is not None:
        rewards["success"] = float(valid and grade.success)
    if grade.gold_threshold is not None:
        rewards["medal"] = float(valid and grade.any_medal)
    return rewards


def _improves(grade: Grade, score: float, floor: float | None) -> bool:
    if grade.success is not None or floor is None:
        return grade.success is not False
    return score < floor / 1.1 if grade.is_lower_better else score > 1.1 * floor


def main(tests: Path, workspace: Path, logs: Path) -> int:
    """Grade the submission in a workspace and write `reward.json` and `grade.json`."""
    import anyio

    rubric = read_rubric(tests)
    if rubric is None:
        raise UsageError(f"{tests / RUBRIC} is missing; export the task again with assay export --harbor")
    max_size = rubric.load(tests).task.submission.max_size
    try:
        content: bytes | None = read_plain(workspace / rubric.submission, max_size)
    except (FileNotFoundError, RecordError):  # a link, a folder or a file that is too large counts as nothing
        content = None
    grade, rewards = anyio.run(grade_rewards, content, tests, rubric)
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "grade.json").write_text(grade.model_dump_json(indent=2))
    (logs / "reward.json").write_text(json.dumps(rewards))
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))
