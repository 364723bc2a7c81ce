"""Curves over time: step functions of trials, averaged over tasks, on numbers worked by hand."""

import pytest
from scipy import stats

from assay.core.values import Estimate
from assay.results.curves import make_curves
from assay.results.estimate import interval_half_width
from assay.results.progress import ProgressRow


def row(task, at, score=None, success=None, *, best=None, **fields):
    """A pick after step `at`, which took as many seconds; better than all before it unless `best` says otherwise."""
    defaults = dict.fromkeys(ProgressRow.__dataclass_fields__) | {"tokens": 0, "seed": 1, "end": False}
    judged = {"valid": score is not None, "score": score, "success": success}
    position = {"trial": f"{task}-1", "task": task, "agent": "x", "step": at, "elapsed": float(at)}
    flags = {"picked": True, "best": score is not None if best is None else best}
    return ProgressRow(**(defaults | judged | position | flags | fields))


def state(curve, level, name):
    """Return the claim of a curve at a level, or the mean score."""
    return getattr([point for point in curve.points if point.level <= level + 1e-9][-1], name)


def at(curve, level, name):
    """Return the value of a curve at a level."""
    known = state(curve, level, name)
    return known if known is None else known.mean if isinstance(known, Estimate) else known.value


def test_the_mean_is_over_tasks_and_not_over_trials():
    trials = [
        [row("a", 5, 0.9, True), row("a", 10, 0.9, True, best=False)],
        [row("a", 10, 0.9, True)],
        [row("b", 10, 0.1, False)],
    ]
    (curve,) = make_curves(trials, "success", "time")
    assert (curve.tasks, curve.trials) == (2, 3)
    assert at(curve, 0, "picked") == 0.0
    assert at(curve, 7, "picked") == pytest.approx(0.25)  # one of two trials of a, none of b: (1/2 + 0) / 2
    assert at(curve, 10, "picked") == pytest.approx(0.5)  # (1 + 0) / 2
    # With weights of two tasks and two thirds of a further one, the limits are quantiles of Beta(1, 5/3).
    assert state(curve, 10, "picked").low == pytest.approx(stats.beta(1, 5 / 3).ppf(0.025), abs=0.01)
    assert state(curve, 10, "picked").high == pytest.approx(1 - stats.beta(1, 5 / 3).ppf(0.025), abs=0.01)


def test_the_pick_can_become_worse_and_the_best_so_far_cannot():
    trial = [row("a", 2, 0.5), row("a", 4, 0.9), row("a", 6), row("a", 8, 0.7, best=False)]
    (curve,) = make_curves([trial], "score", "steps")
    assert at(curve, 1, "picked") is None and at(curve, 1, "best") is None
    assert [at(curve, step, "picked") for step in (3, 5, 7, 8)] == [0.5, 0.9, None, 0.7]
    assert [at(curve, step, "best") for step in (3, 5, 7, 8)] == [0.5, 0.9, 0.9, 0.9]


def test_the_best_so_far_includes_what_a_search_did_not_pick():
    trial = [
        row("a", 1, 0.5),
        row("a", 2, 0.5, best=False),
        row("a", 2, 0.9, picked=False),
        row("a", 3, 0.6, best=False),
    ]
    (curve,) = make_curves([trial], "score", "steps")
    assert [at(curve, step, "picked") for step in (1, 2, 3)] == [0.5, 0.5, 0.6]
    assert [at(curve, step, "best") for step in (1, 2, 3)] == [0.5, 0.9, 0.9]


def test_a_single_task_has_a_band_over_seeds():
    trials = [[row("a", 1, 0.4)], [row("a", 1, 0.6)]]
    (curve,) = make_curves(trials, "score", "steps")
    # Student's interval with one degree of freedom: 0.5 ± 12.706 · 0.1.
    assert interval_half_width(state(curve, 1, "picked")) == pytest.approx(1.2706, abs=1e-4)
    with pytest.raises(ValueError, match="different tasks"):
        make_curves([*trials, [row("b", 1, 0.4)]], "score", "steps")


def test_a_score_too_large_to_draw_is_missing():
    (curve,) = make_curves([[row("a", 1, 1e200)]], "score", "steps")
    assert {point.picked for point in curve.points} == {None}


def test_an_unknown_cost_has_no_position_on_the_axis():
    (curve,) = make_curves([[row("a", 1, 0.5, True)]], "success", "cost")
    assert {point.picked.value for point in curve.points} == {0.0}
