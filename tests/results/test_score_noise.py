"""A star is beyond the noise of the test set."""

import numpy as np
import pytest
from synthetic_outcomes import grade, outcome

from assay.grading.metrics.classification import accuracy
from assay.grading.noise import ScoredRows, measure_noise
from assay.results.estimate import summarize_tasks
from assay.results.frame import Frame
from assay.tasks import Registry

ROWS = 10_000


def score(wrong):
    """Return a grade of a submission that is wrong on some of the rows."""
    truth, prediction = np.ones(ROWS), np.ones(ROWS)
    prediction[list(wrong)] = 0
    noise = measure_noise(Registry().task("pocket/digits"), accuracy, ScoredRows(truth, prediction, {}))
    return grade("pocket/digits", float(accuracy(truth, prediction)), noise=noise)


def mark(first, second):
    rows = [outcome(agent=a, seed=s, grade=g) for a, g in (("a", first), ("b", second)) for s in range(3)]
    return [(summary.best, summary.tied) for summary in summarize_tasks(rows)], Frame(rows)


def test_deterministic_agents_that_differ_by_a_row_of_ten_thousand_are_tied():
    first, second = score(range(999)), score(range(1000, 2000))  # .9001 against .9000
    marks, frame = mark(first, second)
    assert marks == [(False, True), (False, True)]
    without = (g.model_copy(update={"noise": None}) for g in (first, second))
    assert mark(*without)[0] == [(True, False), (False, False)]  # a grade that does not know its noise
    binomial = np.sqrt(0.9 * 0.1 / ROWS)
    assert frame[0].score_error == pytest.approx(binomial, rel=0.3)


def test_a_difference_beyond_the_noise_of_its_rows_is_a_star():
    assert mark(score(range(900)), score(range(1200)))[0] == [(True, False), (False, False)]  # 300 rows, paired
