"""The tables of the MLAgentBench paper: figures worked by hand, printed tables, and published figures."""

import json
import math
from datetime import date
from statistics import fmean

import pytest
from synthetic_outcomes import failed, grade, outcome

from assay.core.text import strip_control
from assay.grading.grade import is_beyond_spread
from assay.models.messages import Usage
from assay.results.published_figures import PublishedFigures, load_published_figures
from assay.results.trajectory import Trajectory
from assay.suites.mlagentbench.studies.figures import EvaluatedTrial, evaluate_trials, summarize_paper
from assay.suites.mlagentbench.studies.paper import find_published_figures, make_tables
from assay.tasks import Measured, Metric, Registry

WENT = Trajectory(submitted=True, end="final answer", seconds=90.0, waited=0.0, steps=10)
FELL = Trajectory(
    submitted=False, end="crash", seconds=30.0, waited=0.0, steps=2, troubles=frozenset({"crash"}), fatal="crash"
)
NOTES = ("Success:", "Beyond noise:", "Improvement:", "Means over")
PUBLISHED = load_published_figures(Registry().suites["mlagentbench"][1])


def valid(score: float, *, beyond: bool = True, agent: str = "research", went: Trajectory = WENT) -> EvaluatedTrial:
    """A trial on digits, whose starter scores 0.9167."""
    graded = grade("pocket/digits", score, beyond_spread=beyond)
    if not beyond:
        graded = graded.model_copy(update={"success": False})
    return EvaluatedTrial(outcome(agent=agent, score=score, grade=graded), went)


def crashed(agent: str = "research") -> EvaluatedTrial:
    return EvaluatedTrial(failed("pocket/digits", agent, 9), FELL)


def only(trials):
    (paper,) = summarize_paper(trials)
    return paper


def printed(trials, published=None, width=80):
    """Return what a terminal of some width shows."""
    result = make_tables(summarize_paper(trials), published or {})
    tables = [table.to_text(width) for table in result.tables]
    return strip_control("\n\n".join([*result.sentences, *tables]))


def test_success_is_a_share_of_all_finished_trials_with_and_without_noise():
    # Success needs more than 0.9167 · 1.1 = 1.00837, so that two of four trials succeed, one of them within noise.
    paper = only([valid(1.1), valid(1.05, beyond=False), valid(0.95), crashed()])
    gains = paper.gains["pocket/digits", "research"]
    assert (gains.success.count, gains.success.trials) == (2, 4)
    assert (gains.beyond_noise.count, gains.beyond_noise.trials) == (1, 4)


def test_by_the_published_rule_a_success_within_noise_is_none_beyond_it():
    trials = [
        outcome(edition="published", grade=grade("pocket/digits", 1.1, beyond_spread=beyond), ignores_noise=True)
        for beyond in (True, False)
    ]
    gains = only([EvaluatedTrial(each, WENT) for each in trials]).gains["pocket/digits", "starter"]
    assert (gains.success.count, gains.beyond_noise.count) == (2, 1)


def test_improvement_is_averaged_over_valid_submissions_and_over_all_with_invalid_as_zero():
    gains = only([valid(0.9167 * 1.3), valid(0.9167 * 1.1), crashed(), crashed()]).gains["pocket/digits", "research"]
    assert gains.improvement.mean == pytest.approx((0.3 + 0.1) / 2) and gains.improvement.n == 2
    assert gains.improvement_of_all.mean == pytest.approx((0.3 + 0.1 + 0 + 0) / 4) and gains.improvement_of_all.n == 4


def test_without_a_measured_baseline_there_are_no_figures():
    bare = grade("pocket/digits", 0.95, baseline=None, improvement=None, success=None, success_published=None)
    gains = only([EvaluatedTrial(outcome(grade=bare), WENT), crashed("starter")]).gains["pocket/digits", "starter"]
    assert (gains.success, gains.beyond_noise, gains.improvement, gains.improvement_of_all) == (None,) * 4
    assert "no baseline was measured" in printed([EvaluatedTrial(outcome(grade=bare), WENT)])


def test_pending_and_inapplicable_trials_are_not_counted():
    waiting = EvaluatedTrial(outcome(agent="research", status="running", grade=None), WENT)
    elsewhere = EvaluatedTrial(outcome(agent="automl", status="inapplicable", grade=None), WENT)
    paper = only([valid(1.1), waiting, elsewhere])
    assert (paper.gains["pocket/digits", "research"].success.trials, paper.pending) == (1, 1)
    assert paper.efforts["research"].trials == 1 and "automl" not in paper.efforts
    assert "Not final: 1 trial pending" in printed([valid(1.1), waiting])


def test_editions_are_reported_separately():
    other = EvaluatedTrial(outcome(agent="research", edition="v2"), WENT)
    assert [paper.rules.edition for paper in summarize_paper([valid(1.1), other])] == ["v1", "v2"]


def test_effort_is_averaged_over_finished_trials_and_by_role():
    both = {"main": Usage(input_tokens=100, cost=1.0), "fast": Usage(input_tokens=6, cost=0.5)}
    first = Trajectory(True, "final answer", 60.0, 0.0, 4, both)
    second = Trajectory(True, "budget", 180.0, 0.0, 8, {"main": Usage(input_tokens=300, cost=2.0)}, frozenset({"time"}))
    effort = only([valid(1.1, went=first), valid(1.1, went=second)]).efforts["research"]
    assert (effort.seconds.mean, effort.steps.mean, effort.tokens.mean) == (120.0, 6.0, 203.0)
    assert effort.tokens_by_role == {"main": 200.0, "fast": 3.0}
    assert effort.cost.mean == 1.75 and effort.cost_by_role == {"main": 1.5, "fast": 0.25}
    assert (effort.ended_by_itself.count, effort.troubles["time"].count, effort.troubles["crash"].count) == (1, 1, 0)


