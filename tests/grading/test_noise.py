"""The noise of a test set: the error of a score, of a difference, and what follows from it."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

from assay.grading import Grade
from assay.grading.grade import make_grade
from assay.grading.isolated import SMALL, judge_isolated
from assay.grading.metrics.classification import accuracy, roc_auc
from assay.grading.metrics.regression import mae, rmse
from assay.grading.noise import ScoredRows, average_noise, difference_error, measure_noise
from assay.grading.result import Judgement, TestNoise
from assay.tasks import Leaderboard, Measured

TASK = SimpleNamespace(id="made-up/prices")
BOARD = Leaderboard(gold=1.0, silver=1.5, bronze=2.0, median=3.0, teams=10)


def noise_of(function, truth, prediction, **fields):
    return measure_noise(TASK, function, ScoredRows(truth, prediction, {}, **fields))


def make_prices(rows, seed=0):
    random = np.random.default_rng(seed)
    truth = random.normal(size=rows)
    return truth, truth + random.normal(size=rows)


def test_error_of_a_mean_over_few_rows_is_the_standard_error_of_scipy():
    truth, prediction = make_prices(20)  # each row is a block
    assert noise_of(mae, truth, prediction).error == pytest.approx(
        scipy.stats.sem(np.abs(truth - prediction)), rel=1e-4
    )


def test_rows_of_a_unit_count_as_one_observation():
    truth, prediction = make_prices(20)
    repeated = noise_of(mae, np.repeat(truth, 10), np.repeat(prediction, 10), units=np.repeat(np.arange(20), 10))
    alone = noise_of(mae, truth, prediction)
    assert repeated.error == pytest.approx(alone.error, rel=1e-4)
    assert noise_of(mae, np.repeat(truth, 10), np.repeat(prediction, 10)).error < 0.5 * alone.error


@pytest.mark.parametrize("rows", [400, 100_000])  # of the second, a part is divided into blocks
def test_error_is_close_to_the_formula_of_the_metric(rows):
    truth, prediction = make_prices(rows)
    squares = (truth - prediction) ** 2
    delta = scipy.stats.sem(squares) / (2 * np.sqrt(squares.mean()))  # of √x at the mean of squares
    assert noise_of(rmse, truth, prediction).error == pytest.approx(delta, rel=0.3)
    labels = np.random.default_rng(1).random(rows) < 0.9
    binomial = np.sqrt(labels.mean() * (1 - labels.mean()) / rows)
    assert noise_of(accuracy, np.ones(rows, bool), labels).error == pytest.approx(binomial, rel=0.3)


def test_error_of_a_metric_that_is_no_mean_is_close_to_the_bootstrap():
    random = np.random.default_rng(2)
    truth = random.integers(0, 2, 600)
    prediction = 0.8 * truth + random.normal(size=600)

    def area(rows):
        return roc_auc(truth[rows], prediction[rows])

    bootstrap = scipy.stats.bootstrap(
        (np.arange(600),), area, vectorized=False, n_resamples=300, method="basic", rng=np.random.default_rng(3)
    )
    assert noise_of(roc_auc, truth, prediction).error == pytest.approx(bootstrap.standard_error, rel=0.25)


def test_noise_that_two_submissions_share_cancels_out():
    truth, first = make_prices(20)
    second = first + np.where(np.arange(20) < 3, 0.5, 0.0)  # another prediction of three rows
    noises = noise_of(mae, truth, first), noise_of(mae, truth, second)
    differences = np.abs(truth - first) - np.abs(truth - second)
    assert difference_error(*noises) == pytest.approx(scipy.stats.sem(differences), rel=1e-3)
    assert difference_error(noises[0], noises[0]) == 0
    unpaired = noises[1].model_copy(update={"key": "other rows"})
    assert difference_error(noises[0], unpaired) == pytest.approx(np.hypot(noises[0].error, noises[1].error))
    assert difference_error(noises[0], None) is None
    mean = average_noise(noises)
    assert mean is not None
    both = (np.abs(truth - first) + np.abs(truth - second)) / 2
    assert mean.error == pytest.approx(scipy.stats.sem(both), rel=1e-3)


@pytest.mark.parametrize(
    ("rows", "prediction", "reason"),
    [
        (5, 1.0, "the test set has only 5 independent parts"),
        (50, 0.0, "the score is the same whichever test rows are left out"),
    ],
)
def test_noise_that_cannot_be_estimated_says_why(rows, prediction, reason):
    noise = noise_of(mae, np.zeros(rows), np.full(rows, prediction) * np.arange(rows))
    assert (noise.error, noise.why) == (None, reason)


def test_a_metric_without_a_value_on_a_part_of_the_rows_has_no_noise():
    truth = np.zeros(40)
    truth[3] = 1  # the only positive row
    noise = noise_of(roc_auc, truth, np.arange(40.0))
    assert (noise.error, noise.why) == (None, "the metric has no finite value on a part of the test rows")


def as_csv(values):
    return "id,price\n" + "".join(f"{row},{value!r}\n" for row, value in enumerate(values))


def test_a_grade_stores_its_noise_and_grades_again_alike(make_task, graded):
    truth, prediction = make_prices(200)
    answers, submission = as_csv(truth.tolist()), as_csv(prediction.tolist())
    grade, again = (graded(make_task(), answers, submission) for _ in range(2))
    assert grade.noise == again.noise and grade.score_error == pytest.approx(
        scipy.stats.sem(np.abs(truth - prediction)), rel=0.3
    )
    content = json.loads(grade.model_dump_json())
    assert Grade.model_validate(content) == grade
    del content["noise"]  # a grade of an earlier version
    assert Grade.model_validate(content).score_error is None
    shuffled = [*submission.splitlines()[:1], *reversed(submission.splitlines()[1:])]
    assert graded(make_task(), answers, "\n".join(shuffled)).noise == grade.noise


def test_an_isolated_process_returns_the_same_noise(make_task, prepared):
    truth, prediction = make_prices(60_000)
    (prepared.private / "answers.csv").write_text(as_csv(truth.tolist()))
    manifest = SimpleNamespace(private={"answers.csv": SimpleNamespace(size=SMALL)})
    data = SimpleNamespace(**vars(prepared), manifest=manifest)
    content = as_csv(prediction.tolist()).encode()
    assert len(content) > SMALL
    judgement = judge_isolated(content, data)
    assert judgement.noise.error == pytest.approx(scipy.stats.sem(np.abs(truth - prediction)), rel=0.3)


def test_units_come_from_a_column_of_the_answers_or_a_part_of_it(make_task, graded):
    truth, prediction = make_prices(20)
    names = [f"{unit}_{row}" for unit in range(20) for row in range(4)]

    def table(values):
        return "id,price\n" + "".join(f"{n},{v!r}\n" for n, v in zip(names, np.repeat(values, 4).tolist(), strict=True))

    task = make_task()
    by_unit = task.model_copy(update={"metric": task.metric.model_copy(update={"unit": "id:^([0-9]+)_"})})
    rows, units = (graded(each, table(truth), table(prediction)).score_error for each in (task, by_unit))
    assert units == pytest.approx(scipy.stats.sem(np.abs(truth - prediction)), rel=1e-3)
    assert rows < units


@pytest.mark.parametrize(
    ("score", "error", "probability"),
    [(2.0, 0.1, 0.5), (1.9, 0.1, 0.841), (2.1, 0.1, 0.159), (1.9, None, None)],  # Φ(0), Φ(1), Φ(−1)
)
def test_probability_of_a_medal_follows_from_the_noise(score, error, probability, make_task, prepared):
    data = replace(prepared, task=make_task(leaderboard=BOARD))
    grade = make_grade(b"", data, Judgement(score=score, noise=TestNoise(error=error)))
    assert grade.medal_probability == (None if probability is None else pytest.approx(probability, abs=5e-4))


@pytest.mark.parametrize(("error", "success"), [(None, True), (0.9, True), (1.1, False)])
def test_success_is_beyond_the_noise_of_the_test_set(error, success, make_task, prepared):
    measured = Measured.constant(4.0, "v1", "real")
    data = replace(prepared, task=make_task(measured=measured))
    grade = make_grade(b"", data, Judgement(score=2.0, noise=TestNoise(error=error)))
    assert (grade.success, grade.success_published) == (success, True)  # a gain of 2, against two errors
