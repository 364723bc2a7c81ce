"""Components of variance, against statsmodels, a published row and numbers worked by hand."""

import warnings
from dataclasses import replace
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from synthetic_outcomes import grade, outcome

from assay.grading.result import TestNoise
from assay.results.frame import Frame
from assay.results.report import make_report
from assay.results.variance import decompose_samples, decompose_variance, describe_variance, variance_table
from assay.suites.mlebench.studies.published import load_known_medals


def simulate(agents, tasks, seeds, spreads, random):
    """Return samples with normal effects of agents, tasks, agents on tasks and seeds."""
    agent, task = random.normal(0, spreads[0], agents), random.normal(0, spreads[1], tasks)
    both = random.normal(0, spreads[2], (agents, tasks))
    noise = random.normal(0, spreads[3], (agents, tasks, seeds))
    values = agent[:, None, None] + task[:, None] + both[:, :, None] + noise
    return [{f"s/{t}": values[a, t].tolist() for t in range(tasks)} for a in range(agents)]


def test_components_of_balanced_trials_are_the_reml_estimates_of_statsmodels():
    samples = simulate(5, 8, 3, (1.0, 2.0, 0.7, 0.5), np.random.default_rng(4))
    table = pd.DataFrame(
        [(agent, task, value) for agent, s in enumerate(samples) for task, values in s.items() for value in values],
        columns=["agent", "task", "value"],
    )
    table["all"] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm(
            "value ~ 1",
            table,
            groups="all",
            vc_formula={"agent": "0 + C(agent)", "both": "0 + C(agent):C(task)", "task": "0 + C(task)"},
        ).fit(reml=True)
    parts = decompose_samples(samples).components
    ours = [parts["agents"], parts["agents on tasks"], parts["tasks"], parts["seeds"]]
    assert ours == pytest.approx([*fit.vcomp, fit.scale], rel=0.02)


def test_tasks_are_77_percent_of_the_variance_of_the_published_row():
    """The row Famou-Agent of the published README: medals of 75 competitions by three seeds."""
    medals = load_known_medals()["Famou-Agent"]
    sample = {task: [float(medal != "none") for medal in won] for task, won in medals.items()}
    parts = decompose_samples([sample])
    assert parts.share("tasks") == pytest.approx(0.7676, abs=1e-4)
    assert parts.intervals["tasks"].low < 0.72 and parts.intervals["tasks"].high > 0.83
    sentence = describe_variance(parts)
    assert sentence.startswith("77% of the variance of success is tasks") and sentence.endswith("add tasks, not seeds.")
    # √(.768 + .232 / 6) / √(.768 + .232 / 3) is 0.977; twice the tasks give 1 / √2.
    assert "lower the error of the mean by 29%, twice the seeds by 2%" in sentence


def test_components_worked_by_hand():
    # Means 1, 0 and 1, 0: no agent, no interaction; task means 1 and 0 have a variance of 1/2.
    alike = {"s/a": [1.0, 1.0], "s/b": [0.0, 0.0]}
    assert decompose_samples([alike, alike]).components == {
        "agents": 0.0, "families": 0.0, "tasks": 0.5, "agents on tasks": 0.0, "test rows": 0.0, "seeds": 0.0,
    }  # fmt: skip
    # Opposite agents: all of it is interaction, (1/2)² of four cells on one degree of freedom.
    other = {"s/a": [0.0, 0.0], "s/b": [1.0, 1.0]}
    assert decompose_samples([alike, other]).components["agents on tasks"] == 1.0
    assert decompose_samples([alike]) and decompose_samples([{"s/a": [1.0, 1.0]}]) is None
    assert decompose_samples([{"s/a": [1.0], "s/b": [0.0]}]) is None


def test_siblings_that_agree_are_variance_of_families():
    sample = {f"s/{family}{n}": [float(family)] * 2 for family in (0, 1) for n in range(3)}
    families = {task: task[2] for task in sample}
    parts = decompose_samples([sample], families=families).components
    assert parts["tasks"] == 0 and parts["families"] > 0


def test_noise_of_test_rows_is_taken_out_of_what_it_adds_to():
    noise = TestNoise(error=0.0009167)  # a thousandth of the baseline of digits
    rows = [
        outcome(task, agent, seed, grade=grade(task, score + 0.01 * seed, noise=noise))
        for agent, scores in (("a", (0.9, 0.1)), ("b", (0.5, 0.2)))
        for task, score in zip(("pocket/digits", "pocket/house-price"), scores, strict=True)
        for seed in range(2)
    ]
    parts = decompose_variance(rows, "improvement")
    # The slope of s / (s + b) is b / (s + b)², with b = 0.9167 on digits and 0.1873 on house prices.
    slopes = [0.9167 / (score + 0.9167) ** 2 for score in (0.9, 0.91, 0.5, 0.51)]
    slopes += [0.1873 / (score + 0.1873) ** 2 for score in (0.1, 0.11, 0.2, 0.21)]
    assert parts.components["test rows"] == pytest.approx(fmean((0.0009167 * slope) ** 2 for slope in slopes), rel=1e-3)
    table = variance_table(parts)
    assert sum(row[2] for row in table.rows) == pytest.approx(1)


def test_noise_of_test_rows_takes_no_more_than_agents_on_tasks_vary():
    """Ten times the noise of the test above would be 1.4e-4, but only 7.8e-5 is variance of agents on tasks."""
    rows = [
        outcome(task, agent, seed, grade=grade(task, score + 0.01 * seed, noise=TestNoise(error=0.009167)))
        for agent, scores in (("a", (0.9, 0.1)), ("b", (0.5, 0.2)))
        for task, score in zip(("pocket/digits", "pocket/house-price"), scores, strict=True)
        for seed in range(2)
    ]
    parts = decompose_variance(rows, "improvement").components
    assert parts["agents on tasks"] == 0 and parts["test rows"] == pytest.approx(7.84e-5, rel=1e-2)


def test_a_report_says_that_families_vary_where_they_do():
    """Three siblings of each of four families agree, and families do not: no variance is left for tasks."""
    rows = [
        replace(outcome(seed=seed, grade=grade("pocket/digits", 0.9, success=family < 2)), agent=agent,
                task=f"pocket/{family}-{sibling}", trial=f"{family}-{sibling}-{agent}-{seed}", family=str(family))
        for agent in "ab" for family in range(4) for sibling in range(3) for seed in range(2)
    ]  # fmt: skip
    notes = [note for table in make_report(Frame(rows), explain=True) for note in table.notes]
    (sentence,) = [note for note in notes if note.startswith("Variance")]
    assert "100% of the variance of success is families" in sentence
