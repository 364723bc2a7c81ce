"""What the noise of the test set changes: stars, and the oracle of the scaling study."""

import numpy as np
import pytest
from synthetic_outcomes import grade, outcome

from assay.grading.metrics.classification import accuracy
from assay.grading.noise import ScoredRows, measure_noise
from assay.results.estimate import summarize_tasks
from assay.results.frame import Frame
from assay.results.progress import make_end, mark_best, reach_oracle
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
    assert mark(*without)[0] == [(False, True), (False, True)]  # a grade that does not know its noise
    binomial = np.sqrt(0.9 * 0.1 / ROWS)
    assert frame[0].score_error == pytest.approx(binomial, rel=0.3)


def test_a_difference_beyond_the_noise_of_its_rows_is_a_star():
    assert mark(score(range(900)), score(range(1200)))[0] == [(True, False), (False, False)]  # 300 rows, paired


def test_an_oracle_gains_nothing_from_choosing_among_equally_good_submissions():
    """The best of 50 submissions on 1,000 rows, all right on 80% of cases, seems 2.8 points better than it is."""
    random = np.random.default_rng(6)
    task, naive, split = Registry().task("pocket/digits"), [], []
    for _ in range(8):
        rows = []
        for step in range(50):
            prediction = (random.random(1000) < 0.8).astype(float)
            noise = measure_noise(task, accuracy, ScoredRows(np.ones(1000), prediction, {}))
            graded = grade("pocket/digits", float(prediction.mean()), noise=noise)
            rows.append(make_end(outcome(grade=graded, steps=step)))
        marked = list(mark_best(rows, "higher"))
        naive.append(max(row.score for row in marked) - 0.8)
        split.append(reach_oracle(marked, "steps", [49.0], "score")[0] - 0.8)
    assert np.mean(naive) == pytest.approx(0.028, abs=0.004)
    assert abs(np.mean(split)) < 0.008  # its own error is 0.0126 / √16
