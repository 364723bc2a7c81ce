"""The paper's tables: figures worked by hand, what is printed, and what was published."""

import io
import json
import math
from datetime import date
from statistics import fmean

import pytest
from made_up import MADE_AT, failed, grade, outcome
from rich.console import Console

from assay.grading.grade import is_beyond_spread
from assay.models.messages import Usage
from assay.results import paper_tables
from assay.results.collect import published_figures
from assay.results.paper import Evaluated, evaluated, papers
from assay.results.published_figures import Published, published_of
from assay.results.trajectory import Process
from assay.tasks import Measured, Metric, Registry
from assay.tasks.registry import BUILT_IN

WENT = Process(submitted=True, end="final answer", seconds=90.0, waited=0.0, steps=10)
FELL = Process(
    submitted=False, end="crash", seconds=30.0, waited=0.0, steps=2, troubles=frozenset({"crash"}), fatal="crash"
)
PUBLISHED = published_of(BUILT_IN / "mlagentbench")


def valid(score: float, *, beyond: bool | None = True, agent: str = "research", went: Process = WENT) -> Evaluated:
    """A trial on digits, whose starter scores 0.9167."""
    graded = grade("pocket/digits", score, beyond_spread=beyond)
    return Evaluated(outcome(agent=agent, score=score, grade=graded), went)


def crashed(agent: str = "research") -> Evaluated:
    return Evaluated(failed("pocket/digits", agent, 9), FELL)


def only(trials):
    (paper,) = papers(trials)
    return paper


