"""Curves over time: step functions of trials, averaged over tasks, on numbers worked by hand."""

import pytest

from assay.results.curve_points import CurvePoint
from assay.results.curves import TrialPoints, make_curves
from assay.results.outcome import Outcome


def trial(task, agent, *points, direction="higher"):
    outcome = Outcome(
        task=task, title=task, metric="accuracy", direction=direction, agent=agent, seed=1, edition="v1",
        variant="real", status="done", cause=None, why=None, grade=None, elapsed=0.0, steps=0, sealed=True,
    )  # fmt: skip
    return TrialPoints(outcome, tuple(points))


def point(at, score=None, success=None, percentile=None):
    return CurvePoint(step=at, elapsed=float(at), cost=None, score=score, success=success, percentile=percentile)


def at(curve, place, values):
    """Return the value at a place of the axis."""
    return values[max(index for index, x in enumerate(curve.x) if x <= place + 1e-9)]


def test_the_mean_is_over_tasks_and_not_over_trials():
    trials = [
        trial("a", "x", point(5, 0.9, True), point(10, 0.9, True)),
        trial("a", "x", point(10, 0.9, True)),
        trial("b", "x", point(10, 0.1, False)),
    ]
    (curve,) = make_curves(trials, "success", "time")
    assert (curve.tasks, curve.trials) == (2, 3)
    assert at(curve, 0, curve.own) == 0.0
    assert at(curve, 7, curve.own) == pytest.approx(0.25)  # one of two trials of a, none of b: (1/2 + 0) / 2
    assert at(curve, 10, curve.own) == pytest.approx(0.5)  # (1 + 0) / 2
    # Standard error of 1 and 0: their deviation is sqrt(1/2), over sqrt(2) tasks that is 1/2; limited to shares.
    assert at(curve, 10, curve.interval).low == 0.0 and at(curve, 10, curve.interval).high == 1.0


def test_the_own_pick_can_become_worse_and_the_best_so_far_cannot():
    trials = [trial("a", "x", point(2, 0.5), point(4, 0.9), point(6), point(8, 0.7))]
    (curve,) = make_curves(trials, "score", "steps")
    assert at(curve, 1, curve.own) is None and at(curve, 1, curve.best) is None
    assert [at(curve, x, curve.own) for x in (3, 5, 7, 8)] == [0.5, 0.9, None, 0.7]
    assert [at(curve, x, curve.best) for x in (3, 5, 7, 8)] == [0.5, 0.9, 0.9, 0.9]
    (lower,) = make_curves([trial("a", "x", point(2, 0.5), point(8, 0.9), direction="lower")], "score", "steps")
    assert at(lower, 8, lower.best) == 0.5 and at(lower, 8, lower.own) == 0.9


def test_one_task_has_a_band_over_seeds():
    trials = [trial("a", "x", point(1, 0.4)), trial("a", "x", point(1, 0.6))]
    (curve,) = make_curves(trials, "score", "steps")
    # The deviation of 0.4 and 0.6 is 0.2 / sqrt(2), the error of their mean 0.1.
    found = at(curve, 1, curve.interval)
    assert (found.low, found.high) == (pytest.approx(0.5 - 0.196), pytest.approx(0.5 + 0.196))
    with pytest.raises(ValueError, match="different tasks"):
        make_curves([*trials, trial("b", "x", point(1, 0.4))], "score", "steps")


def test_what_cannot_be_placed_or_drawn_is_left_out():
    trials = [trial("a", "x", point(1, float("inf")), point(2, float("nan")))]
    (curve,) = make_curves(trials, "score", "steps")
    assert set(curve.own) == {None}
    (curve,) = make_curves([trial("a", "x", point(1, 0.5, True))], "success", "cost")
    assert set(curve.own) == {0.0}
