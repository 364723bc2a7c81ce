"""Errors, intervals, tests and ranks equal those of statistics packages and numbers worked by hand."""

import math

import choix
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from assay.results import inference

HAND = {"a": [1, 1, 0], "b": [0, 0, 0], "c": [1, 1, 1], "d": [0, 1, 0]}
STRATA = {"a": "low", "b": "low", "c": "high", "d": "high"}


def draw(seed: int, tasks: int = 30, seeds: int = 3) -> dict[str, list[float]]:
    random = np.random.default_rng(seed)
    return {f"t{task}": random.random(seeds).tolist() for task in range(tasks)}


def test_errors_worked_by_hand():
    # Means by task: 2/3, 0, 1, 1/3; by seed: 1/2, 3/4, 1/4; 6 of 12 trials succeed.
    assert inference.mean_over_tasks(HAND) == pytest.approx(0.5)
    assert inference.task_error(HAND) == pytest.approx(math.sqrt((1 / 36 + 1 / 4 + 1 / 4 + 1 / 36) / 12))
    assert inference.seed_error(HAND) == pytest.approx(0.25 / math.sqrt(3))
    assert inference.attempt_error(HAND) == pytest.approx(math.sqrt(0.25 / 12))
    assert inference.seed_error({"a": [1, 1], "b": [0, 0]}) == 0
    assert inference.seed_error({"a": [1, 1], "b": [0]}) is None
    assert inference.task_error({"a": [1, 0]}) is None


def test_the_task_error_is_that_of_a_regression_clustered_by_task():
    sample = draw(1)
    values = [value for scores in sample.values() for value in scores]
    groups = [index for index, scores in enumerate(sample.values()) for _ in scores]
    fitted = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": np.array(groups), "use_correction": False}
    )
    # Without its small-sample correction, which multiplies the variance by T / (T - 1).
    assert inference.task_error(sample) == pytest.approx(fitted.bse[0] * math.sqrt(30 / 29))
    assert inference.seed_error(sample) == pytest.approx(stats.sem(np.array(list(sample.values())).mean(axis=0)))


def test_the_bootstrap_over_tasks_alone_is_that_of_scipy():
    sample = {task: values[:1] for task, values in draw(2).items()}
    ours = inference.bootstrap_interval(sample, resamples=20_000)
    theirs = stats.bootstrap(
        ([value for (value,) in sample.values()],), np.mean, n_resamples=20_000, method="percentile", rng=0
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.005)


def test_the_bootstrap_is_seeded_covers_seeds_and_respects_strata():
    sample = draw(3)
    assert inference.bootstrap_interval(sample) == inference.bootstrap_interval(sample)
    wide = inference.bootstrap_interval({"a": [0, 1] * 10})  # one task: only its seeds vary
    assert 0 < wide.low < 0.5 < wide.high < 1
    # Within strata the mean is ½ + k/4 with k of two draws; regardless of them k/4 with k binomial of 4 and p = ¾.
    mixed = {"a": [1], "b": [1], "c": [1], "d": [0]}
    for compute in (inference.bootstrap_interval, inference.rate_interval):
        assert compute(mixed, strata=STRATA) == inference.Interval(0.5, 1.0)
        assert compute(mixed) == inference.Interval(0.25, 1.0)
    ragged = inference.bootstrap_interval({"a": [1, 1, 1], "b": [0]})
    assert (ragged.low, ragged.high) == (0, 1)


@pytest.mark.parametrize(
    "strata",
    [
        {task: task for task in "abcd"},  # each task alone in its split
        STRATA,  # all tasks of each split agree
        {"a": "one", "b": "other", "c": "other", "d": "other"},  # one task alone
    ],
)
def test_splits_in_which_nothing_varies_do_not_make_a_rate_certain(strata):
    """Successes by hand: regardless of splits their number is binomial of 4 tasks and p = ½, so that 0 to 4 remain."""
    sample = {"a": [1], "b": [1], "c": [0], "d": [0]}
    for compute in (inference.bootstrap_interval, inference.rate_interval):
        assert compute(sample, strata=strata) == inference.Interval(0.0, 1.0)
    none, half = {task: [0] for task in sample}, {task: [value / 2] for task, (value,) in sample.items()}
    intervals = inference.difference_intervals([sample, none, half], [(0, 1), (2, 1)], strata=strata)
    assert intervals == [inference.Interval(0.0, 1.0), inference.Interval(0.0, 0.5)]


