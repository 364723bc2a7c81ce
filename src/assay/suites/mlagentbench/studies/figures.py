"""The figures of the MLAgentBench paper for the trials of a run: success, improvement and effort.

Success and improvement are by task and agent. Every finished trial counts: one that crashed, or submitted nothing or an
invalid file, is a failure with a cause and is never excluded.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.values import Estimate
from assay.models.messages import Usage
from assay.records import RunFolder
from assay.results.claims import Claim, Population, claim_mean, claim_sample, collect_outcomes
from assay.results.estimate import estimate_mean, summarize_tasks
from assay.results.frame import RuleSet, TrialRow, group_by, read_frame
from assay.results.trajectory import FAILURE_KINDS, FailureKind, Trajectory, read_trajectory


@dataclass(frozen=True)
class EvaluatedTrial:
    """The outcome of a trial and how the agent worked."""

    outcome: TrialRow
    trajectory: Trajectory


@dataclass(frozen=True)
class Gains:
    """One agent on one task.

    `success` is as published: more than 10% over the measured mean of the starter. `beyond_noise` is the share of
    trials whose gain is also beyond the spread of the starter's own seeds and the error of a measured time.
    `improvement` is the mean over valid submissions, as in the paper, and `improvement_of_all` over all finished
    trials, with 0 for those without a valid submission. A value is None if no baseline was measured for this task on
    this data, or if no trial has finished.
    """

    task: str
    agent: str
    success: Claim | None
    beyond_noise: Claim | None
    improvement: Estimate | None
    improvement_of_all: Estimate | None


@dataclass(frozen=True)
class Effort:
    """How one agent worked: means over its finished trials, and shares of them.

    `troubles` are shares of trials in which a problem occurred, whether the agent recovered or not. `failed` is the
    share of trials without a valid submission, `failures` that of each cause. A cost is None if the price of any reply
    is unknown.
    """

    agent: str
    trials: int
    submitted: Claim
    ended_by_itself: Claim
    seconds: Estimate
    steps: Estimate
    tokens: Estimate
    tokens_by_role: Mapping[str, float]
    cost: Estimate | None
    cost_by_role: Mapping[str, float | None]
    troubles: Mapping[FailureKind, Claim]
    failed: Claim
    failures: Mapping[str, Claim]


@dataclass(frozen=True)
class Paper:
    """All figures of trials with the same rules; efforts are over all tasks and by task."""

    rules: RuleSet
    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    gains: Mapping[tuple[str, str], Gains]
    efforts: Mapping[str, Effort]
    efforts_by_task: Mapping[tuple[str, str], Effort]
    pending: int


def evaluate_trials(run: RunFolder) -> list[EvaluatedTrial]:
    """Return every trial of a run that counts in results, in the order of the plan."""
    return [
        EvaluatedTrial(outcome, read_trajectory(folder))
        for outcome, folder in zip(read_frame(run), run.trials(), strict=True)
        if outcome.counts
    ]


def summarize_paper(trials: Sequence[EvaluatedTrial]) -> list[Paper]:
    """Return the figures of the paper, separately for each set of rules."""
    return [_paper(group) for group in group_by(trials, lambda trial: trial.outcome.rules)]


def find_failure_cause(trial: EvaluatedTrial) -> str | None:
    """Return why a trial has no valid submission; None if it has one or is not finished."""
    outcome, trajectory = trial.outcome, trial.trajectory
    if outcome.failure is None:
        return None
    if outcome.failure == "user":
        return "stopped by the user"
    if trajectory.fatal:
        return trajectory.fatal
    if outcome.failure == "infrastructure":
        return "machine"
    return "invalid submission" if trajectory.submitted else "no submission"


def _paper(trials: Sequence[EvaluatedTrial]) -> Paper:
    finished = [trial for trial in trials if not trial.outcome.pending and not trial.outcome.inapplicable]
    by_agent = group_by(finished, lambda trial: trial.outcome.agent)
    by_both = group_by(finished, lambda trial: (trial.outcome.task, trial.outcome.agent))
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


def _gains(outcomes: Sequence[TrialRow]) -> Gains:
    (cell,) = summarize_tasks(outcomes)
    known = all(outcome.improvement is not None for outcome in outcomes if outcome.valid) and all(
        outcome.grade.baseline is not None for outcome in outcomes if outcome.grade
    )
    beyond = collect_outcomes(outcomes, "success", value_of=_succeeds_beyond_noise)
    return Gains(
        task=cell.task,
        agent=cell.agent,
        success=cell.success_published,
        beyond_noise=claim_mean(beyond, Population.THESE) if beyond.values else None,
        improvement=cell.improvement,
        improvement_of_all=estimate_mean(outcome.improvement or 0.0 for outcome in outcomes) if known else None,
    )


def _succeeds_beyond_noise(outcome: TrialRow) -> float | None:
    return None if outcome.success_beyond_noise is None else float(outcome.success_beyond_noise)


def _effort(trials: Sequence[EvaluatedTrial]) -> Effort:
    trajectories, n = [trial.trajectory for trial in trials], len(trials)
    roles = list(dict.fromkeys(role for trajectory in trajectories for role in trajectory.usage))
    used = {
        role: sum((trajectory.usage.get(role, Usage.zero()) for trajectory in trajectories), Usage.zero())
        for role in roles
    }
    costs = [trajectory.cost for trajectory in trajectories if trajectory.cost is not None]
    causes = [find_failure_cause(trial) for trial in trials]
    return Effort(
        agent=trials[0].outcome.agent,
        trials=n,
        submitted=_share(trials, "submitted", [trajectory.submitted for trajectory in trajectories]),
        ended_by_itself=_share(
            trials, "finished by itself", [trajectory.end in ("final answer", "content") for trajectory in trajectories]
        ),
        seconds=_mean(trajectory.seconds for trajectory in trajectories),
        steps=_mean(trajectory.steps for trajectory in trajectories),
        tokens=_mean(trajectory.tokens for trajectory in trajectories),
        tokens_by_role={role: usage.total_tokens / n for role, usage in used.items()},
        cost=estimate_mean(costs) if len(costs) == n else None,
        cost_by_role={role: None if usage.cost is None else usage.cost / n for role, usage in used.items()},
        troubles={
            trouble: _share(trials, trouble, [trouble in trajectory.troubles for trajectory in trajectories])
            for trouble in FAILURE_KINDS
        },
        failed=_share(trials, "failed", [cause is not None for cause in causes]),
        failures={
            cause: _share(trials, cause, [cause == other for other in causes])
            for cause, _ in Counter(filter(None, causes)).most_common()
        },
    )


def _share(trials: Sequence[EvaluatedTrial], measure: str, hits: Sequence[bool]) -> Claim:
    """Return the mean over tasks of the share of trials."""
    sample: dict[str, list[float]] = {}
    for trial, hit in zip(trials, hits, strict=True):
        sample.setdefault(trial.outcome.task, []).append(float(hit))
    population = Population.LIKE if len(sample) > 1 else Population.THESE
    return claim_sample(trials[0].outcome.agent, measure, sample, population=population)


def _mean(values: Iterable[float]) -> Estimate:
    estimate = estimate_mean(values)
    assert estimate is not None, "trials are grouped, so there is at least one"
    return estimate
