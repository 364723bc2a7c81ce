"""Whether agents profit from recognizing a competition: the same trials with original and obfuscated descriptions.

Trials are paired by agent, task and seed. An agent that does not read the description is a control: its difference is
chance alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.core.errors import UsageError
from assay.records import TrialFile
from assay.results.comparison import RATES, Measure, measure_outcome
from assay.results.outcome import Outcome, RuleSet
from assay.runs.plan import Plan
from assay.studies.paired import PairedDifference, compare_arms
from assay.studies.trials import StudyTrial, find_rules, group_by_agent

ARMS = ("plain", "obfuscated")


@dataclass(frozen=True)
class Obfuscation:
    """The difference (plain − obfuscated) of each agent, and the tasks that do not define the measure."""

    measure: Measure
    rules: RuleSet
    agents: dict[str, PairedDifference]
    left_out: tuple[str, ...]


def plan_arms(plan: Plan) -> list[Plan]:
    """Return the plan with original and with obfuscated descriptions; `--descriptions` replaces the latter."""
    hidden = plan if plan.descriptions else replace(plan, describe="obfuscated")
    return [replace(plan, describe="plain", descriptions=None), hidden]


def drop_description(file: TrialFile) -> TrialFile:
    """Return a plan without its choice of description, so that both arms are one agent."""
    return file.model_copy(update={"describe": "plain", "description": None})


def study_obfuscation(trials: Sequence[StudyTrial], measure: Measure) -> Obfuscation:
    """Compare the two arms of each agent; with `wins`, each pair is 1 for the arm that scored better, a tie half."""
    agents, left_out = {}, dict[str, None]()
    for agent, same in group_by_agent(trials).items():
        arms: list[dict[tuple[str, int], Outcome]] = [{}, {}]
        for one in same:
            arms[one.file.describe != "plain"][one.outcome.task, one.outcome.seed] = one.outcome
        if not all(arms):
            missing = ARMS[0] if not arms[0] else ARMS[1]
            raise UsageError(f"{agent} has no finished trial with {missing} descriptions")
        first, second = _values(arms, measure, left_out)
        if first and second:
            agents[agent] = compare_arms(first, second, ARMS, rate=measure in RATES)
    if not agents:
        raise UsageError(f"No task of these trials defines {measure}; try --measure wins, which every task has")
    return Obfuscation(measure, find_rules(trials), agents, tuple(left_out))


def _values(
    arms: Sequence[dict[tuple[str, int], Outcome]], measure: Measure, left_out: dict[str, None]
) -> list[dict[tuple[str, int], float]]:
    if measure == "wins":
        shared = [key for key in arms[0] if key in arms[1]]
        wins = {key: _win(arms[0][key], arms[1][key]) for key in shared}
        return [wins, {key: 1 - value for key, value in wins.items()}]
    values: list[dict[tuple[str, int], float]] = [{}, {}]
    for arm, outcomes in enumerate(arms):
        for key, outcome in outcomes.items():
            if (value := measure_outcome(outcome, measure)) is None:
                left_out[key[0]] = None
            else:
                values[arm][key] = value
    return [{key: value for key, value in one.items() if key[0] not in left_out} for one in values]


def _win(first: Outcome, second: Outcome) -> float:
    """Return 1 if the first trial scored better, 0 if the second did, and a half for a tie; no score is worst."""
    sign = -1 if first.direction == "lower" else 1
    scores = [float("-inf") if one.score is None else sign * one.score for one in (first, second)]
    return (scores[0] > scores[1]) + 0.5 * (scores[0] == scores[1])
