"""What results cost: dollars and time per trial and per success, and which agents no other one beats for less.

An agent is on the front if no other agent is at least as good for at most as much. How sure that is follows from
random weights of the tasks, which are a sample. All figures are over the tasks that all agents have.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.core.claim import format_rate
from assay.core.figure import Axis, Figure, Key
from assay.core.quantities import format_cost, format_measured
from assay.core.table import Column, Formatted, Table, Value
from assay.core.text import plural
from assay.core.values import Interval, format_percent
from assay.results.claims import Claim, Population, claim_mean, collect_outcomes
from assay.results.frame import UNKNOWN, TrialRow, group_by
from assay.results.inference import Families, random_weights, t_quantile
from assay.results.measures import Measure

Resource = Literal["cost", "time"]
_RESOURCES: tuple[Resource, ...] = ("cost", "time")
_DRAWS = 2000
_WIDTH = 540
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spending:
    """What an agent spends per trial and per success, with 95% intervals over tasks; dollars may not be known.

    `per_success` is None without any success; then its interval has only a lower limit. `on_front` is the probability
    that no other agent is at least as good for at most as much.
    """

    amount: float
    interval: Interval | None
    per_success: float | None
    per_success_interval: Interval | None
    on_front: float
    front: bool


@dataclass(frozen=True)
class AgentCost:
    """One agent: how good it is on tasks like these, on what hardware, and what it spends."""

    agent: str
    hardware: str
    success: Claim
    spending: Mapping[Resource, Spending]


def measure_costs(
    rows: Sequence[TrialRow], measure: Measure = "success", families: Families | None = None
) -> list[AgentCost]:
    """Return the agents by their mean, the best first; nothing where no task of all of them defines the measure."""
    families = families or {row.task: row.family for row in rows if row.family}
    by_agent = group_by((row for row in rows if row.counts), lambda row: row.agent)
    outcomes = [collect_outcomes(trials, measure, rows) for trials in by_agent]
    tasks = [task for task in outcomes[0].values if all(task in each.values for each in outcomes)] if outcomes else []
    if not tasks:
        return []
    ended = [[row for row in trials if not (row.pending or row.inapplicable)] for trials in by_agent]
    values = np.array([[fmean(each.values[task]) for task in tasks] for each in outcomes])
    used: dict[Resource, list[Floats | None]] = {
        "cost": [_amounts([(row.task, row.cost) for row in trials], tasks) for trials in ended],
        "time": [_amounts([(row.task, row.elapsed) for row in trials], tasks) for trials in ended],
    }
    spending: list[dict[Resource, Spending]] = [{} for _ in outcomes]
    claims = [claim_mean(each.on(tasks), Population.LIKE, families=families) for each in outcomes]
    for resource, amounts in used.items():
        known = [number for number, amount in enumerate(amounts) if amount is not None]
        table = np.array([amounts[number] for number in known])
        if not known or not table.any():
            continue  # nobody paid anything
        front, chances = _find_front(values[known], table)
        for position, number in enumerate(known):
            ratio = _per_success(table[position], values[number], claims[number])
            amount, interval = _mean_amount(table[position])
            on_front = (float(chances[position]), bool(front[position]))
            spending[number][resource] = Spending(amount, interval, *ratio, *on_front)
    agents = [
        AgentCost(trials[0].agent, "; ".join(_hardware(trials)), claim, spent)
        for trials, claim, spent in zip(ended, claims, spending, strict=True)
    ]
    return sorted(agents, key=lambda agent: -agent.success.value)


def _hardware(trials: Sequence[TrialRow]) -> list[str]:
    return sorted({str(row.conditions.get("hardware", UNKNOWN)) for row in trials})


def _amounts(used: Sequence[tuple[str, float | None]], tasks: Sequence[str]) -> Floats | None:
    """Return the mean per trial on each task; None if an amount is not known."""
    by_task: dict[str, list[float]] = {task: [] for task in tasks}
    for task, amount in used:
        if task in by_task:
            if amount is None:
                return None
            by_task[task].append(amount)
    return np.array([fmean(amounts) for amounts in by_task.values()])


def _find_front(values: Floats, amounts: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Return which agents (rows) are on the front, and how often they are with random weights of tasks (columns).

    On a further task, each agent has a random value and the amount of a random trial.
    """
    front = _undominated(values.mean(axis=1)[:, None], amounts.mean(axis=1)[:, None])[:, 0]
    weights, extra = (each[:_DRAWS] for each in random_weights(values.shape[1], 1.0))
    random, shape = np.random.default_rng(1), (len(values), len(weights))
    won = values @ weights.T + extra * random.random(shape)
    spent = amounts @ weights.T + extra * random.choice(amounts.ravel(), shape)
    return front, _undominated(won, spent).mean(axis=1)