def printed(trials, published=None, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(paper_tables.tables(papers(trials), published or {}))
    return console.file.getvalue()


def test_success_is_of_all_finished_trials_and_is_told_with_and_without_the_spread():
    # Success needs more than 0.9167 · 1.1 = 1.00837, so that two of four trials succeed, one of them within the spread.
    paper = only([valid(1.1), valid(1.05, beyond=False), valid(0.95), crashed()])
    gains = paper.gains["pocket/digits", "research"]
    assert (gains.success.count, gains.success.trials) == (2, 4)
    assert (gains.beyond_spread.count, gains.beyond_spread.trials) == (1, 4)


def test_improvement_is_told_of_valid_submissions_and_of_all_with_invalid_as_nothing():
    gains = only([valid(0.9167 * 1.3), valid(0.9167 * 1.1), crashed(), crashed()]).gains["pocket/digits", "research"]
    assert gains.improvement.mean == pytest.approx((0.3 + 0.1) / 2) and gains.improvement.n == 2
    assert gains.improvement_of_all.mean == pytest.approx((0.3 + 0.1 + 0 + 0) / 4) and gains.improvement_of_all.n == 4


def test_without_a_measured_baseline_nothing_is_said():
    bare = grade("pocket/digits", 0.95, baseline=None, improvement=None, success=None)
    gains = only([Evaluated(outcome(grade=bare), WENT), crashed("starter")]).gains["pocket/digits", "starter"]
    assert (gains.success, gains.beyond_spread, gains.improvement, gains.improvement_of_all) == (None,) * 4
    assert "no baseline was measured" in printed([Evaluated(outcome(grade=bare), WENT)])


def test_grades_from_before_the_spread_was_looked_at_have_no_such_rate():
    gains = only([valid(1.1, beyond=None)]).gains["pocket/digits", "research"]
    assert gains.success.count == 1 and gains.beyond_spread is None


def test_pending_and_inapplicable_trials_are_not_counted():
    waiting = Evaluated(outcome(agent="research", status="running", grade=None), WENT)
    elsewhere = Evaluated(outcome(agent="automl", status="inapplicable", grade=None), WENT)
    paper = only([valid(1.1), waiting, elsewhere])
    assert (paper.gains["pocket/digits", "research"].success.trials, paper.pending) == (1, 1)
    assert paper.efforts["research"].trials == 1 and "automl" not in paper.efforts
    assert "Not final: 1 trial still to come" in printed([valid(1.1), waiting])


def test_editions_are_apart():
    other = Evaluated(outcome(agent="research", edition="v2"), WENT)
    assert [paper.rules.edition for paper in papers([valid(1.1), other])] == ["v1", "v2"]


def test_effort_is_averaged_over_finished_trials_and_by_role():
    both = {"main": Usage(input_tokens=100, cost=1.0), "fast": Usage(input_tokens=6, cost=0.5)}
    first = Process(True, "final answer", 60.0, 0.0, 4, both)
    second = Process(True, "budget", 180.0, 0.0, 8, {"main": Usage(input_tokens=300, cost=2.0)}, frozenset({"time"}))
    effort = only([valid(1.1, went=first), valid(1.1, went=second)]).efforts["research"]
    assert (effort.seconds.mean, effort.steps.mean, effort.tokens.mean) == (120.0, 6.0, 203.0)
    assert effort.tokens_by_role == {"main": 200.0, "fast": 3.0}
    assert effort.cost.mean == 1.75 and effort.cost_by_role == {"main": 1.5, "fast": 0.25}
    assert (effort.ended_by_itself.count, effort.troubles["time"].count, effort.troubles["crash"].count) == (1, 1, 0)


def test_an_unknown_price_is_unknown_and_not_nothing():
    free = Process(
        True, "content", 1.0, 0.0, 1, {"main": Usage(input_tokens=1, cost=1.0), "fast": Usage(input_tokens=1)}
    )
    trials = [valid(1.1, went=free), valid(1.1, went=WENT)]
    effort = only(trials).efforts["research"]
    assert effort.cost is None and effort.cost_by_role == {"main": 0.5, "fast": None}
    assert "unknown" in printed(trials)
    (part,) = json.loads(paper_tables.to_json(papers(trials), {}, "x", MADE_AT))["parts"]
    assert part["efforts"][0]["cost_mean"] is None and part["efforts"][0]["cost_by_role"] == {"main": 0.5, "fast": None}


def test_failures_are_told_by_cause():
    trials = [valid(1.1), crashed(), crashed(), Evaluated(failed("pocket/digits", "research", 3, "user"), WENT)]
    assert only(trials).efforts["research"].failures == {"crash": 2, "stopped by its user": 1}
    lines = [" ".join(line.split()) for line in printed(trials).splitlines()]
    for line in ("submitted 50 %", "met: crash 50 %", "failed 75 %", "crash 50 %", "stopped by its user 25 %"):
        assert line in lines


def test_tables_keep_to_eighty_columns_and_text_from_outside_is_text():
    agents = [f"research,retrieval=True · provider/some-model-{n}" for n in range(3)] + ["[red]x[/red]\x1b[2J"]
    text = printed([valid(1.1, agent=agent) for agent in agents], {"pocket": PUBLISHED})
    assert max(map(len, text.splitlines())) <= 80
    assert "[red]x" in text and "\x1b" not in text
    assert "42.9" in text and "≠ clrs" in text


def test_nothing_to_report_is_no_error():
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


def test_published_columns_have_the_published_means():
    for rows, means in (
        (PUBLISHED.success, PUBLISHED.mean_success),
        (PUBLISHED.improvement, PUBLISHED.mean_improvement),
    ):
        for place, model in enumerate(PUBLISHED.columns):
            column = [row[place] for row in rows.values()]
            # The paper's mean of its baseline is not that of the thirteen figures it prints.
            if model != "Starter":
                assert fmean(column) == pytest.approx(means[place], abs=0.06), model


def test_everything_published_is_about_a_task_of_the_suite_and_says_how_it_differs():
    suite, _ = Registry().suites["mlagentbench"]
    assert set(suite.tasks) <= set(PUBLISHED.success)
    assert len(PUBLISHED.success) == 13


def test_published_figures_of_a_wrong_form_are_refused():
    content = PUBLISHED.model_dump()
    with pytest.raises(ValueError, match="each of the columns"):
        Published.model_validate(content | {"mean_success": (1.0,)})
    with pytest.raises(ValueError, match="the same tasks"):
        Published.model_validate(content | {"differences": {}})


def test_a_suite_of_which_nothing_was_published_has_no_such_figures(scripted_run, tmp_path):
    assert published_of(tmp_path) is None
    assert published_figures(scripted_run) == {}


def test_the_command_prints_the_tables_and_the_same_as_json(assay, scripted_run):
    told = assay("report", scripted_run.path, "--paper")
    assert told.returncode == 0, told.stderr
    for words in ("tiny v1, success rate", "tiny v1, average improvement", "tiny v1, effort", "met: out of memory"):
        assert words in told.stdout
    report = json.loads(assay("report", scripted_run.path, "--published", "--json").stdout)
    (part,) = report["parts"]
    expected = only(evaluated(scripted_run))
    assert [row["agent"] for row in part["efforts"]] == list(expected.efforts)
    assert [row["tokens_mean"] for row in part["efforts"]] == [each.tokens.mean for each in expected.efforts.values()]
    assert report["format"] == "paper-report/1" and report["published"] == {}


@pytest.mark.parametrize("other", [["--csv"], ["--html", "page.html"]])
def test_the_tables_are_neither_csv_nor_a_page(assay, scripted_run, other):
    told = assay("report", scripted_run.path, "--paper", *other)
    assert told.returncode == 2 and "not --csv, not --html" in told.stderr