def test_an_unknown_price_is_not_zero():
    free = Trajectory(
        True, "content", 1.0, 0.0, 1, {"main": Usage(input_tokens=1, cost=1.0), "fast": Usage(input_tokens=1)}
    )
    trials = [valid(1.1, went=free), valid(1.1, went=WENT)]
    effort = only(trials).efforts["research"]
    assert effort.cost is None and effort.cost_by_role == {"main": 0.5, "fast": None}
    assert "unknown" in printed(trials)
    rows = {
        row["measure"]: row["research"]
        for row in make_tables(summarize_paper(trials), {}).table("efforts").to_records()
    }
    assert (rows["cost"], rows["  cost, main"], rows["  cost, fast"]) == (None, 0.5, None)


def test_failures_are_listed_by_cause():
    trials = [valid(1.1), crashed(), crashed(), EvaluatedTrial(failed("pocket/digits", "research", 3, "user"), WENT)]
    failures = only(trials).efforts["research"].failures
    assert {cause: claim.count for cause, claim in failures.items()} == {"crash": 2, "stopped by the user": 1}
    lines = [" ".join(line.split()) for line in printed(trials).splitlines()]
    for line in ("submitted 50%", "problem: crash 50%", "failed 75%", "crash 50%", "stopped by the user 25%"):
        assert any(printed_line.startswith(f"{line} (") for printed_line in lines), line


def test_tables_fit_eighty_columns_and_foreign_text_is_not_interpreted():
    agents = [f"research,retrieval=True · provider/some-model-{n}" for n in range(3)] + ["[red]x[/red]\x1b[2J"]
    text = printed([valid(1.1, agent=agent) for agent in agents], {"pocket": PUBLISHED})
    rows = [line for line in text.splitlines() if not line.startswith(("Published", "(hidden", "≠ ", "≈ ", *NOTES))]
    assert max(map(len, rows)) <= 80
    assert "[red]x" in text and "\x1b" not in text
    assert "(hidden to fit the width: " in text and "≠ clrs" in text
    assert "42.9" in printed([valid(1.1)], {"pocket": PUBLISHED}, width=140)


def test_no_trials_are_not_an_error():
    assert "No trials yet" in printed([])


@pytest.mark.parametrize(
    ("score", "direction", "spread", "beyond"),
    [
        (1.21, "higher", 0.1, True),
        (1.2, "higher", 0.1, False),
        (1.19, "higher", 0.1, False),
        (0.79, "lower", 0.1, True),
        (0.81, "lower", 0.1, False),
        (1.00001, "higher", 0.0, True),
        (1.0, "higher", 0.0, False),
        (math.nan, "higher", 0.1, False),
    ],
)
def test_a_score_is_beyond_the_spread_at_two_standard_deviations(score, direction, spread, beyond):
    measured = Measured(
        date=date(2026, 11, 1),
        edition="v1",
        versions={},
        baseline=1.0,
        baseline_spread=spread,
        baseline_seeds=5,
        panel=(),
    )
    metric = Metric(name="rmse" if direction == "lower" else "accuracy", direction=direction)
    assert is_beyond_spread(score, measured, metric) is beyond


@pytest.mark.parametrize(
    ("rows", "means"),
    [(PUBLISHED.success, PUBLISHED.mean_success), (PUBLISHED.improvement, PUBLISHED.mean_improvement)],
    ids=["success", "improvement"],
)
# The paper's mean of its baseline is not that of the thirteen figures it prints.
@pytest.mark.parametrize("model", [model for model in PUBLISHED.columns if model != "Starter"])
def test_published_columns_have_the_published_means(rows, means, model):
    number = PUBLISHED.columns.index(model)
    assert fmean(row[number] for row in rows.values()) == pytest.approx(means[number], abs=0.06)


def test_every_task_of_the_suite_has_published_figures():
    suite, _ = Registry().suites["mlagentbench"]
    assert set(suite.tasks) <= set(PUBLISHED.success)
    assert list(PUBLISHED.editions) == list(suite.editions)
    assert len(PUBLISHED.success) == 13


def test_malformed_published_figures_are_rejected():
    content = PUBLISHED.model_dump()
    with pytest.raises(ValueError, match="for each column"):
        PublishedFigures.model_validate(content | {"mean_success": (1.0,)})
    with pytest.raises(ValueError, match="the same tasks"):
        PublishedFigures.model_validate(content | {"editions": {"fixed": {"comparable": [], "differences": {}}}})


def test_a_suite_without_published_figures_has_none(scripted_run, tmp_path):
    assert load_published_figures(tmp_path) is None
    assert find_published_figures(scripted_run) == {}


def test_the_command_prints_the_tables_and_the_same_as_json(assay, scripted_run):
    result = assay("study", "paper", scripted_run.path)
    assert result.returncode == 0, result.stderr
    for words in ("tiny v1, success and improvement", "tiny v1, effort", "problem: out of memory"):
        assert words in result.stdout
    tables = json.loads(assay("study", "paper", scripted_run.path, "--published", "--json").stdout)["tables"]
    expected = only(evaluate_trials(scripted_run))
    assert [row["agent"] for row in tables["means"]["rows"]] == list(expected.agents)
    (tokens,) = [row for row in tables["efforts"]["rows"] if row["measure"] == "tokens"]
    assert {agent: tokens[agent] for agent in expected.efforts} == {
        agent: effort.tokens.mean for agent, effort in expected.efforts.items()
    }
    assert not any(name.startswith("published") for name in tables)