def test_a_difference_that_is_the_same_on_every_task_has_the_interval_of_the_score_test():
    """Tango's: z² = (wins − losses − Tδ)² / (T(2q + δ(1 − δ))), q being the likeliest share of losses given δ."""

    def score(wins: int, tasks: int, difference: float) -> float:
        shares = np.linspace(0, (1 - difference) / 2, 100_001)  # of losses; wins have as much more as the difference
        likelihood = (shares + difference) ** wins * np.maximum(1 - difference - 2 * shares, 0) ** (tasks - wins)
        q = shares[np.argmax(likelihood)]
        return (wins - tasks * difference) ** 2 / (tasks * (2 * q + difference * (1 - difference)))

    always, never = {task: [1, 1] for task in "abcdefgh"}, {task: [0] for task in "abcdefgh"}
    equal, better, worse = inference.difference_intervals([always, never, never], [(1, 2), (0, 1), (1, 0)])
    assert score(0, 8, equal.high) == pytest.approx(1.96**2, rel=1e-3) and equal.low == -equal.high
    assert score(8, 8, better.low) == pytest.approx(1.96**2, rel=1e-3) and better.high == 1
    assert (worse.low, worse.high) == (-better.high, -better.low)


@pytest.mark.parametrize("sizes", [[1] * 40, [3] * 30, [2, 3, 4] * 9, [19, 20] * 15])
def test_the_exact_interval_of_a_rate_is_that_of_many_resamples(sizes):
    random = np.random.default_rng(4)
    sample = {
        str(task): (random.random(size) < random.random()).astype(float).tolist() for task, size in enumerate(sizes)
    }
    strata = {task: "abc"[int(task) % 3] for task in sample}
    exact, drawn = (
        inference.rate_interval(sample, strata=strata),
        inference.bootstrap_interval(sample, strata=strata, resamples=20_000),
    )
    assert (exact.low, exact.high) == pytest.approx((drawn.low, drawn.high), abs=0.01)


def test_the_exact_interval_by_hand():
    # The mean of two tasks drawn from {1, 0} is 0, ½ or 1 with probabilities ¼, ½ and ¼; of six tasks like these,
    # the number of successes is binomial with p = ½: at most 0 with probability 1/64 < 2.5%, at most 1 with 7/64.
    assert inference.rate_interval({"a": [1], "b": [0]}) == inference.Interval(0, 1)
    six = {name: [float(name in "abc")] for name in "abcdef"}
    assert inference.rate_interval(six) == inference.Interval(pytest.approx(1 / 6), pytest.approx(5 / 6))


def test_the_interquartile_mean_is_a_trimmed_mean():
    sample = draw(4)
    values = [value for scores in sample.values() for value in scores]
    assert inference.sample_iqm(sample) == pytest.approx(stats.trim_mean(values, 0.25))
    assert inference.sample_iqm({"a": [0, 1, 2, 3], "b": [100]}) == pytest.approx(2)  # 1, 2, 3 of five


def test_the_performance_profile_by_hand():
    assert inference.performance_profile(HAND, [-1, 0, 0.5, 1]) == pytest.approx([1, 0.5, 0.5, 0])


@pytest.mark.parametrize("values", ["continuous", "thirds", "ones"])
def test_the_sign_flip_test_is_that_of_scipy(values: str):
    random = np.random.default_rng(5)
    differences = {
        "continuous": random.normal(0.4, 1, 12),
        "thirds": random.integers(-2, 4, 12) / 3,
        "ones": random.integers(0, 2, 12).astype(float),
    }[values]
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    ours = inference.sign_flip_test(differences.tolist())
    assert ours.exact
    assert ours.p == pytest.approx(theirs.pvalue)


def test_the_sign_flip_test_is_exact_for_75_tasks_of_rates_and_drawn_for_others():
    # 40 wins and 20 losses of one step each: the sum is at least 20 from 0 as often as a binomial is beyond 40 of 60.
    ours = inference.sign_flip_test([1 / 3] * 40 + [-1 / 3] * 20 + [0.0] * 15)
    assert ours.exact
    assert ours.p == pytest.approx(stats.binomtest(40, 60).pvalue)
    assert inference.sign_flip_test([0.0] * 5) == inference.SignFlipTest(1.0, True)
    drawn = inference.sign_flip_test(np.random.default_rng(6).normal(0, 1, 75).tolist())
    assert not drawn.exact
    values = np.random.default_rng(6).normal(0, 1, 75)
    assert drawn.p == pytest.approx(2 * stats.norm.sf(abs(values.sum()) / math.sqrt((values**2).sum())), abs=0.02)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (5, 0), (3, 7), (20, 9)])
