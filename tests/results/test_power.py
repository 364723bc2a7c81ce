"""How many tasks and seeds are needed follows from the variance of results that exist."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from synthetic_outcomes import TASKS, grade, outcome

from assay.core.errors import UsageError
from assay.results.frame import TrialRow
from assay.results.inference import DifferenceVariance, p_of_paired
from assay.results.power import Pilot, find_difference, find_tasks, pilot_of_trials, simulate_power


def won(agent: str, by_task: dict[str, tuple[bool, ...]]) -> list[TrialRow]:
    return [
        replace(outcome(task, agent, seed), grade=grade(task, 0.9).model_copy(update={"success": success}))
        for task, successes in by_task.items()
        for seed, success in enumerate(successes)
    ]


DIGITS, HOUSE, SPACESHIP, SPEED = TASKS
FIRST = won("first", {DIGITS: (True, True), HOUSE: (True, True), SPACESHIP: (False, True), SPEED: (True, True)})
SECOND = won("second", {DIGITS: (False, False), HOUSE: (True, True), SPACESHIP: (True, False), SPEED: (True, True)})


@pytest.mark.parametrize("seeds", [1, 3])
def test_power_is_that_of_the_test_on_simulated_agents(seeds: int):
    # Independent agents whose rates have Beta distributions, as simulated by scipy with other random numbers.
    mean, correlation, difference, tasks = 0.4356, 0.777, 0.35, 30
    full = mean * (1 - mean)
    pilot = Pilot(mean, DifferenceVariance(2 * correlation * full, 2 * (1 - correlation) * full))
    size, random = 1 / correlation - 1, np.random.default_rng(5)
    hits = [
        stats.betabinom(seeds, own * size, (1 - own) * size).rvs((1000, tasks), random_state=random)
        for own in (mean + difference / 2, mean - difference / 2)
    ]
    observed = (p_of_paired((hits[0] - hits[1]) / seeds) <= 0.05).mean()
    assert simulate_power(pilot, difference, tasks, seeds) == pytest.approx(observed, abs=0.05)


def test_too_few_tasks_have_no_power_and_more_comparisons_need_more_tasks():
    pilot = Pilot(0.5, DifferenceVariance(0.1, 0.2))
    assert simulate_power(pilot, 0.9, 5, 3) == 0
    assert find_difference(pilot, 5, 3) is None
    single, several = find_tasks(pilot, 0.3, 3), find_tasks(pilot, 0.3, 3, comparisons=10)
    assert single is not None and several is not None and several > 1.3 * single


def test_the_variance_of_a_run_is_that_of_its_pairs_of_agents():
    # Differences by task: 1, 0, 0, 0, with a variance of 1/4. Only on the third task do seeds differ, by a variance of
    # 1/2 for each agent: on average 1/4 for both, and half of that in means over two seeds.
    variance = pilot_of_trials([*FIRST, *SECOND]).variance
    # With four tasks the upper limit of the variance between tasks is that of χ² with 3 degrees of freedom.
    assert variance.trials == pytest.approx(1 / 4)
    assert variance.tasks == pytest.approx((1 / 4 - 1 / 8) * 3 / stats.chi2(3).ppf(0.2), rel=0.02)


def test_a_run_with_one_seed_does_not_tell_tasks_and_seeds_apart():
    once = [row for row in [*FIRST, *SECOND] if row.seed == 0]
    with pytest.raises(UsageError, match="two tasks with two seeds each"):
        pilot_of_trials(once)
    with pytest.raises(UsageError, match="no finished trial"):
        pilot_of_trials([])


def test_the_command_says_what_a_design_finds(assay):
    ran = assay("study", "power", "mlebench:low", "--difference", "30", "--json")
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    # By the normal approximation, three seeds of the published row take (2.80 · 64.8 / 30)² = 37 tasks.
    assert 35 <= {design["seeds"]: design["tasks"] for design in report["designs"]}[3] <= 50
    assert (report["plan"]["tasks"], report["plan"]["seeds"]) == (22, 3)
    assert 0.38 <= report["plan"]["detectable"] <= 0.46
    assert "22 tasks × 3 seeds: finds" in assay("study", "power", "mlebench:low").stdout