def _undominated(values: Floats, amounts: Floats) -> NDArray[np.bool_]:
    """Return, for agents × draws, whether no other agent is as good for as much, and better or cheaper."""
    as_good = values[None] >= values[:, None] - 1e-12
    as_cheap = amounts[None] <= amounts[:, None] * (1 + 1e-12)
    better = (values[None] > values[:, None] + 1e-12) | (amounts[None] < amounts[:, None] * (1 - 1e-12))
    undominated: NDArray[np.bool_] = np.logical_not(np.any(as_good & as_cheap & better, axis=1))
    return undominated


def _mean_amount(amounts: Floats) -> tuple[float, Interval | None]:
    """Return the mean over tasks with Student's interval, which ends at 0; one task has none."""
    mean = float(amounts.mean())
    if len(amounts) < 2 or not amounts.any() or np.ptp(amounts) == 0:
        return mean, None
    half = t_quantile(len(amounts) - 1, 0.95) * stdev(amounts.tolist()) / math.sqrt(len(amounts))
    return mean, Interval(max(0.0, mean - half), mean + half)


def _per_success(amounts: Floats, values: Floats, success: Claim) -> tuple[float | None, Interval | None]:
    """Return the amount per success with an interval, by leaving out one task after the other, on a log scale.

    Without a success it is at least the amount divided by the highest rate that is plausible.
    """
    spent, won, count = float(amounts.sum()), float(values.sum()), len(values)
    if not won:
        return None, Interval(float(amounts.mean()) / success.interval.high, math.inf)
    rest = [(spent - float(a), won - float(v)) for a, v in zip(amounts, values, strict=True)]
    ratio = spent / won
    if count < 2 or any(a <= 0 or v <= 0 for a, v in rest):
        return ratio, None if not spent else Interval(float(amounts.mean()) / success.interval.high, math.inf)
    logs = [math.log(a / v) for a, v in rest]
    error = math.sqrt((count - 1) / count * sum((log - fmean(logs)) ** 2 for log in logs))
    factor = math.exp(t_quantile(count - 1, 0.95) * error)
    return ratio, Interval(ratio / factor, ratio * factor) if error else None


def cost_table(agents: Sequence[AgentCost]) -> Table:
    """Return what agents spend per trial and per success, and whether they are on the fronts."""
    resources: list[tuple[Resource, str]] = [("cost", "$"), ("time", "time")]
    listed = [(resource, name) for resource, name in resources if any(resource in agent.spending for agent in agents)]
    columns = [
        Column("agent"),
        Column("success", "success (95%)", kind="rate", drop=2),
        Column("hardware", data_only=True),
    ]
    for resource, name in listed:
        columns += [
            Column(resource, f"{name} per trial", "number"),
            Column(f"{resource}_interval", "95%", "number", drop=1),
            Column(f"{resource}_per_success", f"{name} per success", "number", drop=4 if resource == "time" else None),
            Column(f"{resource}_per_success_interval", "95%", "number", drop=1),
            Column(f"{resource}_front", "on front", "share", drop=3 if resource == "time" else 5),
        ]
    rows: list[tuple[Value, ...]] = []
    for agent in agents:
        row: list[Value] = [agent.agent, agent.success, agent.hardware]
        for resource, _ in listed:
            row += _cells(resource, agent.spending.get(resource))
        rows.append(tuple(row))
    tasks = plural(agents[0].success.evidence.tasks, "task")
    notes = [
        f"Over {tasks} that all agents have; failures count. Intervals: tasks like these.",
        "On front: probability that no other agent is as good for as much, on tasks like these.",
    ]
    if {agent.hardware for agent in agents} == {UNKNOWN}:
        notes.append("Times are not comparable, because it is not known on what hardware these trials ran.")
    elif len({agent.hardware for agent in agents}) > 1:
        classes = "; ".join(f"{agent.agent}: {agent.hardware}" for agent in agents)
        notes.append(f"Times on different hardware are not comparable: {classes}.")
    return Table("costs", tuple(columns), tuple(rows), title="Cost and time", notes=tuple(notes))


