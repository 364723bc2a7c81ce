"""Shortcuts on the pocket tasks: none may score better than a constant or random prediction."""

import json
from pathlib import Path

import anyio
import pytest

from assay.core.home import Home
from assay.data import Prepared, load_prepared
from assay.grading.grade import grade_submission
from assay.lab import open_lab
from assay.lab.environments import find_environment
from assay.lab.interface import Limits, Setup
from assay.tasks import Registry, Task, load_plugin

SHARED = Path("src/assay/suites/pocket/_shared/cheats.py")
TOLERANCE = 0.05
"""How much of the way from a constant to the best reference solution a shortcut may come by luck."""
CONSTANTS = load_plugin(Path("tools/pocket_levels.py")).CONSTANTS
TASKS = [task for task in Registry().select("pocket") if task.judged == "table"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_no_shortcut_beats_a_constant_or_a_random_guess(task: Task, pocket_home: Home) -> None:
    prepared = load_prepared(pocket_home, task)
    scores = grade_all(pocket_home, prepared, submit_shortcuts(pocket_home, prepared))
    assert task.measured is not None
    panel = {solution.name: solution.score for solution in task.measured.panel}
    weakest, best = task.measured.panel[0], task.measured.panel[-1].score
    constants = [
        panel[CONSTANTS.get(task.name, weakest.name)],
        *(scores[name] for name in ("sample", "constant", "guess") if name in scores),
    ]
    trivial = max(constants) if task.metric.direction == "higher" else min(constants)
    shares = {name: (score - trivial) / (best - trivial) for name, score in scores.items()}
    assert shares and {name: share for name, share in shares.items() if share > TOLERANCE} == {}


def submit_shortcuts(home: Home, prepared: Prepared) -> dict[str, bytes]:
    """Run the shared shortcuts and the task's own in one lab each, and return what they submitted."""
    task = prepared.task
    public = prepared.public
    train = task.data.train if task.data.train and task.data.train.endswith(".csv") else None
    header = (public / train).open().readline().strip().split(",") if train else []
    columns = list(task.submission.columns)
    targets = {name: name for name in columns if name in header}
    if not targets and task.data.target in header:
        targets = dict.fromkeys(columns, task.data.target)
    facts = {"id": task.submission.id, "train": train, "test": task.data.test, "columns": columns, "targets": targets}
    files = {"cheats.py": SHARED.read_bytes(), "cheat.json": json.dumps(facts).encode()}
    submitted = anyio.run(run_script, home, prepared, files, "cheats.py")
    for path in sorted(task.folder.glob("cheat/*.py")):
        own = anyio.run(run_script, home, prepared, {path.name: path.read_bytes()}, path.name)
        submitted[path.stem] = own[task.submission.file]
    return {name.removeprefix("cheat-").removesuffix(".csv"): content for name, content in submitted.items()}


async def run_script(home: Home, prepared: Prepared, files: dict[str, bytes], script: str) -> dict[str, bytes]:
    task = prepared.task
    setup = Setup(
        environment=find_environment(home, task.environment_for(prepared.variant)),
        data=prepared.public,
        limits=Limits.from_resources(task.resources),
        variables={"SEED": "0"},
    )
    async with open_lab(home, setup) as lab:
        for name, content in files.items():
            await lab.write(name, content)
        completed = await lab.run(["python", script], seconds=120)
        assert completed.succeeded, completed.stderr.text
        names = [str(path) async for path in lab.files() if path.suffix == ".csv"]
        return {name: await lab.read(name, max_size=task.submission.max_size) for name in names}


def grade_all(home: Home, prepared: Prepared, submitted: dict[str, bytes]) -> dict[str, float]:
    scores = {}
    for name, content in submitted.items():
        grade = grade_submission(content, prepared, home=home)
        assert grade.score is not None, f"{name}: {grade.why}"
        scores[name] = grade.score
    return scores
