"""How many tasks and seeds are needed follows from the variance of results that exist."""

import json
from dataclasses import replace

import pytest
from synthetic_outcomes import TASKS, grade, outcome

from assay.core.errors import UsageError
from assay.results.frame import TrialRow
from assay.results.inference import DifferenceVariance
from assay.results.power import Design, find_designs, variance_of_trials


def won(agent: str, by_task: dict[str, tuple[bool, ...]]) -> list[TrialRow]:
    return [
        replace(outcome(task, agent, seed), grade=grade(task, 0.9).model_copy(update={"success": success}))
        for task, successes in by_task.items()
        for seed, success in enumerate(successes)
    ]


DIGITS, HOUSE, SPACESHIP, SPEED = TASKS
FIRST = won("first", {DIGITS: (True, True), HOUSE: (True, True), SPACESHIP: (False, True), SPEED: (True, True)})
SECOND = won("second", {DIGITS: (False, False), HOUSE: (True, True), SPACESHIP: (True, False), SPEED: (True, True)})


def test_designs_worked_by_hand():
    # 2.8016² = 7.849; with one seed 7.849 · (0.1 + 0.2) / 0.1² = 235.5, with ten 7.849 · (0.1 + 0.02) / 0.1² = 94.2.
    designs = find_designs(DifferenceVariance(0.1, 0.2), 0.1)
    assert designs[0] == Design(1, 236)
    assert designs[-1] == Design(10, 95)


def test_the_variance_of_a_run_is_that_of_its_pairs_of_agents():
    # Differences by task: 1, 0, 0, 0, with a variance of 1/4. Only on the third task do seeds differ, by a variance of
    # 1/2 for each agent: on average 1/4 for both, and half of that in means over two seeds.
    variance = variance_of_trials([*FIRST, *SECOND])
    assert (variance.tasks, variance.trials) == pytest.approx((1 / 4 - 1 / 8, 1 / 4))


def test_a_run_with_one_seed_does_not_tell_tasks_and_seeds_apart():
    once = [row for row in [*FIRST, *SECOND] if row.seed == 0]
    with pytest.raises(UsageError, match="two tasks with two seeds each"):
        variance_of_trials(once)
    with pytest.raises(UsageError, match="no finished trial"):
        variance_of_trials([])


def test_the_plan_says_how_many_tasks_a_published_variance_takes(assay):
    ran = assay("plan", "mlebench:low", "--detect", "5", "--json")
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    # Three seeds: the spread of the published row over tasks is √2 · 5.29 · √75 = 64.8 points.
    assert {design["seeds"]: design["tasks"] for design in report["designs"]}[3] == pytest.approx(1318, rel=0.005)
    assert report["plan"] == {"tasks": 22, "seeds": 3, "detectable": pytest.approx(2.8016 * 0.648 / 22**0.5, rel=0.005)}
    assert "1,3" in assay("plan", "--detect", "5").stdout
    assert assay("plan", "--from", ".").returncode == 2
