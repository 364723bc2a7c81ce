"""Difficulty of tasks and ability of agents, and the fewest tasks that keep the ranking of agents.

The Rasch model: an agent of ability a succeeds on a task of difficulty d with the log odds a − d. Abilities and
difficulties have normal priors, so that they stay finite for agents and tasks that always or never succeed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.table import Column, Table
from assay.core.text import plural
from assay.core.values import Interval
from assay.results.claims import Population, claim_sample
from assay.results.frame import TrialRow, group_by
from assay.results.inference import Sample
from assay.results.measures import sample_measure

MIN_AGENTS = 10
"""With fewer agents, a difficulty says more about them than about the task."""
_SPREAD = 2.0
"""Standard deviation of the priors, in log odds."""
_FOLDS = 5
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rasch:
    """The abilities of agents and the difficulties of tasks in log odds, with their standard errors."""

    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    abilities: Floats
    difficulties: Floats
    ability_errors: Floats
    difficulty_errors: Floats


@dataclass(frozen=True)
class Subset:
    """Tasks that keep the ranking: the rank correlation they reached for agents that had no part in choosing them.

    `curve` has that correlation for every number of tasks.
    """

    tasks: tuple[str, ...]
    correlation: float
    interval: Interval
    target: float
    curve: tuple[float, ...]
    model: Rasch

    @property
    def reached(self) -> bool:
        """Whether the correlation is as high as it should be."""
        return self.correlation >= self.target


def collect_successes(rows: Sequence[TrialRow]) -> dict[str, Sample]:
    """Return the successes of each agent on the tasks that all of them have; `UsageError` for fewer than ten."""
    by_agent = group_by((row for row in rows if row.counts and not row.pending), lambda row: row.agent)
    samples = {trials[0].agent: sample_measure(trials, "success") for trials in by_agent}
    if len(samples) < MIN_AGENTS:
        raise UsageError(f"Difficulty needs the results of {MIN_AGENTS} agents; there are {len(samples)}")
    tasks = [task for task in next(iter(samples.values())) if all(task in sample for sample in samples.values())]
    if len(tasks) < 2:
        raise UsageError(f"The agents have {plural(len(tasks), 'task')} in common that define success; two are needed")
    return {agent: {task: sample[task] for task in tasks} for agent, sample in samples.items()}


def fit_rasch(samples: Mapping[str, Sample]) -> Rasch:
    """Return the most likely abilities and difficulties with normal priors, by Newton's method."""
    tasks = tuple(next(iter(samples.values())))
    hits, trials = _counts(samples, tasks)
    abilities, difficulties, covariance = _fit(hits, trials)
    errors = np.sqrt(np.diag(covariance))
    return Rasch(tuple(samples), tasks, abilities, difficulties, errors[: len(samples)], errors[len(samples) :])


def choose_subset(samples: Mapping[str, Sample], target: float = 0.9) -> Subset:
    """Return the fewest tasks whose results rank agents like all tasks do.

    Tasks are added one by one, each time the one that tells most about the abilities of the agents. How well the chosen
    tasks rank is measured on other agents than those whose results chose them: the agents are divided into folds, and
    the tasks, their difficulties and the ability that they show come from the other folds.
    """
    tasks = tuple(next(iter(samples.values())))
    hits, trials = _counts(samples, tasks)
    whole = (hits / trials).mean(axis=1)
    predicted: Floats = np.empty((len(tasks), len(hits)))
    folds = np.random.default_rng(0).permutation(len(hits)) % _FOLDS
    for fold in range(_FOLDS):
        held, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        abilities, difficulties, _ = _fit(hits[kept], trials[kept])
        order = _order_tasks(abilities, difficulties, trials[kept].mean(axis=0))
        for count in range(1, len(tasks) + 1):
            chosen = order[:count]
            predicted[count - 1, held] = [
                _ability(hits[agent, chosen], trials[agent, chosen], difficulties[chosen]) for agent in held
            ]
    curve = tuple(_rank_correlation(row, whole) for row in predicted)
    count = next((number for number, value in enumerate(curve, start=1) if value >= target), len(tasks))
    model = fit_rasch(samples)
    order = _order_tasks(model.abilities, model.difficulties, trials.mean(axis=0))
    correlation = curve[count - 1]
    picked = tuple(tasks[number] for number in order[:count])
    return Subset(picked, correlation, _interval(correlation, len(hits)), target, curve, model)


def _counts(samples: Mapping[str, Sample], tasks: Sequence[str]) -> tuple[Floats, Floats]:
    hits = np.array([[float(sum(sample[task])) for task in tasks] for sample in samples.values()])
    trials = np.array([[float(len(sample[task])) for task in tasks] for sample in samples.values()])
    return hits, trials


