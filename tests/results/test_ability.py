"""Difficulty of tasks, ability of agents, and subsets of tasks, against scikit-learn and simulated agents."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import LogisticRegression
from synthetic_outcomes import TASKS, grade, outcome

from assay.core.errors import UsageError
from assay.results.ability import choose_subset, collect_successes, describe_subset, fit_rasch, subset_tables


def simulate(agents, tasks, seeds, random):
    """Return successes by the model itself, and the abilities."""
    abilities, difficulties = random.normal(0, 1.5, agents), random.normal(0, 1.5, tasks)
    chance = 1 / (1 + np.exp(difficulties - abilities[:, None]))
    values = random.random((agents, tasks, seeds)) < chance[:, :, None]
    return {
        f"agent {a}": {f"s/{t}": values[a, t].astype(float).tolist() for t in range(tasks)} for a in range(agents)
    }, abilities


def test_abilities_and_difficulties_are_those_of_a_logistic_regression_with_a_penalty():
    samples, _ = simulate(12, 9, 3, np.random.default_rng(0))
    model = fit_rasch(samples)
    design, target = [], []
    for agent, sample in enumerate(samples.values()):
        for task, values in enumerate(sample.values()):
            for value in values:
                row = np.zeros(12 + 9)
                row[agent], row[12 + task] = 1, -1
                design.append(row)
                target.append(value)
    fit = LogisticRegression(C=4.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(design, target)
    assert [*model.abilities, *model.difficulties] == pytest.approx(fit.coef_[0], abs=1e-4)


def test_a_subset_ranks_agents_that_had_no_part_in_choosing_it():
    samples, abilities = simulate(30, 60, 3, np.random.default_rng(1))
    subset = choose_subset(samples, 0.9)
    assert subset.reached and 3 < len(subset.tasks) < 30
    # New agents on the chosen tasks: the promise holds beyond the agents it was made with.
    chosen = list(subset.tasks)
    part = [np.mean([np.mean(sample[task]) for task in chosen]) for sample in samples.values()]
    assert scipy.stats.spearmanr(part, abilities).statistic > 0.85
    assert subset.interval.low < subset.correlation <= subset.interval.high
    assert f"{len(chosen)} of 60 tasks rank 30 agents like all tasks" in describe_subset(subset)
    tables = subset_tables(subset, samples)
    assert [row[0] for row in tables[0].rows] == chosen and len(tables[2].rows) == 60


def test_agents_that_do_not_differ_have_no_ranking_to_keep():
    """A correlation computed with the agents that chose the tasks would be high; held-out agents show there is none."""
    random = np.random.default_rng(2)
    samples = {f"agent {a}": {f"s/{t}": random.integers(0, 2, 2).astype(float).tolist() for t in range(40)}
               for a in range(20)}  # fmt: skip
    subset = choose_subset(samples, 0.95)
    assert subset.curve[9] < 0.75
    assert len(subset.tasks) > 20


def run_of(agents):
    return [
        replace(outcome(task, f"agent {agent}", seed), grade=grade(task, 0.9, success=(agent + seed) % 3 > 0))
        for agent in range(agents)
        for task in TASKS
        for seed in range(2)
    ]


def test_fewer_than_ten_agents_are_refused():
    with pytest.raises(UsageError, match="needs the results of 10 agents; there are 9"):
        collect_successes(run_of(9))
    assert len(collect_successes(run_of(10))) == 10
    samples = collect_successes(run_of(10))
    json.dumps([table.to_dict() for table in subset_tables(choose_subset(samples, 0.5), samples)], allow_nan=False)
