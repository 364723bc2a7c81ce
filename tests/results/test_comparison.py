"""Agents are compared by paired differences on common tasks, and only where conditions are the same."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic_outcomes import TASKS, grade, outcome

from assay.core.errors import UsageError
from assay.records import RunFolder
from assay.results.frame import CONDITIONS, TrialRow, read_frame
from assay.results.paired import compare_agents, select_trials
from assay.tasks import Registry
from assay.tasks.facts import read_facts

TINY = Path(__file__).parent.parent / "tiny"
SAME = dict.fromkeys(CONDITIONS, "the same")


def trials(agent: str, successes: Mapping[str, Sequence[bool]], **conditions: str) -> list[TrialRow]:
    """Trials of one agent with these successes by task, one for each seed."""
    return [
        outcome(
            task,
            agent,
            seed,
            grade=grade(task, 0.9).model_copy(update={"success": won}),
            conditions=SAME | conditions,
        )
        for task, won_by_seed in successes.items()
        for seed, won in enumerate(won_by_seed, 1)
    ]


DIGITS, HOUSE, SPACESHIP, SPEED = TASKS
STRONG = trials("strong", {DIGITS: [True, True], HOUSE: [True, False], SPACESHIP: [True, True], SPEED: [True, True]})
WEAK = trials("weak", {DIGITS: [False, False], HOUSE: [True, False], SPACESHIP: [False, True], SPEED: [False, False]})


def test_two_agents_are_compared_by_task():
    (comparison,) = compare_agents([*WEAK, *STRONG])
    assert [summary.agent for summary in comparison.agents] == ["strong", "weak"]
    assert comparison.agents[0].means.like.value == pytest.approx(3.5 / 4)
    (pair,) = comparison.pairs
    # Differences by task: 1, 0, 1/2, 1. Permuted, digits, speed and house are 1, 0 or −1 in 1, 4 and 1 of 6 cases, and
    # spaceship ± 1/2: the sum reaches 5/2 in (5 + 1 + 2 · 4) of 432. Four tasks are too few for a test over tasks.
    assert pair.difference == pytest.approx(2.5 / 4)
    assert pair.answers.these.claim.p == pytest.approx(2 * 14 / 432)
    assert pair.answers.like.outcome == "not known" and not pair.significant
    assert [task.task for task in pair.tasks[-2:]] == [SPACESHIP, HOUSE]
    assert pair.improves.value == pytest.approx((1 + 0.5 + 0.75 + 1) / 4)


def test_several_pairs_are_adjusted_and_a_baseline_limits_them():
    third = [replace(row, agent="third") for row in WEAK]
    (comparison,) = compare_agents([*WEAK, *STRONG, *third])
    assert len(comparison.pairs) == 3
    assert all(pair.claim.p_adjusted >= pair.claim.p for pair in comparison.pairs)
    (comparison,) = compare_agents([*WEAK, *STRONG, *third], baseline="weak")
    assert {(pair.first, pair.second) for pair in comparison.pairs} == {("strong", "weak"), ("third", "weak")}
    (comparison,) = compare_agents([*WEAK, *STRONG, *third], agents=["weak", "third"])
    assert comparison.pairs[0].claim.p == 1


def test_tasks_that_one_agent_lacks_are_left_out():
    (comparison,) = compare_agents([*STRONG, *(row for row in WEAK if row.task != SPEED)])
    assert SPEED in comparison.excluded
    assert SPEED not in comparison.tasks


@pytest.mark.parametrize("condition", CONDITIONS)
def test_trials_under_different_conditions_are_refused_unless_that_is_the_question(condition: str):
    other = [replace(row, conditions=SAME | {condition: "another"}) for row in WEAK]
    with pytest.raises(UsageError, match=f"strong and weak differ in {condition} \\(the same: strong; another"):
        compare_agents([*other, *STRONG])
    (comparison,) = compare_agents([*other, *STRONG], ignore=[condition])
    assert f"ignored: {condition}" in comparison.pairs[0].answers.these.claim.conditions[0]
    third = [replace(row, agent="third") for row in STRONG]
    (comparison,) = compare_agents([*other, *STRONG, *third])
    assert [(pair.first, pair.second) for pair in comparison.pairs] == [("strong", "third")]
    assert len(comparison.refused) == 2


def test_an_unknown_agent_and_a_single_one_are_errors():
    with pytest.raises(UsageError, match="no finished trial of agent 'strnog'; did you mean strong"):
        compare_agents([*WEAK, *STRONG], agents=["strnog", "weak"])
    with pytest.raises(UsageError, match="nothing to compare: only strong"):
        compare_agents(STRONG)


def test_the_command_compares_the_agents_of_a_run(assay, scripted_run: RunFolder):
    trials = select_trials([*read_frame(scripted_run), *read_frame(scripted_run)])  # a run given twice counts once
    assert len(trials) == len({(trial.agent, trial.task, trial.seed) for trial in trials})
    compare = ["--tasks", str(TINY), "compare", str(scripted_run.path)]
    ran = assay(*compare)
    assert ran.returncode == 0, ran.stderr
    assert "by score, paired by task (these tasks define no success)" in ran.stdout
    ran = assay(*compare, "--measure", "success")
    assert ran.returncode == 2
    assert "no task of tiny in common that defines success; try --measure wins" in ran.stderr
    assert assay(*compare, "--agent", "nonsense").returncode == 2


def test_wins_need_no_baseline_and_a_failure_loses():
    failed = [replace(row, status="failed", cause="agent", grade=None) for row in WEAK]
    (comparison,) = compare_agents([*STRONG, *failed], measure="wins")
    assert [(summary.agent, summary.means.like.value) for summary in comparison.agents] == [
        ("strong", 1.0),
        ("weak", 0.0),
    ]
    house = [outcome(HOUSE, summary.agent, 1, score, conditions=SAME) for summary, score in
             ((STRONG[0], 0.1), (WEAK[0], 0.2))]  # fmt: skip
    (comparison,) = compare_agents(house, measure="wins")  # there a lower score is better
    assert comparison.agents[0].agent == "strong"


def test_scores_are_normalized_between_the_sample_submission_and_gold():
    def scored(agent: str, score: float) -> TrialRow:
        board = {"gold_threshold": 0.2, "silver_threshold": 0.3, "bronze_threshold": 0.4}
        graded = replace(outcome(HOUSE, agent, 1, score), grade=grade(HOUSE, score, **board), sample_score=1.2)
        return replace(graded, conditions=SAME)

    # Lower is better: 0.7 is halfway from the sample's 1.2 to gold at 0.2; beyond either end it is that end.
    (comparison,) = compare_agents([scored("half", 0.7), scored("best", 0.1), scored("bad", 9.0)], measure="normalized")
    assert {summary.agent: summary.means.like.value for summary in comparison.agents} == pytest.approx(
        {"best": 1.0, "half": 0.5, "bad": 0.0}
    )
    assert [claim.value for claim in comparison.agents[1].profile.values()] == [1, 1, 1, 0, 0, 0]


def test_the_sample_submission_of_every_competition_has_a_known_score_without_a_medal():
    registry = Registry()
    scores = {task.name: read_facts(task.folder).sample_score for task in registry.select("mlebench")}
    undefined = [name for name, score in scores.items() if score is None]
    assert undefined == ["us-patent-phrase-to-phrase-matching"]  # the correlation of a constant
    for name, score in scores.items():
        if score is None:
            continue
        task = registry.task(f"mlebench/{name}")
        board = task.leaderboard
        assert board is not None
        assert score > board.gold if task.metric.direction == "lower" else score < board.gold, name
