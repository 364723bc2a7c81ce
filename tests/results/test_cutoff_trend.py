"""The trend of results with closing dates, against statsmodels and on planted effects."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
import statsmodels.api as sm
from synthetic_outcomes import grade, outcome

from assay.studies.cutoff import regress, study_trends


def test_the_trend_is_the_regression_of_statsmodels():
    random = np.random.default_rng(0)
    years, difficulty = random.uniform(-5, 3, 40), random.random(40)
    values = np.clip(0.5 - 0.05 * years + 0.4 * difficulty + random.normal(0, 0.1, 40), 0, 1)
    columns = np.stack([np.ones(40), years, difficulty], axis=1)
    expected = sm.OLS(values, columns).fit(cov_type="HC3")
    slope, error, freedom = regress(values, columns)
    assert (slope, error, freedom) == (pytest.approx(expected.params[1]), pytest.approx(expected.bse[1]), 37)
    assert regress(values[:3], columns[:3]) is None


def trend_trials(effect):
    """Two agents on 30 tasks of a rising difficulty; the first also loses so much after the date."""
    random = np.random.default_rng(1)
    dates, rows = {}, []
    for number in range(30):
        task, late = f"pocket/{number}", number >= 20
        dates[task] = date(2018 + number // 4, 1 + number % 12, 1)
        hard = 0.8 - 0.015 * number
        for agent in ("recalls", "other"):
            lost = effect if late and agent == "recalls" else 0.0
            won = hard - lost + random.normal(0, 0.05)
            graded = grade("pocket/digits", 0.9, percentile=100 * min(max(won, 0.0), 1.0))
            rows.append(replace(outcome(agent=agent), task=task, grade=graded))
    return rows, date(2022, 12, 31), dates


def test_tasks_that_become_harder_for_all_agents_are_no_effect_of_the_cutoff():
    rows, day, dates = trend_trials(0.0)
    trends = {trend.agent: trend for trend in study_trends(rows, day, "percentile", dates)}
    alone = study_trends([row for row in rows if row.agent == "recalls"], day, "percentile", dates)
    assert alone[0].slope.high < 0, "without other agents, the rising difficulty looks like an effect"
    recalls = trends["recalls"]
    assert recalls.slope.low < 0 < recalls.slope.high and recalls.others == 1
    assert recalls.contrast.low < 0 < recalls.contrast.high


def test_an_agent_that_loses_more_after_the_date_than_others_shows():
    rows, day, dates = trend_trials(0.3)
    trends = {trend.agent: trend for trend in study_trends(rows, day, "percentile", dates)}
    recalls = trends["recalls"]
    assert recalls.contrast.low < 0.3 < recalls.contrast.high and recalls.contrast.low > 0.2
    assert recalls.slope.p <= recalls.slope.p_adjusted
