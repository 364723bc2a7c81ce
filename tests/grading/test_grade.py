"""A grade is complete, keeps the published fields, and needs few imports."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime

import anyio
import pytest

from assay.core.home import Home
from assay.grading import Grade, grade_submission, grade_submission_async
from assay.grading.grade import make_grade
from assay.grading.result import Judgement
from assay.tasks import Leaderboard, Measured, Solution

PUBLISHED = [
    "competition_id",
    "score",
    "gold_threshold",
    "silver_threshold",
    "bronze_threshold",
    "median_threshold",
    "any_medal",
    "gold_medal",
    "silver_medal",
    "bronze_medal",
    "above_median",
    "submission_exists",
    "valid_submission",
    "is_lower_better",
    "created_at",
    "submission_path",
]

BOARD = Leaderboard(gold=1, silver=2, bronze=3, median=4, teams=50, percentiles={"0": 9, "100": 1})
MEASURED = Measured(
    date="2026-01-01",
    edition="v1",
    versions={},
    baseline=4.0,
    baseline_spread=0.1,
    baseline_seeds=3,
    panel=[Solution(name="a", score=3.0, seconds=1), Solution(name="b", score=1.0, seconds=1)],
)


@pytest.fixture
def submitted(tmp_path):
    """A submission whose errors are 1, 2 and 3: its mean absolute error is 2."""
    path = tmp_path / "submission.csv"
    path.write_text("id,price\n007,11\n8,18\n9,33\n")
    return path


def test_a_grade_has_the_published_fields_first_and_in_order():
    assert list(Grade.model_fields)[:16] == PUBLISHED


def test_a_score_on_a_human_leaderboard_wins_its_medal(submitted, make_task, prepared):
    grade = grade_submission(
        submitted, replace(prepared, task=make_task(leaderboard=BOARD)), home=Home(submitted.parent)
    )
    assert grade.model_dump(include=set(PUBLISHED) - {"created_at"}) == {
        "competition_id": "prices",
        "score": 2.0,
        "gold_threshold": 1,
        "silver_threshold": 2,
        "bronze_threshold": 3,
        "median_threshold": 4,
        "any_medal": True,
        "gold_medal": False,
        "silver_medal": True,
        "bronze_medal": False,
        "above_median": True,
        "submission_exists": True,
        "valid_submission": True,
        "is_lower_better": True,
        "submission_path": str(submitted),
    }
    assert datetime.fromisoformat(grade.created_at).tzinfo is None
    assert (grade.task, grade.edition, grade.variant) == ("made-up/prices", "v1", "real")
    assert grade.percentile == pytest.approx(87.5)  # 2 is 7/8 of the way from 9 to 1
    assert grade.success is True
    assert (grade.rank, grade.improvement, grade.sealed, grade.tolerance) == (None, None, None, None)
    assert grade.deterministic


def test_a_score_on_a_task_without_leaderboard_is_ranked_in_its_panel_and_wins_no_medal(submitted, make_task, prepared):
    grade = grade_submission(
        submitted, replace(prepared, task=make_task(measured=MEASURED)), home=Home(submitted.parent)
    )
    assert (grade.rank, grade.panel_size, grade.baseline, grade.improvement) == (2, 2, 4.0, 0.5)
    assert grade.success is True
    assert not grade.any_medal and not grade.above_median and grade.gold_threshold is None and grade.percentile is None


@pytest.mark.parametrize("variant", ["synthetic-0", "unverified"])
def test_data_that_is_not_real_wins_no_medal_and_has_no_thresholds(variant, submitted, make_task, prepared):
    other = replace(prepared, task=make_task(leaderboard=BOARD), variant=variant)
    grade = grade_submission(submitted, other, home=Home(submitted.parent))
    assert grade.score == 2.0 and grade.valid_submission  # which wins silver on real data
    assert not (grade.any_medal or grade.gold_medal or grade.silver_medal or grade.bronze_medal or grade.above_median)
    thresholds = (grade.gold_threshold, grade.silver_threshold, grade.bronze_threshold, grade.median_threshold)
    assert thresholds == (None,) * 4
    assert (grade.medal, grade.percentile, grade.success, grade.success_published) == (None,) * 4


@pytest.mark.parametrize(
    ("spread", "tolerance", "success"),
    [
        (0.9, None, True),  # a gain of 2 of 4, more than twice the spread
        (1.1, None, False),
        (0.9, 0.5, True),  # at its worse end the score is 3, a gain of 25%
        (0.9, 0.8, False),  # at its worse end the score is 3.6, a gain of exactly 10%
    ],
)
def test_success_is_beyond_noise_and_the_published_rule_ignores_it(spread, tolerance, success, make_task, prepared):
    task = make_task(measured=MEASURED.model_copy(update={"baseline_spread": spread}))
    judged = Judgement(score=2.0, tolerance=tolerance)
    grade = make_grade(b"", replace(prepared, task=task), judged)
    assert (grade.success, grade.success_published) == (success, True)
    as_published = task.model_copy(update={"success_as_published": ("v1",)})
    assert make_grade(b"", replace(prepared, task=as_published), judged).success


@pytest.mark.parametrize(
    ("score", "tolerance", "success"),
    [
        (400.0, 1.5, True),  # at its worse end the score is 160
        (9.0, 1.5, False),  # at its worse end the score is 3.6, below the baseline of 4
        (9.0, 1.0, True),  # at its worse end the score is 4.5, a gain of 12.5%
    ],
)
def test_a_large_gain_in_speed_is_a_success_however_noisy_the_machine(score, tolerance, success, make_task, prepared):
    task = make_task(direction="higher", measured=MEASURED)
    assert make_grade(b"", replace(prepared, task=task), Judgement(score=score, tolerance=tolerance)).success is success


@pytest.mark.parametrize("other", [{"edition": "fixed"}, {"variant": "synthetic-1"}])
def test_figures_of_another_edition_or_other_data_are_not_compared_with(other, submitted, make_task, prepared):
    changed = replace(prepared, task=make_task(measured=MEASURED), **other)
    grade = grade_submission(submitted, changed, home=Home(submitted.parent))
    assert grade.valid_submission
    assert (grade.rank, grade.panel_size, grade.baseline, grade.improvement, grade.success) == (None,) * 5


@pytest.mark.parametrize("exists", [True, False])
def test_what_cannot_be_scored_still_gets_a_grade(exists, submitted, make_task, prepared):
    submitted.write_text("nonsense") if exists else submitted.unlink()
    task = make_task(leaderboard=BOARD, measured=MEASURED)
    grade = grade_submission(submitted, replace(prepared, task=task), home=Home(submitted.parent))
    assert grade.submission_exists is exists
    assert (grade.score, grade.valid_submission, grade.any_medal, grade.above_median) == (None, False, False, False)
    assert (grade.rank, grade.percentile, grade.improvement, grade.success) == (None, None, None, False)
    assert (grade.panel_size, grade.baseline, grade.gold_threshold) == (2, 4.0, 1)
    assert grade.why


def test_a_trial_without_submission_gets_a_grade(make_task, prepared, tmp_path):
    grade = grade_submission(None, prepared, home=Home(tmp_path))
    assert (grade.submission_exists, grade.submission_path, grade.why) == (False, "None", "Nothing was submitted.")


def test_a_score_that_is_not_a_number_is_never_written_as_one(submitted, make_task, prepared):
    submitted.write_text("id,price\n007,-5\n8,18\n9,33\n")
    grade = grade_submission(submitted, replace(prepared, task=make_task(metric="rmsle")), home=Home(submitted.parent))
    assert grade.score is None
    assert grade.why == "rmsle has no finite value for these predictions."
    json.loads(grade.model_dump_json(), parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


def test_the_score_is_rounded_to_five_decimals(submitted, make_task, prepared):
    submitted.write_text("id,price\n007,10\n8,20\n9,31\n")
    assert grade_submission(submitted, prepared, home=Home(submitted.parent)).score == 0.33333


def test_grading_works_inside_an_event_loop(submitted, make_task, prepared):
    async def graded():
        return await grade_submission_async(submitted, prepared, home=Home(submitted.parent))

    assert anyio.run(graded).score == 2.0


@pytest.mark.parametrize("lenient", [True, False])
def test_grading_a_plain_table_imports_only_what_it_needs(lenient, submitted, make_task, prepared):
    program = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
import assay.grading
light = {name for name in ("numpy", "polars", "anyio") if name in sys.modules}
from assay.tasks import Task
from assay.core.home import Home
path, private, task = Path(sys.argv[1]), Path(sys.argv[2]), Task.model_validate_json(sys.argv[3])
prepared = SimpleNamespace(task=task, private=private, edition="v1", variant="real")
grade = assay.grading.grade_submission(path, prepared, home=Home(path.parent))
print(json.dumps({"light": sorted(light), "score": grade.score, "modules": sorted(sys.modules)}))
"""
    words = [str(submitted), str(prepared.private), make_task(lenient=lenient).model_dump_json()]
    finished = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    report = json.loads(finished.stdout)
    assert report["score"] == 2.0
    assert report["light"] == []
    unwanted = ("sklearn", "scipy", "pandas", "anyio", "asyncio", "rich", "assay.lab", "assay.agents", "assay.models")
    unwanted += ("assay.grading.by_running.speed", "assay.grading.metrics.classification")
    assert [module for module in report["modules"] if module.startswith(unwanted)] == []