def test_mcnemar_is_that_of_statsmodels(first: int, second: int):
    theirs = mcnemar([[10, first], [second, 10]], exact=True).pvalue if first + second else 1.0
    assert inference.mcnemar_test(first, second) == pytest.approx(theirs)


def test_holm_is_that_of_statsmodels():
    p_values = [0.01, 0.04, 0.03, 0.005, 0.9]
    assert inference.holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_the_probability_of_improvement_by_hand():
    first, second = {"a": [1.0, 0.0], "b": [2.0]}, {"a": [0.0, 0.0], "b": [3.0]}
    assert inference.probability_of_improvement(first, second) == pytest.approx((0.75 + 0) / 2)
    sample, other = draw(7), draw(8)
    u = [stats.mannwhitneyu(sample[task], other[task]).statistic / 9 for task in sample]
    assert inference.probability_of_improvement(sample, other) == pytest.approx(np.mean(u))


def test_bradley_terry_strengths_are_those_of_choix():
    wins = np.array([[0, 7, 9], [3, 0, 6], [1, 4, 0]])
    games = [(i, j) for i in range(3) for j in range(3) for _ in range(2 * wins[i, j])]
    ties = [(i, j) for i in range(3) for j in range(3) if i != j]  # half a win each way, counted twice like the games
    assert inference.bradley_terry(wins.astype(float)) == pytest.approx(choix.ilsr_pairwise(3, games + ties), abs=1e-6)
    unbeaten = inference.bradley_terry(np.array([[0.0, 5.0], [0.0, 0.0]]))
    assert unbeaten == pytest.approx([math.log(5.5 / 0.5) / 2, -math.log(5.5 / 0.5) / 2])


def test_wins_are_counted_by_task_and_intervals_cover_the_strength():
    samples = [{"a": [1, 1], "b": [0, 1]}, {"a": [0, 1], "b": [1, 0]}]
    assert inference.count_wins(samples, ["a", "b"]).tolist() == [[0, 1.5], [0.5, 0]]
    better = {task: [value + 0.2 for value in values] for task, values in draw(9).items()}
    agents = [better, draw(10)]
    strengths = inference.bradley_terry(inference.count_wins(agents, list(better)))
    intervals = inference.bradley_terry_intervals(agents, list(better), resamples=200)
    assert strengths[0] > strengths[1]
    assert all(interval.low < strength < interval.high for interval, strength in zip(intervals, strengths, strict=True))
    # Four wins: half the logarithm of the odds (w + t/2) / (t/2), w being a sum of four exponential weights and t one,
    # at least 0.05. Without that limit w / 4t has an F distribution with 8 and 2 degrees of freedom.
    won, lost = {task: [1] for task in "abcd"}, {task: [0] for task in "abcd"}
    interval = inference.bradley_terry_intervals([won, lost], list(won), resamples=20_000)[0]
    low, high = (math.log(1 + 2 * 4 * stats.f(8, 2).ppf(share)) / 2 for share in (0.025, 0.975))
    assert interval.low == pytest.approx(low, abs=0.05) and low < interval.high < high


def test_power_is_close_to_that_of_a_paired_t_test():
    detectable = inference.detectable_difference(0.4, 75)
    assert detectable == pytest.approx(2.8016 * 0.4 / math.sqrt(75), rel=1e-4)
    assert TTestPower().power(detectable / 0.4, 75, 0.05) == pytest.approx(0.8, abs=0.015)
    # By hand: (2.8016 · 0.3 / 0.05)² = 282.6 and (2.8016 · 0.5 / 0.05)² = 784.9.
    assert inference.tasks_needed(0.05, 0.3) == 283
    assert inference.tasks_needed(0.05, 0.5) == 785


def test_pass_at_k_and_pass_all_k_are_probabilities_of_draws():
    assert inference.pass_at_k(4, 1, 2) == pytest.approx(0.5)
    assert inference.pass_all_k(4, 3, 2) == pytest.approx(0.5)
    assert inference.pass_all_k(4, 1, 2) == 0
    draws = stats.hypergeom(M=10, n=4, N=3)
    assert inference.pass_at_k(10, 4, 3) == pytest.approx(1 - draws.pmf(0))
    assert inference.pass_all_k(10, 4, 3) == pytest.approx(draws.pmf(3))


