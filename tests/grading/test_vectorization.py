"""The vectorization task: its starter is the measure, and its panel is right."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import prepare
from assay.grading import Grade, grade_submission
from assay.grading.by_running.speed import compute_tolerance, median_interval
from assay.tasks import Registry, load_plugin
from assay.verification.regrade import compare_speeds
from panels import run_panel

TASK = Registry().task("pocket/vectorization")


@pytest.fixture
def vectorization(home: Home, tmp_path: Path) -> Callable[[str], Grade]:
    """Grade a piece of code like a miniature, in two rounds of pairs; more of them only make the score more precise."""
    prepared = replace(prepare(home, TASK, progress=NoProgress()), variant="synthetic-0")

    def graded(code: str) -> Grade:
        path = tmp_path / "convolve.py"
        path.write_text(code)
        return grade_submission(path, prepared, home=home)

    return graded


@pytest.mark.slow
def test_the_starter_scores_about_one(vectorization):
    grade = vectorization((TASK.folder / "starter" / "convolve.py").read_text())
    assert grade.why is None
    assert 0.5 < grade.score < 2
    assert grade.valid_submission and grade.sealed
    assert not grade.deterministic and grade.tolerance is not None and not grade.any_medal


@pytest.mark.slow
def test_code_that_is_slow_at_random_neither_succeeds_nor_verifies_a_forged_score(vectorization):
    starter = (TASK.folder / "starter" / "convolve.py").read_text()
    noise = """
import random, time
honest = convolve
def convolve(*arguments):
    if random.random() < 0.4:
        time.sleep(0.3)
    return honest(*arguments)
"""
    grade = vectorization(starter + noise)
    assert grade.tolerance > 0.1 and grade.success is not True
    for factor in (1.0, 1.21, 1.9, 2.9):
        forged = grade.model_copy(update={"score": grade.score * factor, "tolerance": 0.01, "success": True})
        assert compare_speeds(forged, grade, 0.0, may_succeed=True)[0] == "unclear"


def test_the_lower_end_of_the_interval_is_never_below_what_the_tolerance_says():
    # 16 ratios, of which 6 are of slow calls: the 4th and the 13th hold the median with 95%.
    ratios = [0.1] * 6 + [1.1] * 10
    low, high = median_interval(ratios)
    assert (low, high) == (0.1, 1.1)
    assert 1.1 / (1 + compute_tolerance(ratios)) == pytest.approx(low)


@pytest.mark.slow
def test_the_last_of_the_panel_is_faster_than_the_starter(vectorization, tmp_path):
    run_panel(TASK, tmp_path, run_panel(TASK, tmp_path, "--list").split()[-1])
    assert vectorization((tmp_path / "convolve.py").read_text()).score > 2


def test_every_solution_of_the_panel_is_right_on_every_shape(tmp_path):
    cases = load_plugin(TASK.folder / "cases.py")
    reference = load_plugin(TASK.folder / "starter" / "convolve.py").convolve
    inputs = list(cases.checks(np.random.default_rng()))
    expected = [reference(*arguments) for arguments in inputs]
    names = run_panel(TASK, tmp_path, "--list").split()
    assert 12 <= len(names) <= 15
    for name in names:
        run_panel(TASK, tmp_path, name)
        solution = load_plugin(tmp_path / "convolve.py").convolve
        outputs = [solution(*arguments) for arguments in inputs]
        assert [cases.difference(*pair) for pair in zip(outputs, expected, strict=True)] == [None] * len(inputs), name
