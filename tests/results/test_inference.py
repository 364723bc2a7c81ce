"""Errors, intervals, tests and ranks equal those of statistics packages and numbers worked by hand."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests

from assay.results import inference
from assay.results.claims import claim_attempts, complete_outcomes

HAND = {"a": [1, 1, 0], "b": [0, 0, 0], "c": [1, 1, 1], "d": [0, 1, 0]}


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


def test_the_interquartile_mean_is_a_trimmed_mean():
    sample = draw(4)
    values = [value for scores in sample.values() for value in scores]
    assert inference.sample_iqm(sample) == pytest.approx(stats.trim_mean(values, 0.25))
    assert inference.sample_iqm({"a": [0, 1, 2, 3], "b": [100]}) == pytest.approx(2)  # 1, 2, 3 of five


def test_holm_is_that_of_statsmodels():
    p_values = [0.01, 0.04, 0.03, 0.005, 0.9]
    allowed = zip(p_values, inference.holm_allowances(p_values, len(p_values)), strict=True)
    assert [p * number <= 0.05 for p, number in allowed] == list(multipletests(p_values, method="holm")[0])


def test_the_probability_of_improvement_by_hand():
    first, second = {"a": [1.0, 0.0], "b": [2.0]}, {"a": [0.0, 0.0], "b": [3.0]}
    assert inference.improvement_by_task(first, second) == {"a": [0.75], "b": [0.0]}
    sample, other = draw(7), draw(8)
    u = [stats.mannwhitneyu(sample[task], other[task]).statistic / 9 for task in sample]
    assert [value for (value,) in inference.improvement_by_task(sample, other).values()] == pytest.approx(u)


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


def test_passing_once_and_always_over_tasks():
    """Worked by hand: 2 of 4 and 4 of 4; pass@2 of the first is 1 − C(2,2)/C(4,2) = 5/6, pass^2 is C(2,2)/C(4,2)."""
    curves = claim_attempts(complete_outcomes("x", "success", {"a": [1.0, 0.0, 1.0, 0.0], "b": [1.0] * 4}))
    at, every = ({k: claim.value for k, claim in curve.items()} for curve in curves)
    assert at == pytest.approx({1: 0.75, 2: (5 / 6 + 1) / 2, 3: 1.0, 4: 1.0})
    assert every == pytest.approx({1: 0.75, 2: (1 / 6 + 1) / 2, 3: 0.5, 4: 0.5})
    assert curves[0][2].estimand.measure == "pass@2" and curves[0][2].population == "tasks like these"


def test_holm_allows_for_fewer_comparisons_after_each_rejection():
    # 0.01 · 3 and 0.02 · 2 are below 5%, 0.04 · 1 as well; 0.03 · 2 is not, and stops it.
    assert inference.holm_allowances([0.02, 0.01, 0.04], 3) == [2, 3, 1]
    assert inference.holm_allowances([0.03, 0.01, 0.04], 3) == [2, 3, 2]
    assert inference.holm_allowances([0.01], 6) == [6]


def test_means_of_agents_that_differ_by_chance_are_drawn_together():
    random = np.random.default_rng(0)
    alike = [{str(task): [random.random()] for task in range(20)} for _ in range(10)]
    means, shrunken = [inference.mean_over_tasks(sample) for sample in alike], inference.shrink_means(alike)
    assert max(shrunken) - 0.5 < 0.6 * (max(means) - 0.5)
    apart = [{str(task): [0.1 * agent] for task in range(20)} for agent in range(10)]
    assert inference.shrink_means(apart) == pytest.approx([0.1 * agent for agent in range(10)])


def test_the_probability_of_being_best_is_shared_by_equals_and_high_for_a_clear_leader():
    equal = {str(task): [float(task % 2)] for task in range(12)}
    assert inference.probability_of_best([equal, equal]) == pytest.approx([0.5, 0.5], abs=0.02)
    best = inference.probability_of_best([{task: [1.0] for task in equal}, {task: [0.0] for task in equal}])
    assert best[0] > 0.99


def test_families_are_one_observation_each():
    sample = {str(task): [float(task < 12)] for task in range(24)}
    families = {str(task): str(task // 3) for task in range(24)}
    alone, together = (inference.infer_mean(sample, families=each).interval for each in (None, families))
    # Eight families of which four succeed have the interval of eight tasks of which four do.
    eight = inference.infer_mean({str(task): [float(task < 4)] for task in range(8)}).interval
    assert together.low == pytest.approx(eight.low) and together.high == pytest.approx(eight.high)
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


@pytest.mark.parametrize(("trials", "spread"), [((2, 16), (0.2, 0.02)), ((16, 2), (0.02, 0.2)), ((2, 16), (0.02, 0.2))])
def test_few_trials_that_vary_more_than_many_are_no_difference_on_these_tasks(trials, spread):
    """Two agents with the same means; 300 repetitions, of which a test at 5% may reject 25 (by 3 standard errors)."""
    random, rejected = np.random.default_rng(5), 0
    for _ in range(300):
        means = random.uniform(0.35, 0.65, 4)
        first, second = (
            {str(task): np.clip(random.normal(mean, error, count), 0, 1).tolist() for task, mean in enumerate(means)}
            for count, error in zip(trials, spread, strict=True)
        )
        rejected += inference.test_difference_here(first, second) <= 0.05
    assert rejected <= 25
