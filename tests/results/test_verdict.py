"""The verdict on two agents says who is ahead, by how much, how sure that is, where, and what the other lacked."""

from dataclasses import replace

import pytest
from synthetic_outcomes import failed, grade, outcome

from assay.results.frame import TrialRow
from assay.results.paired import compare_agents
from assay.results.verdict import Verdict, make_verdict


def trial(agent: str, task: str, success: bool) -> TrialRow:
    graded = grade("pocket/digits", 0.9).model_copy(update={"success": success})
    return replace(outcome(agent=agent, grade=graded), task=f"pocket/{task}", title=f"Task {task}")


def judge(outcomes: list[TrialRow]) -> Verdict:
    (comparison,) = compare_agents(outcomes)
    return make_verdict(comparison, comparison.pairs[0], outcomes)


@pytest.mark.parametrize(
    ("tasks", "won", "lost", "headline"),
    [
        # With one trial each, p is 2 / 2^wins for both questions, or that of a binomial with wins and losses.
        (8, 6, 0, "one is better than two on these 8 tasks and on tasks like these."),  # p = 0.031
        (
            *(3, 3, 0),
            "It is not known which is better, one or two, on these 3 tasks (about 1 more seed), nor on tasks like "
            "these (it takes at least 6 tasks).",
        ),
        (
            1,
            1,
            0,
            # With n trials each, the smallest p on a task is 2 / C(2n, n), which is 2 / 70 for n = 4.
            "It is not known which is better, one or two, on this task (about 3 more seeds), nor on tasks like "
            "these (it takes at least 6 tasks).",
        ),
        (
            *(3, 0, 0),
            "It is not known which is better, one or two, by score, paired by task (success does not tell them "
            "apart: both 0%) on these 3 tasks (more seeds would hardly settle it), nor on tasks like these (it takes "
            "at least 6 tasks).",
        ),
    ],
)
def test_the_headline_is_as_sure_as_the_tasks_allow(tasks, won, lost, headline):
    outcomes = [trial("one", str(n), n < won) for n in range(tasks)]
    outcomes += [trial("two", str(n), won <= n < won + lost) for n in range(tasks)]
    assert judge(outcomes).headline == headline


def test_it_is_said_of_the_better_one_by_how_much_where_and_what_the_other_lacked():
    outcomes = [trial("good", str(n), n < 3) for n in range(6)] + [trial("bad", str(n), n == 4) for n in range(6)]
    outcomes[-1] = replace(failed("pocket/digits", "bad", 0), task="pocket/5", title="Task 5")
    verdict = judge([*outcomes, trial("good", "extra", True)])
    assert (verdict.first, verdict.second) == ("good", "bad")
    # +1 on three tasks, −1 on one, 0 on two: 2 of 6.
    assert verdict.amount.startswith("50% against 17% success, +33 points: ")
    assert "on these tasks, " in verdict.amount and "on tasks like these (exploratory)" in verdict.amount
    assert verdict.tasks == (
        "Better on Task 0, Task 1 and Task 2; worse on Task 4; the same on Task 3 and Task 5; "
        "not compared on Task extra."
    )
    assert verdict.failures == 1
    assert verdict.shortfall == (
        "bad did not succeed in 5 of 6 trials: 4 valid but not clearly better than the starter code "
        "(by more than 10% and beyond noise), 1 agent."
    )
    board = {"gold_threshold": 0.99, "silver_threshold": 0.98, "bronze_threshold": 0.97}
    ranked = [replace(row, grade=row.grade and row.grade.model_copy(update=board)) for row in outcomes]
    assert "4 valid but without a medal" in (judge(ranked).shortfall or "")


def test_success_that_does_not_tell_agents_apart_gives_way_to_scores():
    def scored(agent: str, seed: int, score: float) -> TrialRow:
        return replace(outcome(agent=agent, seed=seed, score=score), trial=f"{agent}-{seed}")

    outcomes = [scored("v1", seed, 0.098) for seed in range(4)] + [scored("v2", seed, 0.398) for seed in range(4)]
    verdict = judge(outcomes)
    # Of the 70 ways to assign eight trials, one to each side separates the scores.
    assert verdict.headline == (
        "v2 is better than v1 by score, paired by task (success does not tell them apart: both 0%) on this task; on "
        "tasks like these that is not known: it takes at least 6 tasks."
    )
    assert "p = 0.029" in verdict.amount
