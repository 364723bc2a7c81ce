"""How results were made, to be disclosed with them: models, limits, hardware, network, feedback, attempts, cost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.core.text import plural
from assay.records import TrialSummary
from assay.results.frame import CONDITIONS, RuleSet, condition_of
from assay.results.frame import TrialRow as Outcome
from assay.results.statistics import group_by

SummaryAndOutcome = tuple[TrialSummary, Outcome]

_NETWORKS = {"none": "none", "models": "model providers only", "host": "open: the whole network"}


@dataclass(frozen=True)
class Disclosure:
    """What a reader must know about the trials of one agent; where trials differ, every value is listed.

    Seconds, tokens and cost are sums over trials, the cost in dollars; None where a price is unknown.
    """

    agent: str
    rules: RuleSet
    models: tuple[str, ...]
    settings: tuple[str, ...]
    tools: tuple[str, ...]
    budget: tuple[str, ...]
    hardware: tuple[str, ...]
    internet: tuple[str, ...]
    sandbox: tuple[str, ...]
    environment: tuple[str, ...]
    description: tuple[str, ...]
    feedback: str
    attempts: str
    versions: tuple[str, ...]
    trials: int
    seconds: float
    tokens: int
    cost: float | None
    first_started: str | None
    last_ended: str | None
    load: float | None


def disclose_agents(trials: Sequence[SummaryAndOutcome]) -> list[Disclosure]:
    """Return a disclosure for each agent under each set of rules."""
    return [_disclose(same) for same in group_by(trials, lambda pair: (pair[1].rules, pair[1].agent))]


def _disclose(trials: Sequence[SummaryAndOutcome]) -> Disclosure:
    files = [trial.file for trial, _ in trials]
    states = [trial.state for trial, _ in trials]
    conditions = [{name: condition_of(outcome, name) for name in CONDITIONS} for _, outcome in trials]
    costs = [state.cost for state in states]
    return Disclosure(
        agent=trials[0][1].agent,
        rules=trials[0][1].rules,
        models=_distinct(f"{role}: {model}" for file in files for role, model in file.models.items()),
        settings=_distinct(
            f"{name}={value}" for file in files for name, value in {**file.settings, **file.model_settings}.items()
        ),
        tools=_distinct(file.tools for file in files if file.tools),
        budget=_distinct(one["budget"] for one in conditions),
        hardware=_distinct(one["hardware"] for one in conditions),
        internet=_distinct(
            _NETWORKS[state.sealing.network if state.sealing else file.network]
            for file, state in zip(files, states, strict=True)
        ),
        sandbox=_distinct(f"{file.sandbox}, {one['sealing']}" for file, one in zip(files, conditions, strict=True)),
        environment=_distinct(file.environment_from or file.environment for file in files),
        description=_distinct(one["description"] for one in conditions),
        feedback=_describe_feedback(trials),
        attempts=_describe_attempts([outcome for _, outcome in trials]),
        versions=_distinct(f"{name} {version}" for file in files for name, version in file.versions.items()),
        trials=len(trials),
        seconds=sum(state.elapsed for state in states),
        tokens=sum(state.tokens for state in states),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        first_started=min((state.started_at for state in states if state.started_at), default=None),
        last_ended=max((state.ended_at for state in states if state.ended_at), default=None),
        load=max((state.load for state in states if state.load is not None), default=None),
    )


def _describe_feedback(trials: Sequence[SummaryAndOutcome]) -> str:
    """Return what agents could learn about the hidden test data."""
    if any(outcome.unsealed for _, outcome in trials):
        return "the answers were within reach, because a lab was not sealed"
    checks = fmean(trial.state.validations for trial, _ in trials)
    used = f", used {checks:.1f} times per trial" if checks else ""
    return f"no score; only whether the format of a submission is valid{used}"


def _describe_attempts(outcomes: Sequence[Outcome]) -> str:
    """Return how many attempts each task has, and which of them do not count."""
    counts = Counter(outcome.task for outcome in outcomes if outcome.counts).values()
    fewest, most = min(counts, default=0), max(counts, default=0)
    text = f"{plural(most, 'attempt')} per task" if fewest == most else f"{fewest} to {most} attempts per task"
    rerun, forks = sum(one.replaced for one in outcomes), sum(one.parent is not None for one in outcomes)
    text += f", {plural(rerun, 'trial')} rerun" if rerun else ""
    return text + (f", {plural(forks, 'fork')} not counted" if forks else "")


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
