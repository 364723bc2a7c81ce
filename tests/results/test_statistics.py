"""Figures are worked by hand, or come from scipy or a textbook; each test says which."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from synthetic_outcomes import changed, failed, grade, inapplicable, outcome

from assay.results.estimate import (
    estimate_mean,
    summarize_agents,
    summarize_tasks,
)
from assay.results.inference import infer_mean, t_quantile, wilson_interval


def test_mean_and_standard_error_are_those_worked_by_hand():
    # 2, 4, 9: mean 5, squared deviations 9 + 1 + 16 = 26, variance 26 / 2 = 13, error sqrt(13 / 3)
    estimate = estimate_mean([2.0, 4.0, 9.0])
    assert estimate is not None
    assert (estimate.n, estimate.mean, estimate.low, estimate.high) == (3, 5.0, 2.0, 9.0)
    assert estimate.error == pytest.approx(math.sqrt(13 / 3))


def test_standard_error_agrees_with_scipy():
    values = np.random.default_rng(3).normal(0.8, 0.02, size=17)
    estimate = estimate_mean(values.tolist())
    assert estimate is not None and estimate.error == pytest.approx(float(scipy.stats.sem(values)), rel=1e-12)


def test_one_value_has_no_standard_error_and_none_has_no_mean():
    estimate = estimate_mean([0.5])
    assert estimate is not None and estimate.mean == 0.5 and estimate.error is None
    assert estimate_mean([]) is None


@pytest.mark.parametrize(
    ("count", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(count, trials, low, high):
    assert wilson_interval(count, trials) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("trials", [1, 2, 3, 9, 50])
def test_wilson_agrees_with_scipy_and_stays_within_zero_and_one(trials):
    for count in range(trials + 1):
        interval = scipy.stats.binomtest(count, trials).proportion_ci(0.95, method="wilson")
        bounds = wilson_interval(count, trials)
        assert bounds == pytest.approx((interval.low, interval.high), abs=1e-12)
        assert 0 <= bounds[0] <= count / trials <= bounds[1] <= 1


def test_a_cell_summarizes_its_trials():
    # baseline 0.9167, panel of 13: 0.95 beats all but seven, 0.97 all but four, 0.99 all
    (cell,) = summarize_tasks([outcome(score=score, seed=seed) for seed, score in enumerate((0.95, 0.97, 0.99))])
    assert (cell.trials, cell.valid, cell.pending, cell.failures) == (3, 3, 0, {})
    assert cell.score is not None and cell.score.mean == pytest.approx(0.97)
    assert cell.score.error == pytest.approx(0.02 / math.sqrt(3))
    assert cell.rank is not None and cell.rank.mean == pytest.approx((8 + 5 + 1) / 3)
    assert cell.improvement is not None and cell.improvement.mean == pytest.approx(0.97 / 0.9167 - 1)
    assert cell.success is not None and (cell.success.count, cell.success.trials) == (0, 3)


def test_crashed_and_invalid_trials_are_failures_and_stay_out_of_the_mean():
    invalid = outcome(seed=1, grade=grade("pocket/digits", None, why="two columns are missing"))
    (cell,) = summarize_tasks([outcome(score=0.96), invalid, failed("pocket/digits", "starter", 2, "infrastructure")])
    assert (cell.trials, cell.valid, cell.finished) == (3, 1, 3)
    assert cell.failures == {"agent": 1, "infrastructure": 1}
    assert cell.score is not None and cell.score.mean == 0.96
    assert cell.success is not None and cell.success.trials == 3
    assert {reason.reason for reason in cell.reasons} == {
        "two columns are missing",
        "python train.py ended with exit code 1",
    }


def test_a_submission_left_by_a_crashed_trial_does_not_count():
    (cell,) = summarize_tasks([outcome(score=0.99, status="failed", cause="agent", why="crashed")])
    assert cell.valid == 0 and cell.score is None and cell.failures == {"agent": 1}


def test_a_stopped_trial_is_a_failure_caused_by_the_user():
    (cell,) = summarize_tasks([outcome(status="stopped", cause=None, grade=None)])
    assert cell.failures == {"user": 1}


@pytest.mark.parametrize("score", [math.inf, -math.inf, math.nan])
def test_a_score_that_is_not_a_finite_number_is_not_valid(score):
    (cell,) = summarize_tasks(
        [outcome(score=0.9, grade=grade("pocket/digits", 0.9).model_copy(update={"score": score}))]
    )
    assert cell.valid == 0 and cell.failures == {"agent": 1}
    assert cell.reasons[0].reason == "the score is not a finite number"


def test_pending_trials_are_neither_valid_nor_failed():
    waiting = [
        outcome(seed=seed, status=status, grade=None) for seed, status in enumerate(("waiting", "running", "submitted"))
    ]
    ungraded = outcome(seed=3, grade=None)
    (cell,) = summarize_tasks([*waiting, ungraded, outcome(seed=4)])
    assert (cell.trials, cell.pending, cell.valid, cell.finished) == (5, 4, 1, 1)
    (line,) = summarize_agents([*waiting, ungraded, outcome(seed=4)])
    assert line.valid_rate is not None and (line.valid_rate.count, line.valid_rate.trials) == (1, 1)


def test_editions_variants_and_suites_are_never_mixed():
    mixed = [
        outcome(score=0.8),
        outcome(score=0.9, edition="fixed"),
        outcome(score=1.0, variant="synthetic-7"),
        outcome(score=0.7, task="pocket/digits"),
    ]
    means = {(cell.rules.edition, cell.rules.variant): cell.score.mean for cell in summarize_tasks(mixed) if cell.score}
    assert means == {("v1", "real"): pytest.approx(0.75), ("fixed", "real"): 0.9, ("v1", "synthetic-7"): 1.0}
    assert len(summarize_agents(mixed)) == 3


def test_the_overall_line_counts_failures_and_inapplicable_tasks():
    task = "pocket/house-price"  # baseline 0.1873: 0.13 is a success, 0.18 is not
    lines = summarize_agents(
        [
            outcome(task, "automl", 0, 0.13),
            outcome(task, "automl", 1, 0.18),
            failed(task, "automl", 2, "infrastructure"),
            outcome("pocket/digits", "automl", 0, 0.97),
            inapplicable("pocket/vectorization", "automl"),
        ]
    )
    (line,) = lines
    assert (line.tasks, line.inapplicable_tasks, line.trials) == (3, 1, 5)
    assert line.valid_rate is not None and (line.valid_rate.count, line.valid_rate.trials) == (3, 4)
    assert line.success is not None and (line.success.count, line.success.trials) == (1, 4)
    interval = infer_mean({"house-price": [1, 0, 0], "digits": [0]}).interval
    assert (line.success.low, line.success.high) == (interval.low, interval.high)
    # The trial that the infrastructure failed may have succeeded: two thirds on house prices.
    assert line.means is not None and (line.means.like.worst, line.means.like.best) == pytest.approx((1 / 6, 1 / 3))
    # one third on house prices, none on digits
    assert line.success.value == pytest.approx(1 / 6)


def test_an_agent_that_applies_to_nothing_has_no_rate():
    (line,) = summarize_agents([inapplicable("pocket/vectorization", "automl")])
    assert line.success is None and line.valid_rate is None and line.means is None


def test_medals_decide_success_where_there_is_a_leaderboard():
    board = {"gold_threshold": 0.99, "silver_threshold": 0.98, "bronze_threshold": 0.97}
    gold = grade("pocket/digits", 0.995, **board, any_medal=True, gold_medal=True, success=False)
    none = grade("pocket/digits", 0.93, **board, success=True)
    (cell,) = summarize_tasks([outcome(grade=gold), outcome(seed=1, grade=none)])
    assert cell.medals is not None and (cell.medals.gold, cell.medals.silver, cell.medals.bronze) == (1, 0, 0)
    assert cell.success is not None and (cell.success.count, cell.success.trials) == (1, 2)


def test_a_task_without_a_definition_of_success_has_no_success_rate():
    """Neither of valid trials nor of failed ones, which would otherwise be all that is left to count."""
    grades = [grade("pocket/digits", score, success=None, success_published=None) for score in (0.9, None)]
    (cell,) = summarize_tasks([outcome(grade=graded, seed=seed) for seed, graded in enumerate(grades)])
    assert (cell.valid, cell.failures) == (1, {"agent": 1})
    assert cell.success is None and cell.success_published is None


@pytest.mark.parametrize(("task", "better"), [("pocket/digits", 0.95), ("pocket/house-price", 0.12)])
def test_the_best_mean_follows_the_direction_of_the_metric(task, better):
    worse = 0.15 if better < 0.5 else 0.9
    trials = [outcome(task, "one", seed, better + seed / 1000) for seed in range(3)]
    trials += [outcome(task, "two", seed, worse + seed / 1000) for seed in range(3)]
    cells = summarize_tasks(trials)
    assert [(cell.best, cell.tied) for cell in cells] == [(True, False), (False, False)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0.91, 0.97, 0.94], [0.90, 0.96, 0.93]),  # intervals overlap
        ([0.95], [0.90]),  # single trials have no interval
        ([0.95, 0.951, None], [0.90, 0.901, 0.902]),  # it fails more often than the other
    ],
)
def test_agents_that_the_trials_cannot_tell_apart_are_tied(first, second):
    trials = [
        outcome(agent=agent, seed=seed, score=score) if score else failed("pocket/digits", agent, seed)
        for agent, scores in (("one", first), ("two", second), ("far", [0.1, 0.1001, 0.1002]))
        for seed, score in enumerate(scores)
    ]
    standings = {cell.agent: (cell.best, cell.tied) for cell in summarize_tasks(trials)}
    assert standings["one"] == standings["two"] == (False, True)
    assert standings["far"][0] is False


def test_t_quantiles_are_those_of_printed_tables():
    printed = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 30: 2.042}
    assert {n: round(t_quantile(n, 0.95), 3) for n in printed} == printed


def test_forks_and_rerun_trials_are_in_no_mean_and_no_rate():
    trials = [outcome(seed=1, score=0.9), outcome(seed=2, score=0.8)]
    forked = replace(outcome(seed=1, score=0.5), parent="digits-starter-1", parent_step=4)
    rerun = replace(failed("pocket/digits", "starter", 2), replaced=True)
    assert summarize_tasks([*trials, forked, rerun]) == summarize_tasks(trials)
    assert summarize_agents([*trials, forked, rerun]) == summarize_agents(trials)


def test_one_agent_alone_is_not_the_best():
    assert not any(cell.best for cell in summarize_tasks([outcome()]))


def test_a_cell_is_sealed_only_if_every_trial_that_ran_was():
    trials = [outcome(seed=seed) for seed in range(3)]
    assert summarize_tasks(trials)[0].sealed
    assert not summarize_tasks(changed(trials, lambda o: o.seed == 1, sealed=False))[0].sealed
    assert summarize_tasks(changed(trials, lambda o: o.seed == 1, sealed=False, status="waiting", grade=None))[0].sealed
    assert not summarize_tasks([outcome(grade=grade("pocket/digits", 0.9, sealed=False))])[0].sealed
