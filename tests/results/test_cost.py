"""What results cost: fronts, and cost per success, on numbers worked by hand."""

import math
from dataclasses import replace

import pytest
import scipy.stats
from synthetic_outcomes import TASKS, grade, outcome

from assay.results.cost import cost_table, draw_fronts, measure_costs
from assay.results.frame import Frame
from assay.results.report import make_report

DIGITS, HOUSE, SPACESHIP, _ = TASKS


def trials(agent, successes, cost, seconds=10.0, **fields):
    """One trial on each of three tasks."""
    return [
        replace(outcome(task, agent), grade=grade(task, 0.9, success=won), elapsed=seconds, cost=dollars, **fields)
        for task, won, dollars in zip((DIGITS, HOUSE, SPACESHIP), successes, cost, strict=True)
    ]


CHEAP = trials("cheap", (True, False, False), (1.0, 1.0, 1.0))
GOOD = trials("good", (True, True, True), (3.0, 2.0, 4.0), 60.0)
WASTEFUL = trials("wasteful", (True, False, False), (9.0, 9.0, 9.0), 60.0)


def test_an_agent_that_another_one_beats_for_less_is_not_on_the_front():
    agents = {each.agent: each.spending["cost"] for each in measure_costs([*CHEAP, *GOOD, *WASTEFUL])}
    assert {name: spent.front for name, spent in agents.items()} == {"good": True, "cheap": True, "wasteful": False}
    # Three tasks are no proof: on a further one, each may be better or cheaper.
    assert 0 < agents["wasteful"].on_front < 0.1 < 0.8 < agents["good"].on_front < 1 and agents["cheap"].on_front < 1
    first, second = (each.spending["cost"].on_front for each in measure_costs([CHEAP[0], GOOD[0]]))
    assert 0.2 < min(first, second) < max(first, second) < 0.95, "a single task says little"


def test_intervals_and_cost_per_success_follow_from_the_tasks():
    spent = {each.agent: each.spending["cost"] for each in measure_costs([*CHEAP, *GOOD])}
    good = spent["good"]
    low, high = scipy.stats.t.interval(0.95, 2, loc=3.0, scale=scipy.stats.sem([3.0, 2.0, 4.0]))
    assert (good.amount, good.interval.low, good.interval.high) == pytest.approx((3.0, max(low, 0), high))
    assert (good.per_success, spent["cheap"].per_success) == (3.0, 3.0)
    # Without one task 6/2, 7/2 and 5/2: the jackknife error of the logarithm, with t of two degrees of freedom
    logs = [math.log(6 / 2), math.log(7 / 2), math.log(5 / 2)]
    error = math.sqrt(2 / 3 * sum((log - sum(logs) / 3) ** 2 for log in logs))
    assert good.per_success_interval.high == pytest.approx(3 * math.exp(scipy.stats.t.ppf(0.975, 2) * error))
    # The only success of cheap is on one task: without it there would be none, so there is no upper limit.
    assert math.isinf(spent["cheap"].per_success_interval.high)


def test_an_agent_without_success_has_a_lower_limit_only():
    (agent,) = measure_costs(trials("bad", (False, False, False), (2.0, 2.0, 2.0)))
    spent = agent.spending["cost"]
    assert spent.per_success is None
    assert spent.per_success_interval.low == pytest.approx(2.0 / agent.success.interval.high)
    (row,) = cost_table([agent]).rows
    assert "no success" in [getattr(cell, "text", None) for cell in row]


def test_an_unknown_price_and_other_hardware_are_not_hidden():
    unknown = trials("unknown", (True, True, True), (1.0, None, 1.0), conditions={"hardware": "8 cores"})
    agents = measure_costs([*CHEAP, *unknown])
    assert [sorted(each.spending) for each in agents] == [["time"], ["cost", "time"]]
    notes = " ".join(cost_table(agents).notes)
    assert "not comparable: unknown: 8 cores; cheap: unknown" in notes


def test_nothing_paid_is_no_front_and_reports_show_costs_that_were():
    free = trials("free", (True, True, True), (0.0, 0.0, 0.0))
    other = trials("other", (True, False, True), (0.0, 0.0, 0.0), 20.0)
    palette = {"free": 0, "other": 1, "cheap": 0, "good": 1}
    assert [figure.name for figure in draw_fronts(measure_costs([*free, *other]), palette)] == ["time-front"]
    assert [figure.name for figure in draw_fronts(measure_costs([*CHEAP, *GOOD]), palette)] == [
        "cost-front", "time-front",
    ]  # fmt: skip
    assert draw_fronts(measure_costs(CHEAP), palette) == []
    assert "costs" not in [table.name for table in make_report(Frame([*free, *other]))]
    assert "costs" in [table.name for table in make_report(Frame([*CHEAP, *GOOD]))]