def _fit(hits: Floats, trials: Floats) -> tuple[Floats, Floats, Floats]:
    agents, tasks = hits.shape
    values: Floats = np.zeros(agents + tasks)
    prior = np.eye(agents + tasks) / _SPREAD**2
    covariance = prior
    for _ in range(100):
        share = 1 / (1 + np.exp(values[agents:] - values[:agents, None]))
        rest, weight = hits - trials * share, trials * share * (1 - share)
        gradient = np.concatenate([rest.sum(axis=1), -rest.sum(axis=0)]) - values / _SPREAD**2
        curvature = prior + np.block([[np.diag(weight.sum(axis=1)), -weight], [-weight.T, np.diag(weight.sum(axis=0))]])
        covariance = np.linalg.inv(curvature)
        step = covariance @ gradient
        values = values + step
        if np.abs(step).max() < 1e-10:
            break
    return values[:agents], values[agents:], covariance


def _ability(hits: Floats, trials: Floats, difficulties: Floats) -> float:
    """Return the most likely ability of an agent from tasks whose difficulties are known."""
    ability = 0.0
    for _ in range(50):
        share = 1 / (1 + np.exp(difficulties - ability))
        gradient = float((hits - trials * share).sum()) - ability / _SPREAD**2
        step = gradient / (float((trials * share * (1 - share)).sum()) + 1 / _SPREAD**2)
        ability += step
        if abs(step) < 1e-10:
            break
    return ability


def _order_tasks(abilities: Floats, difficulties: Floats, trials: Floats) -> list[int]:
    """Return all tasks, each the one that lowers the variance of the abilities most after those before it."""
    share = 1 / (1 + np.exp(difficulties - abilities[:, None]))
    information = trials * share * (1 - share)
    known: Floats = np.full(len(abilities), 1 / _SPREAD**2)
    order: list[int] = []
    while len(order) < len(difficulties):
        left = (1 / (known[:, None] + information)).sum(axis=0)
        left[order] = math.inf
        order.append(int(left.argmin()))
        known = known + information[:, order[-1]]
    return order


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Return Spearman's correlation, with mean ranks for ties; 0 where either side is constant."""
    ranks = [rank_values(values) for values in (first, second)]
    away = [rank - rank.mean() for rank in ranks]
    norm = float(np.linalg.norm(away[0]) * np.linalg.norm(away[1]))
    return float(away[0] @ away[1]) / norm if norm else 0.0


def rank_values(values: Floats) -> Floats:
    """Return the rank of each value from 0; values that are equal have their mean rank."""
    rounded = np.round(values, 9)
    below = (rounded[:, None] > rounded).sum(axis=1)
    equal = (rounded[:, None] == rounded).sum(axis=1)
    ranks: Floats = below + (equal - 1) / 2
    return ranks


def _interval(correlation: float, agents: int) -> Interval:
    """Return Fisher's interval of a rank correlation, with the variance 1.06 / (n − 3) of its transformation."""
    z, half = math.atanh(min(max(correlation, -0.999), 0.999)), 1.96 * math.sqrt(1.06 / (agents - 3))
    return Interval(math.tanh(z - half), max(math.tanh(z + half), correlation))


def subset_tables(subset: Subset, samples: Mapping[str, Sample]) -> list[Table]:
    """Return the chosen tasks, and the ability of each agent."""
    model = subset.model
    position = {task: number for number, task in enumerate(model.tasks)}
    agents_of = {task: {agent: sample[task] for agent, sample in samples.items()} for task in model.tasks}
    rates = {
        task: claim_sample("", "success", by_agent, population=Population.THESE) for task, by_agent in agents_of.items()
    }
    task_columns = (
        Column("task"),
        Column("difficulty", kind="number"),
        Column("error", "±", kind="number"),
        Column("success", "success of these agents", kind="rate"),
        Column("chosen", kind="flag", data_only=True),
    )
    every = [*subset.tasks, *(task for task in model.tasks if task not in subset.tasks)]
    tasks = [
        (
            task,
            float(model.difficulties[position[task]]),
            float(model.difficulty_errors[position[task]]),
            rates[task],
            task in subset.tasks,
        )
        for task in every
    ]
    agent_columns = (Column("agent"), Column("ability", kind="number"), Column("error", "±", kind="number"))
    agents = sorted(zip(model.agents, model.abilities, model.ability_errors, strict=True), key=lambda row: -row[1])
    correlations = tuple(enumerate(subset.curve, start=1))
    curve_columns = (Column("tasks", kind="integer"), Column("correlation", kind="number"))
    return [
        Table("tasks", task_columns, tuple(tasks[: len(subset.tasks)]), title="Chosen tasks, most informative first"),
        Table("agents", agent_columns, tuple((a, float(b), float(e)) for a, b, e in agents), title="Ability, log odds"),
        Table("difficulties", task_columns, tuple(tasks)),
        Table("correlations", curve_columns, correlations),
    ]


def describe_subset(subset: Subset) -> str:
    """Return how many tasks keep the ranking, and how well, in one sentence."""
    count, every, agents = len(subset.tasks), len(subset.model.tasks), len(subset.model.agents)
    reached = f"{subset.correlation:.2f} ({subset.interval.low:.2f} to {subset.interval.high:.2f})"
    what = f"{count} of {every} tasks rank {agents} agents like all tasks: rank correlation {reached}"
    honest = "for agents whose results had no part in choosing the tasks"
    if subset.reached:
        return f"{what}, {honest}."
    return f"Not even all {every} tasks reach a rank correlation of {subset.target:g}: it is {reached}, {honest}."
