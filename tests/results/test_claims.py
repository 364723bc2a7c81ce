"""Claims cannot contradict themselves, and both questions are answered with numbers worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from assay.core.values import Interval
from assay.results import claims, inference
from assay.results.claims import (
    Claim,
    Estimand,
    Evidence,
    Outcomes,
    Population,
    claim_above,
    claim_difference,
    claim_means,
    claim_middle,
    compare_outcomes,
    count_wins,
)
from assay.results.registration import Registration


def outcomes(agent: str, *tasks: list[float], pending: int = 0) -> Outcomes:
    """An agent with these values by task, and so many trials of each task still pending."""
    values = {f"s/{number}": task for number, task in enumerate(tasks)}
    worst = {task: [*known, *[0.0] * pending] for task, known in values.items()}
    best = {task: [*known, *[1.0] * pending] for task, known in values.items()}
    return Outcomes(agent, "success", values, worst, best, {"pending": pending * len(tasks)} if pending else {})


@pytest.mark.parametrize(
    ("value", "interval", "p"),
    [
        pytest.param(0.93, Interval(0.0, 0.5), None, id="estimate outside of its interval"),
        pytest.param(0.3, Interval(0.3, 0.3), None, id="interval of width zero"),
        pytest.param(0.3, Interval(0.1, 0.5), 0.2, id="interval excludes 0 although p is large"),
        pytest.param(0.3, Interval(-0.1, 0.5), 0.01, id="interval includes 0 although p is small"),
    ],
)
def test_a_claim_cannot_contradict_itself(value: float, interval: Interval, p: float | None) -> None:
    estimand, evidence = Estimand("success", ("a",), Population.LIKE), Evidence(3, 3, (9,), "")
    with pytest.raises(ValueError):
        Claim(estimand, value, interval, evidence, worst=value, best=value, p=p)


def test_three_tasks_settle_what_holds_on_them_and_not_beyond() -> None:
    answers = compare_outcomes(outcomes("automl", *[[1.0] * 3] * 3), outcomes("starter", *[[0.0] * 3] * 3))
    # Of the 20 ways to assign six trials of a task, one is as extreme to each side: 2 / 20³.
    assert answers.these.claim.p == pytest.approx(2 / 20**3)
    assert answers.these.outcome == "better"
    # No test over three tasks has a p-value below 2 / 2³.
    assert answers.like.claim.p == pytest.approx(2 / 2**3, abs=0.01)
    assert answers.like.outcome == "not known"
    assert answers.like.claim.interval.low < 0


def test_a_verdict_holds_only_if_missing_trials_cannot_change_it() -> None:
    slow, fast = outcomes("slow", *[[1.0]] * 13, pending=2), outcomes("fast", *[[1.0, 0.0, 0.0]] * 13)
    answers = compare_outcomes(slow, fast)
    assert answers.these.outcome == answers.like.outcome == "not known"
    assert answers.these.claim.worst == pytest.approx(0.0)
    assert answers.these.claim.best == pytest.approx(2 / 3)
    complete = compare_outcomes(replace(slow, worst=slow.values, best=slow.values, missing={}), fast)
    assert complete.these.outcome == "better"


@pytest.mark.parametrize("values", [[0.0] * 8, [1.0] * 8, [0.5] * 8], ids=["none", "all", "half"])
def test_means_have_an_interval_with_width_around_the_estimate(values: list[float]) -> None:
    means = claim_means(outcomes("a", *([value] for value in values)))
    for claim in (means.these, means.like):
        assert claim.interval.low <= claim.value <= claim.interval.high
        assert claim.interval.high - claim.interval.low > 0.1


@pytest.mark.parametrize("hits", [0, 3, 7, 13])
def test_the_interval_with_a_whole_further_task_is_clopper_and_pearsons(hits: int) -> None:
    # Differences of −1 and 1 are successes; fewer than six tasks have the further task's whole weight.
    hits, tasks = min(hits, 5), 5
    inferred = inference.infer_paired({str(task): 1.0 if task < hits else -1.0 for task in range(tasks)})
    exact = stats.binomtest(hits, tasks).proportion_ci(0.95, method="exact")
    assert inferred.interval.low == pytest.approx(2 * exact.low - 1, abs=0.02)
    assert inferred.interval.high == pytest.approx(2 * exact.high - 1, abs=0.02)


def test_permuting_trials_of_one_task_is_fishers_exact_test() -> None:
    first, second = [1.0] * 7 + [0.0] * 2, [1.0] * 2 + [0.0] * 7
    p = inference.permutation_test({"s/1": first}, {"s/1": second})
    assert p == pytest.approx(stats.fisher_exact([[7, 2], [2, 7]]).pvalue)


def test_permuting_scores_within_a_task_is_the_test_of_mann_and_whitney() -> None:
    """Shares of wins depend on the other's trials and cannot be exchanged: the test would reject too often."""
    random = np.random.default_rng(1)
    scores = [random.normal(shift, 1, size).tolist() for shift, size in ((1.0, 5), (0.0, 4))]
    own, other = count_wins(*(outcomes(name, each) for name, each in zip("ab", scores, strict=True)))
    exact = stats.mannwhitneyu(*scores, method="exact")
    assert inference.permutation_test(own.ranks[0], other.ranks[0]) == pytest.approx(exact.pvalue)
    p, _ = claims.test_outcomes(own, other)
    assert exact.pvalue - 1e-9 <= p < 1.5 * exact.pvalue, "no smaller, because one may vary more than the other"
    assert np.mean(own.values["s/0"]) == pytest.approx(exact.statistic / 20)
    claim = compare_outcomes(own, other).these.claim
    assert claim.value == pytest.approx(2 * exact.statistic / 20 - 1) and claim.low < claim.value < claim.high


