"""Planted contamination is found by obfuscated descriptions and by the date; every figure is worked by hand."""

from datetime import date
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.results.paired import Experiment, compare_arms
from assay.studies.cutoff import load_dates, match_tasks, measure_distance
from assay.studies.paired import describe_difference
from assay.tasks import Registry


def test_pairs_of_task_and_seed_are_compared():
    """Differences by task are 1, 1/2 and 0: three tasks are too few for a test over tasks."""
    first = {("a", 1): 1.0, ("a", 2): 1.0, ("b", 1): 1.0, ("b", 2): 0.0, ("c", 1): 1.0, ("c", 3): 1.0}
    second = {("a", 1): 0.0, ("a", 2): 0.0, ("b", 1): 0.0, ("b", 2): 0.0, ("c", 1): 1.0}
    (pair,) = compare_arms([Experiment(first, second, ("old", "new"))])
    assert pair.difference == pytest.approx(0.5) and pair.claim.p > 0.25
    assert (pair.pairs, pair.unpaired) == (5, 1)
    # On these tasks: both successes of a are old's in 1 of 6 cases, that of b in 1 of 2, to each side.
    assert pair.answers.these.claim.p == pytest.approx(2 / 12)
    assert pair.claim.low < 0.5 < pair.claim.high
    with pytest.raises(UsageError, match="No trial with old has a partner"):
        compare_arms([Experiment({("a", 1): 1.0}, {("a", 2): 1.0}, ("old", "new"))])


def test_several_experiments_allow_for_each_other_by_holms_method():
    """Three agents win all six tasks: p = 2/2⁶ for each alone, and no interval of three at once excludes 0."""
    won, lost = ({(str(task), 1): value for task in range(7)} for value in (1.0, 0.0))
    (alone,) = compare_arms([Experiment(won, lost, ("old", "new"))])
    three = compare_arms([Experiment(won, lost, ("old", "new"))] * 3)
    assert alone.answers.like.outcome == "better" and alone.claim.evidence.comparisons == 1
    assert [pair.claim.evidence.comparisons for pair in three] == [3, 2, 1]
    assert three[0].claim.p_adjusted == pytest.approx(min(1.0, 3 * alone.claim.p))
    assert three[0].claim.confidence > alone.claim.confidence and three[0].claim.low <= alone.claim.low


def test_arms_that_differ_by_less_than_the_margin_are_equivalent():
    # Of a share of 1 − 0.025^(1/40) = 8.8% of tasks that differ, 40 tasks include none with a probability of 2.5%.
    arm = {(str(task), seed): float(task % 2) for task in range(40) for seed in range(3)}
    (pair,) = compare_arms([Experiment(arm, arm, ("plain", "obfuscated"))], margin=0.2)
    assert (pair.claim.low, pair.claim.high) == pytest.approx((-0.0881, 0.0881), abs=1e-4)
    assert pair.answers.like.outcome == pair.answers.these.outcome == "equivalent"
    assert "equivalent within 20 points" in " ".join(describe_difference(pair))
    (strict,) = compare_arms([Experiment(arm, arm, ("plain", "obfuscated"))], margin=0.001)
    assert strict.answers.like.outcome == "not known", "no difference at all is no proof of equivalence"


@pytest.mark.slow
def test_an_agent_that_recognizes_descriptions_is_found(study, exam, tmp_path: Path):
    """It loses on the two tasks whose description hides the name; the third is the same in both arms."""
    tasks = ["early-coin", "early-text", "late-text"]
    tables = study("obfuscation", "Reader", *tasks, "--seeds", "1")
    (pair,) = tables["differences"]
    assert (pair["first_mean_rate"], pair["second_mean_rate"]) == pytest.approx((1, 1 / 3))
    assert pair["difference"] == pytest.approx(2 / 3) and pair["outcome"] == "not known"
    assert pair["p_these"] == 0.5  # 2 · (1/2)²
    assert {task["task"]: task["difference"] for task in tables["tasks"]} == {
        "exam/early-coin": 1, "exam/early-text": 1, "exam/late-text": 0,
    }  # fmt: skip
    wins = exam("study", "obfuscation", tmp_path / "run", "--measure", "wins")
    # The plain arm wins two pairs and ties one: 5/6 against 1/6.
    assert all(words in wins.stdout for words in ("plain 83.3%", "obfuscated 16.7%", "difference +66.7 points")), (
        wins.stderr
    )
    assert "8.5 ± 0.6% and 8.4 ± 1.0%" in wins.stdout
    one_arm = exam("run", "early-coin", "--agent", "starter", "--seeds", "1", "--out", tmp_path / "one", "--quiet")
    assert one_arm.returncode == 0, one_arm.stderr
    refused = exam("study", "obfuscation", tmp_path / "one")
    assert refused.returncode == 2 and "no finished trial with obfuscated descriptions" in refused.stderr


@pytest.mark.slow
def test_an_agent_that_remembers_old_competitions_is_found(study, exam, tmp_path: Path):
    """Both matched pairs differ by 1, so the p-value is 2 / 2²."""
    words = ["exam", "--seeds", "1", "--date", "2024-01-01", "--dates", "dates.csv"]
    tables = study("cutoff", "Rememberer", *words)
    assert [(side["closed"], side["mean_rate"]) for side in tables["sides"]] == [("before", 1), ("after", 0)]
    assert [(match["before"], match["after"]) for match in tables["matches"]] == [
        ("exam/early-text", "exam/late-text"),  # alike in everything
        ("exam/early-coin", "exam/late-coin"),  # ten times as many teams
    ]
    assert [match["distance"] for match in tables["matches"]] == [0, 1]
    (pair,) = tables["differences"]
    assert (pair["difference"], pair["p"]) == pytest.approx((1, 0.5), abs=0.01)
    refused = exam("study", "cutoff", tmp_path / "run", "--date", "2024-01-01")
    assert refused.returncode == 2 and "0 closed up to 2024-01-01" in refused.stderr
    assert "Excluded: 4 tasks without a date; pass --dates" in refused.stderr
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("task,closed\nexam/early-coin,soon\n")
    assert (
        "is not a CSV file"
        in exam("study", "cutoff", tmp_path / "run", "--date", "2024-01-01", "--dates", wrong).stderr
    )


def test_every_competition_has_a_date_and_later_ones_have_matches():
    tasks = {task.id: task for task in Registry().select_all(["mlebench"])}
    dates = load_dates(Registry())
    assert set(tasks) <= set(dates) and len(dates) == 82
    day = date(2023, 10, 1)  # the knowledge cutoff of the published study's model
    early = [task for name, task in tasks.items() if dates[name] <= day]
    late = [task for name, task in tasks.items() if dates[name] > day]
    matches = match_tasks(early, late)
    assert 0 < len(matches) <= len(late)
    for match in matches:
        assert tasks[match.before].kind.partition("-")[0] == tasks[match.after].kind.partition("-")[0]
        assert match.distance == pytest.approx(measure_distance(tasks[match.before], tasks[match.after]), abs=0.001)
    assert len({match.before for match in matches}) == len(matches), "no task is used twice"
