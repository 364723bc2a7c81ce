"""What the MLAgentBench paper reports, for our trials: success, improvement, and how the work went.

Success and improvement are by task and agent. Every finished trial counts: one that crashed, or handed in nothing or
something invalid, is a failure with a cause, and is never left out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.models.messages import Usage
from assay.records import RunFolder
from assay.results.collect import collect
from assay.results.outcome import Outcome, Rules
from assay.results.statistics import Estimate, Rate, cells, estimate, grouped, rate, wilson
from assay.results.trajectory import TROUBLES, Process, Trouble, trajectory_of


@dataclass(frozen=True)
class Evaluated:
    """A trial: what came of it, and how it went."""

    outcome: Outcome
    process: Process


@dataclass(frozen=True)
class Gains:
    """One agent on one task.

    `success` is more than 10 % over the starter's measured mean, and `beyond_spread` the share of trials that also
    are further from it than its own seeds are. `improvement` is the mean over valid submissions, as in the paper, and
    `improvement_of_all` over all finished trials, those without a valid submission as 0. None is what cannot be said:
    nobody measured a baseline for this task on this data, or no trial has finished.
    """

    task: str
    agent: str
    success: Rate | None
    beyond_spread: Rate | None
    improvement: Estimate | None
    improvement_of_all: Estimate | None


@dataclass(frozen=True)
class Effort:
    """How one agent worked: means over its finished trials, and shares of them.

    `troubles` are shares of trials that met a trouble, whether they got over it or not. `failures` are trials without
    a valid submission, by what they ended with. A cost is None where the price of any reply is not known.
    """

    agent: str
    trials: int
    submitted: Rate
    ended_by_itself: Rate
    seconds: Estimate
    steps: Estimate
    tokens: Estimate
    tokens_by_role: Mapping[str, float]
    cost: Estimate | None
    cost_by_role: Mapping[str, float | None]
    troubles: Mapping[Trouble, Rate]
    failures: Mapping[str, int]


@dataclass(frozen=True)
class Paper:
    """All that is reported of trials judged by the same rules; efforts are over all tasks, and of each."""

    rules: Rules
    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    gains: Mapping[tuple[str, str], Gains]
    efforts: Mapping[str, Effort]
    efforts_by_task: Mapping[tuple[str, str], Effort]
    pending: int


def evaluated(run: RunFolder) -> list[Evaluated]:
    """Every trial of a run, in the order of its plan."""
    return [
        Evaluated(outcome, trajectory_of(folder)) for outcome, folder in zip(collect(run), run.trials(), strict=True)
    ]


def papers(trials: Sequence[Evaluated]) -> list[Paper]:
    """The paper's figures, apart for each set of rules."""
    return [_paper(same) for same in grouped(trials, lambda trial: trial.outcome.rules)]


def cause_of_failure(trial: Evaluated) -> str | None:
    """What a trial without a valid submission ended with; None for one that has a valid one, or is not finished."""
    outcome, process = trial.outcome, trial.process
    if outcome.failure is None:
        return None
    if outcome.failure == "user":
        return "stopped by its user"
    if process.fatal:
        return process.fatal
    if outcome.failure == "infrastructure":
        return "machine"
    return "invalid submission" if process.submitted else "nothing handed in"


def _paper(trials: Sequence[Evaluated]) -> Paper:
    finished = [trial for trial in trials if not trial.outcome.pending and not trial.outcome.inapplicable]
    by_agent = grouped(finished, lambda trial: trial.outcome.agent)
    by_both = grouped(finished, lambda trial: (trial.outcome.task, trial.outcome.agent))
    gains = [_gains([trial.outcome for trial in group]) for group in by_both]
    efforts = [(group[0].outcome.task, _effort(group)) for group in by_both]
    return Paper(
        rules=trials[0].outcome.rules,
        tasks=tuple(dict.fromkeys(trial.outcome.task for trial in trials)),
        agents=tuple(dict.fromkeys(trial.outcome.agent for trial in trials)),
        gains={(each.task, each.agent): each for each in gains},
        efforts={effort.agent: effort for effort in map(_effort, by_agent)},
        efforts_by_task={(task, effort.agent): effort for task, effort in efforts},
        pending=sum(trial.outcome.pending for trial in trials),
    )


def _gains(outcomes: Sequence[Outcome]) -> Gains:
    (cell,) = cells(outcomes)
    known = all(outcome.improvement is not None for outcome in outcomes if outcome.valid) and all(
        outcome.grade.baseline is not None for outcome in outcomes if outcome.grade
    )
    beyond = [outcome.grade.beyond_spread for outcome in outcomes if outcome.valid and outcome.grade]
    sure = [bool(outcome.success and outcome.grade and outcome.grade.beyond_spread) for outcome in outcomes]
    return Gains(
        task=cell.task,
        agent=cell.agent,
        success=cell.success,
        beyond_spread=rate(sum(sure), len(sure)) if cell.success and None not in beyond else None,
        improvement=cell.improvement,
        improvement_of_all=estimate(outcome.improvement or 0.0 for outcome in outcomes) if known else None,
    )


def _effort(trials: Sequence[Evaluated]) -> Effort:
    went, n = [trial.process for trial in trials], len(trials)
    roles = list(dict.fromkeys(role for process in went for role in process.usage))
    used = {role: sum((process.usage.get(role, Usage.zero()) for process in went), Usage.zero()) for role in roles}
    costs = [process.cost for process in went if process.cost is not None]
    causes = Counter(cause for trial in trials if (cause := cause_of_failure(trial)))
    return Effort(
        agent=trials[0].outcome.agent,
        trials=n,
        submitted=_share(process.submitted for process in went),
        ended_by_itself=_share(process.end in ("final answer", "content") for process in went),
        seconds=_mean(process.seconds for process in went),
        steps=_mean(process.steps for process in went),
        tokens=_mean(process.tokens for process in went),
        tokens_by_role={role: usage.total_tokens / n for role, usage in used.items()},
        cost=estimate(costs) if len(costs) == n else None,
        cost_by_role={role: None if usage.cost is None else usage.cost / n for role, usage in used.items()},
        troubles={trouble: _share(trouble in process.troubles for process in went) for trouble in TROUBLES},
        failures=dict(causes.most_common()),
    )


def _share(hits: Iterable[bool]) -> Rate:
    found = list(hits)
    return Rate(sum(found), len(found), *wilson(sum(found), len(found)))


def _mean(values: Iterable[float]) -> Estimate:
    found = estimate(values)
    assert found is not None, "trials are grouped, so there is at least one"
    return found