def _cells(resource: Resource, spending: Spending | None) -> list[Value]:
    if spending is None:
        return [None] * 5
    ratio = spending.per_success
    per_success = Formatted(None, "no success") if ratio is None else Formatted(ratio, _format(resource, ratio))
    return [
        Formatted(spending.amount, _format(resource, spending.amount)),
        _format_ends(resource, spending.interval),
        per_success,
        _format_ends(resource, spending.per_success_interval),
        spending.on_front,
    ]


def _format_ends(resource: Resource, interval: Interval | None) -> Formatted | None:
    if interval is None:
        return None
    low = _format(resource, interval.low)
    if math.isinf(interval.high):
        return Formatted(interval, f"at least {low}")
    return Formatted(interval, f"{low} to {_format(resource, interval.high)}")


def _format(resource: Resource, amount: float) -> str:
    return format_measured(amount) if resource == "time" else format_cost(amount)


def draw_fronts(agents: Sequence[AgentCost], palette: Mapping[str, int]) -> list[Figure]:
    """Draw the fronts of cost and time, as far as there are any; a single agent has none."""
    fronts = [draw_front(agents, resource, palette) for resource in _RESOURCES] if len(agents) > 1 else []
    return [figure for figure in fronts if figure]


def draw_front(agents: Sequence[AgentCost], resource: Resource, palette: Mapping[str, int]) -> Figure | None:
    """Draw success over what a trial costs or takes, with 95% intervals of both, and the front as a line.

    None where nothing was paid. Agents that are seldom on the front are faint.
    """
    known = [(agent, agent.spending[resource]) for agent in agents if resource in agent.spending]
    if not known:
        return None
    ends = [spent.interval.high if spent.interval else spent.amount for _, spent in known]
    # An interval over few tasks may be so wide that nothing else could be seen.
    high = min(max(ends), 2.5 * max(spent.amount for _, spent in known))
    unit: Literal["duration", "money"] = "duration" if resource == "time" else "money"
    figure = Figure(
        f"{resource}-front",
        f"Success over {'time' if resource == 'time' else 'dollars'} per trial",
        Axis("time per trial" if resource == "time" else "dollars per trial", unit, 0, high * 1.05),
        Axis("success", "rate", 0, 1),
        width=_WIDTH,
        legend=[Key(agent.agent, palette[agent.agent]) for agent, _ in known],
    )
    front = sorted(((spent.amount, agent.success) for agent, spent in known if spent.front), key=lambda point: point[0])
    figure.curve(front, band=False, style="muted dashed thin")
    for agent, spent in known:
        limits = spent.interval and Interval(spent.interval.low, min(spent.interval.high, high * 1.05))
        chance = f"on the front with probability {format_percent(spent.on_front)}"
        figure.claim(
            agent.success,
            spent.amount,
            across=limits,
            size=5,
            color=palette[agent.agent],
            style="" if spent.on_front >= 0.5 else "faint",
            hover=f"{agent.agent}: {format_rate(agent.success)} for {_format(resource, spent.amount)}, {chance}",
        )
    return figure