def test_the_variance_components_are_those_of_a_one_way_analysis_of_variance():
    # Means by task: 2/3, 0, 1, 1/3, with a variance of 5/27. Within tasks: 1/3, 0, 0, 1/3, on average 1/6, so
    # that the noise of a mean over three seeds is 1/18; 5/27 - 1/18 = 7/54 remain for tasks, doubled for two agents.
    alone = inference.estimate_difference_variance(HAND)
    assert alone is not None
    assert (alone.tasks, alone.trials) == pytest.approx((2 * 7 / 54, 2 / 6))
    assert alone.spread(3) == pytest.approx(math.sqrt(2 * 5 / 27))
    groups = list(draw(11).values())
    between = stats.f_oneway(*groups).statistic
    variance = inference.estimate_difference_variance(draw(11))
    assert variance is not None
    # F = 1 + seeds · variance over tasks / variance within.
    assert variance.tasks == pytest.approx(max((between - 1) * variance.trials / 3, 0))
    # An agent compared with its own copy: no difference over tasks, only noise.
    with_itself = inference.estimate_difference_variance(HAND, HAND)
    assert with_itself == inference.DifferenceVariance(tasks=0.0, trials=pytest.approx(1 / 3))
    assert inference.estimate_difference_variance({"a": [1.0], "b": [0.0]}) is None


def test_the_variance_components_predict_the_spread_of_new_differences():
    random = np.random.default_rng(12)

    def sample(seeds: int, effect: np.ndarray) -> dict[str, list[float]]:
        return {str(task): (effect[task] + random.normal(0, 0.5, seeds)).tolist() for task in range(2000)}

    first, second = random.normal(0, 0.3, 2000), random.normal(0, 0.4, 2000)
    variance = inference.estimate_difference_variance(sample(3, first), sample(3, second))
    assert variance is not None
    # By construction: 0.3² + 0.4² over tasks, 2 · 0.5² within.
    assert (variance.tasks, variance.trials) == pytest.approx((0.25, 0.5), rel=0.1)


def difference_interval(first, second):
    return inference.difference_intervals([first, second], [(0, 1)])[0]


def test_the_interval_of_a_difference_draws_tasks_once_for_both_agents_and_then_seeds():
    first = {"a": [1.0, 1.0], "b": [0.0, 0.0], "c": [1.0, 1.0], "d": [0.0, 0.0]}
    # The agents always agree, so that no resample shows a difference, although each rate varies with the tasks.
    assert difference_interval(first, first) == inference.tango_interval(0, 4)
    # Without noise between seeds it is the interval of the differences by task.
    second = {"a": [0.0], "b": [0.0], "c": [1.0], "d": [0.0]}
    by_task = {task: [first[task][0] - second[task][0]] for task in first}
    expected = inference.bootstrap_interval(by_task)
    interval = difference_interval(first, second)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    # Noise between seeds adds to it: a difference of 0 by task is still uncertain.
    noisy = {task: [0.0, 1.0] for task in first}
    interval = difference_interval(noisy, noisy)
    assert interval.low < -0.3 and interval.high > 0.3
    # Values that are no successes are resampled; halved successes have half the interval.
    halved = {task: [value / 2 for value in values] for task, values in noisy.items()}
    resampled = difference_interval(halved, halved)
    assert (2 * resampled.low, 2 * resampled.high) == pytest.approx((interval.low, interval.high), abs=0.01)
    # Several pairs are compared in the same resamples.
    third = inference.difference_intervals([halved, halved, first], [(0, 1), (0, 2)])
    assert (third[0].low, third[0].high) == pytest.approx((resampled.low, resampled.high), abs=0.01)


def test_passing_once_and_always_over_tasks():
    """Worked by hand: 2 of 4 and 4 of 4; pass@2 of the first is 1 − C(2,2)/C(4,2) = 5/6, pass^2 is C(2,2)/C(4,2)."""
    at, every = inference.pass_curves({"a": [1.0, 0.0, 1.0, 0.0], "b": [1.0] * 4})
    assert at == pytest.approx({1: 0.75, 2: (5 / 6 + 1) / 2, 3: 1.0, 4: 1.0})
    assert every == pytest.approx({1: 0.75, 2: (1 / 6 + 1) / 2, 3: 0.5, 4: 0.5})