def test_agents_with_different_numbers_of_trials_differ_by_more_than_chance_would() -> None:
    """A coin with one trial against an agent of which 16 trials all succeed, or all fail: no mean differs."""
    coin = outcomes("coin", *[[1.0], [0.0]] * 4)
    sure = outcomes("sure", *[[0.0] * 16] * 6, *[[1.0] * 16] * 2)
    # Of 16 zeros and a one, a permutation finds the one among the 16 with a probability of 1/17 on each of three tasks.
    assert inference.permutation_test(coin.values, sure.values) < 0.05
    assert compare_outcomes(coin, sure).these.outcome == "not known"
    # Both succeed in a tenth of their trials, and the one that has a single trial of each task had no luck.
    rare = outcomes("rare", *[[1.0] + [0.0] * 9] * 13)
    assert compare_outcomes(outcomes("once", *[[0.0]] * 13), rare).like.outcome == "not known"


@pytest.mark.parametrize(("tasks", "comparisons", "fewest"), [(3, 1, 6), (6, 45, 11)])
def test_what_it_takes_depends_on_the_comparisons(tasks: int, comparisons: int, fewest: int) -> None:
    first, second = outcomes("a", *[[1.0] * 3] * tasks), outcomes("b", *[[0.0] * 3] * tasks)
    answers = compare_outcomes(first, second, allowance=(1, comparisons))
    assert answers.like.settled_by == f"it takes at least {fewest} tasks"


def test_a_symmetric_difference_has_the_p_value_of_the_sign_flip_test_or_a_larger_one() -> None:
    differences = [0.5, 0.25, -0.25, 0.75, 0.5, 0.25, 0.5, -0.5]
    reference = stats.permutation_test(
        (differences, [0.0] * 8),
        lambda a, b, axis: (a - b).mean(axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
    )
    inferred = inference.infer_paired({str(task): value for task, value in enumerate(differences)})
    assert reference.pvalue <= inferred.p <= 2 * reference.pvalue


def draw_outcomes(random: np.random.Generator, agent: str, tasks: int) -> Outcomes:
    """An agent with values of a random kind: successes, scores, all alike, or a mixture; some trials are missing."""
    kind, seeds = random.integers(0, 5), random.integers(1, 5, tasks)
    draws = (
        lambda n: (random.random(n) < random.choice([0.0, 0.05, 0.5, 1.0])).astype(float),
        lambda n: random.random(n),
        lambda n: np.full(n, random.choice([0.0, 0.5, 1.0])),
        lambda n: random.beta(0.1, 0.1, n).round(2),
        lambda n: 0.5 + 1e-7 * random.random(n),
    )
    pending = int(random.integers(0, 2))
    return outcomes(agent, *(draws[kind](n).tolist() for n in seeds), pending=pending)


@pytest.mark.parametrize("seed", range(60))
def test_every_claim_on_random_trials_holds_together(seed: int) -> None:
    """Estimates lie within intervals that have a width, and intervals agree with tests; `Claim` refuses anything else.

    What is drawn has few and many tasks, degenerate and tiny differences, families, missing trials, several comparisons
    and looks.
    """
    random = np.random.default_rng(seed)
    tasks = int(random.choice([1, 2, 5, 6, 7, 13, 26, 80]))
    first, second = draw_outcomes(random, "a", tasks), draw_outcomes(random, "b", tasks)
    if seed % 5 == 0:
        second = replace(first, agent="b")
    families = {f"s/{task}": str(task // 2) for task in range(tasks)} if seed % 3 == 0 else None
    for each in (first, second):
        means = claim_means(each, families=families)
        assert means.these.worst <= means.these.value <= means.these.best
        later = replace(each, worst={**each.worst, "s/later": [0.0]}, best={**each.best, "s/later": [0.0]})
        known = claims.claim_mean(later, Population.LIKE)
        assert known.worst <= known.value <= known.best, "also with a task without any result yet"
        claim_middle(each, families), claim_above(each, 0.5, families)
    registration = Registration(("another measure",), "digest", look=int(random.integers(1, 4)))
    answers = compare_outcomes(
        first, second, families=families, allowance=(int(random.integers(1, 20)),) * 2, registration=registration
    )
    for verdict in (answers.these, answers.like):
        claim = verdict.claim
        assert (verdict.outcome in ("better", "worse")) <= (claim.low > 0 or claim.high < 0)
        assert (claim.p_adjusted <= 0.05) == (claim.low > 0 or claim.high < 0)
        assert claim.reversed().reversed() == claim
    if not first.missing and not second.missing:
        value = claim_difference(("a", "b"), "success", first.values, second.values).value
        assert value == pytest.approx(answers.like.claim.value)


def test_agents_that_never_differ_are_not_certain_to_be_equal() -> None:
    alike = outcomes("a", *[[1.0, 0.0, 1.0]] * 75)
    answers = compare_outcomes(alike, replace(alike, agent="b"))
    assert answers.like.claim.high == pytest.approx(1 - 0.025 ** (1 / 75)), "a share of tasks that none of 75 shows"
