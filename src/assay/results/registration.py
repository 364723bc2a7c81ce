"""Whether a comparison was planned: the plans registered in `run.json`, what differs from them, and how many looks.

A plan that was extended by tasks or seeds after results were known is a further look at them. The k-th look of a
sequential plan tests at 5%/(k(k + 1)), so that all looks together err in at most 5%, however many there are. Any other
plan tests at 5% when it ends, which leaves 0.5% for all that is added later: the k-th look has 0.5%/(k(k − 1)).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from assay.core.text import plural
from assay.records.registration import MARGIN, Measure, RegisteredPlan
from assay.results.frame import TrialRow, group_by

_FURTHER_LOOKS = 10
"""A tenth of 5% is left for looks that were not planned."""


@dataclass(frozen=True)
class Registration:
    """Whether a comparison was planned: what differs from its plan, and how often results were looked at."""

    differs: tuple[str, ...] = ("no plan was registered before its trials",)
    digest: str = ""
    look: int = 1
    sequential: bool = False
    pairs: int = 0
    """How many comparisons the plan has."""

    @property
    def planned(self) -> bool:
        """Whether everything is as the plan says."""
        return not self.differs

    @property
    def allowance(self) -> int:
        """By what the level is divided at this look."""
        return _divide_level(self.look, self.sequential)

    @property
    def next_allowance(self) -> int:
        """By what the level is divided if seeds or tasks are added; where no plan counts looks, it is not known."""
        return _divide_level(self.look + 1, self.sequential) if self.digest else 1

    def __str__(self) -> str:
        return "as planned" if self.planned else "exploratory"

    def describe(self) -> str:
        """Return whether the comparison was planned and what differs, as a sentence."""
        look = f" Look {self.look}: the level is 5%/{self.allowance}." if self.allowance > 1 else ""
        if self.planned:
            return f"As planned before the first trial (plan {self.digest[:12]}).{look}"
        return f"Exploratory: {'; '.join(self.differs)}.{look}"


def _divide_level(look: int, sequential: bool) -> int:
    if sequential:
        return look * (look + 1)
    return 1 if look == 1 else _FURTHER_LOOKS * look * (look - 1)


UNREGISTERED = Registration()
"""Of trials whose run registered no plan."""


@dataclass(frozen=True)
class _AgentTrials:
    labels: frozenset[str]
    trials: frozenset[tuple[str, int]]
    started: datetime | None
    ended: datetime | None


@dataclass(frozen=True)
class Asked:
    """What is asked of a comparison; what is None is as planned."""

    measure: Measure | None = None
    margin: float | None = None
    baseline: str | None = None
    ignore: frozenset[str] = frozenset()


class Plans:
    """The plans of the runs of some trials of a suite."""

    def __init__(self, rows: Sequence[TrialRow]) -> None:
        known = {plan.digest + plan.registered_at: plan for row in rows for plan in row.plans if row.counts}
        self.plans = sorted(known.values(), key=lambda plan: datetime.fromisoformat(plan.registered_at))
        self._rows = rows

    @cached_property
    def _agents(self) -> dict[str, _AgentTrials]:
        by_agent = group_by((row for row in self._rows if row.counts), lambda row: row.agent)
        return {trials[0].agent: _summarize(trials) for trials in by_agent}

    def complete(self, asked: Asked, agents: Sequence[str]) -> Asked:
        """Return what is asked of some agents, and where nothing is, what the first plan says."""
        first = self.plans[0] if self.plans else None
        margin = asked.margin if asked.margin is not None else first.margin if first else MARGIN
        baseline = asked.baseline or next(filter(self.names_baseline, agents), None)
        return Asked(asked.measure or (first.measure if first else None), margin, baseline, asked.ignore)

    def names_baseline(self, agent: str) -> bool:
        """Whether the first plan names an agent as the baseline."""
        return bool(self.plans) and agent in self._agents and self.plans[0].baseline in self._agents[agent].labels

    def judge(self, pair: tuple[str, str], asked: Asked, tasks: Iterable[str]) -> Registration:
        """Return whether a comparison of two agents on some tasks was planned."""
        first, second = (self._agents[agent] for agent in pair)
        plans = [plan for plan in self.plans if all(own.labels & set(plan.agents) for own in (first, second))]
        if not plans:
            return Registration(("no plan of both agents was registered",)) if self.plans else UNREGISTERED
        compared, planned = set(tasks), plans[0]
        look = 1 + sum(self._extends(number, plans, first, second) for number in range(1, len(plans)))
        sequential = all(plan.sequential for plan in plans)
        suites = {task.partition("/")[0] for task in compared}
        due = {task for plan in plans for task in plan.tasks if task.partition("/")[0] in suites}
        seeds = max(plan.seeds for plan in plans)
        differs = list(_compare_with(planned, asked, first, second))
        if not all(plan.is_intact for plan in plans):
            differs.append("the plan was changed: it does not have its hash")
        registered = datetime.fromisoformat(planned.registered_at)
        if all(own.started and own.started < registered for own in (first, second)):
            differs.append("trials of both agents started before the plan was registered")
        if absent := due - compared:
            differs.append(f"{plural(len(absent), 'planned task')} not compared")
        if unplanned := compared - due:
            differs.append(f"{plural(len(unplanned), 'task')} not planned")
        if removed := sum(_count_missing(own, due & compared, seeds) for own in (first, second)):
            differs.append(f"{plural(removed, 'planned trial')} without a record")
        if added := sum(seed > seeds and task in compared for own in (first, second) for task, seed in own.trials):
            differs.append(f"{plural(added, 'trial')} not planned")
        if look > 1 and not sequential:
            differs.append("tasks or seeds were added after results were known")
        agents = max(len(plan.agents) for plan in plans)
        total = agents - 1 if planned.baseline else agents * (agents - 1) // 2
        return Registration(tuple(differs), planned.digest, look, sequential, total)

    @staticmethod
    def _extends(number: int, plans: Sequence[RegisteredPlan], *agents: _AgentTrials) -> bool:
        """Whether a plan adds tasks or seeds to those before it, after trials of both agents had ended."""
        plan, earlier = plans[number], plans[:number]
        registered = datetime.fromisoformat(plan.registered_at)
        known = all(own.ended is not None and own.ended < registered for own in agents)
        tasks = {task for other in earlier for task in other.tasks}
        return known and (not tasks.issuperset(plan.tasks) or plan.seeds > max(other.seeds for other in earlier))


def _count_missing(agent: _AgentTrials, tasks: set[str], seeds: int) -> int:
    """Return how many of the planned trials an agent has no record of."""
    return len(tasks) * seeds - sum(task in tasks and 1 <= seed <= seeds for task, seed in agent.trials)


def _summarize(rows: Sequence[TrialRow]) -> _AgentTrials:
    return _AgentTrials(
        labels=frozenset(row.record.file.label if row.record else row.agent for row in rows),
        trials=frozenset((row.task, row.seed) for row in rows),
        started=min((row.started_at for row in rows if row.started_at), default=None),
        ended=min((row.ended_at for row in rows if row.ended_at), default=None),
    )


def _compare_with(plan: RegisteredPlan, asked: Asked, first: _AgentTrials, second: _AgentTrials) -> Iterable[str]:
    if asked.measure != plan.measure:
        yield f"the plan's measure is {plan.measure or 'success'}, not {asked.measure or 'success'}"
    if asked.margin != plan.margin:
        yield f"the plan's margin is {100 * plan.margin:g} points"
    if plan.baseline and plan.baseline not in first.labels | second.labels:
        yield f"the plan compares with {plan.baseline} only"
    if asked.ignore:
        yield f"differences in {', '.join(sorted(asked.ignore))} are ignored"
