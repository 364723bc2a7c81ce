"""The paper's tables for the terminal, and the same numbers as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from assay.results import wording
from assay.results.paper import Effort, Gains, Paper
from assay.results.published_figures import Published
from assay.results.statistics import Estimate, Rate
from assay.results.tables import estimate_columns, grid, plain_text, rate_columns
from assay.results.trajectory import TROUBLES, Trouble

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

NAMES: dict[str, str] = {
    "memory": "out of memory",
    "time": "out of time",
    "connection": "model not reached",
    "format": "wrong format",
    "too long": "text too long",
    "crash": "crash",
    "machine": "machine failed",
}
UNLIKE, NEARLY = "≠", "≈"
NARROWEST_TERMINAL = 80


@dataclass(frozen=True)
class _Figure:
    """One of the paper's tables: what it shows of a cell, and in a second line under it."""

    title: str
    shown: Callable[[Gains], str]
    under: str
    shown_under: Callable[[Gains], str]
    value: Callable[[Gains], float | None]
    say: Callable[[float], str]
    published: Callable[[Published], Mapping[str, Sequence[float | None]]]
    published_mean: Callable[[Published], Sequence[float | None]]


SUCCESS = _Figure(
    "success rate",
    lambda gains: _share_of(gains.success),
    "beyond spread",
    lambda gains: wording.percent(gains.beyond_spread.value) if gains.beyond_spread else wording.NOTHING,
    lambda gains: gains.success.value if gains.success else None,
    wording.percent,
    lambda figures: figures.success,
    lambda figures: figures.mean_success,
)
IMPROVEMENT = _Figure(
    "average improvement",
    lambda gains: _mean_of(gains.improvement),
    "invalid as 0",
    lambda gains: wording.change(gains.improvement_of_all.mean if gains.improvement_of_all else None),
    lambda gains: gains.improvement.mean if gains.improvement else None,
    wording.change,
    lambda figures: figures.improvement,
    lambda figures: figures.mean_improvement,
)


def tables(papers: Sequence[Paper], published: Mapping[str, Published]) -> "Group":
    """What to print: success, improvement and effort, apart for each set of rules; `published` is by suite."""
    from rich.console import Group
    from rich.text import Text

    if not papers:
        return Group(Text("No trials yet."))
    parts: list[Table | Text] = []
    for paper in papers:
        beside = published.get(paper.rules.suite)
        for figure in (SUCCESS, IMPROVEMENT):
            parts += [_by_task(paper, figure), Text()]
            parts += [_as_published(paper, beside, figure), Text()] if beside else []
        parts += [_efforts(paper), Text(), *_legend(paper, beside), Text()]
    return Group(*parts[:-1])


def to_json(papers: Sequence[Paper], published: Mapping[str, Published], title: str, made_at: datetime) -> str:
    """The numbers of the tables, and efforts by task too."""
    suites = {paper.rules.suite for paper in papers}
    content = {
        "format": "paper-report/1",
        "title": title,
        "made_at": made_at.isoformat(timespec="seconds"),
        "interval": "Wilson score, 95 %",
        "parts": [_part(paper) for paper in papers],
        "published": {suite: one.model_dump(mode="json") for suite, one in published.items() if suite in suites},
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _by_task(paper: Paper, figure: _Figure) -> "Table":
    table = _by_agent(f"{paper.rules}, {figure.title}", "Task", paper)
    for task in paper.tasks:
        cells = [paper.gains.get((task, agent)) for agent in paper.agents]
        shown = [figure.shown(gains) if gains else wording.NOTHING for gains in cells]
        under = [figure.shown_under(gains) if gains else wording.NOTHING for gains in cells]
        table.add_row(plain_text(wording.task_name(task)), *shown)
        table.add_row(f"  {figure.under}", *under)
    table.add_section()
    table.add_row("mean over tasks", *(_mean_over_tasks(paper, agent, figure) for agent in paper.agents))
    return table


def _by_agent(title: str, rows: str, paper: Paper) -> "Table":
    table = grid(title)
    table.min_width = min(len(title), NARROWEST_TERMINAL)
    table.add_column(rows, no_wrap=True)
    for agent in paper.agents:
        table.add_column(plain_text(agent), justify="right", overflow="fold")
    return table


def _as_published(paper: Paper, published: Published, figure: _Figure) -> "Table":
    """The published table, our tasks first and in our order."""
    table = grid(f"{paper.rules.suite}, {figure.title}, as published, in %")
    table.padding = (0, 0, 0, 0)  # with eight models it fits into a narrow terminal just so
    table.add_column("Task", no_wrap=True)
    for model in published.columns:
        longest = max(map(len, model.split()))
        table.add_column(plain_text(model), justify="right", overflow="fold", min_width=longest)
    rows = figure.published(published)
    ours = [name for task in paper.tasks if (name := wording.task_name(task)) in rows]
    for name in dict.fromkeys([*ours, *rows]):
        mark = NEARLY if name in published.comparable else UNLIKE
        table.add_row(plain_text(f"{mark} {name}"), *map(_as_printed, rows[name]))
    table.add_section()
    table.add_row("mean over tasks", *map(_as_printed, figure.published_mean(published)))
    return table


def _as_printed(value: float | None) -> str:
    return wording.NOTHING if value is None else f"{value:.1f}".replace("-", "−")


def _mean_over_tasks(paper: Paper, agent: str, figure: _Figure) -> str:
    found = [figure.value(gains) for (_, who), gains in paper.gains.items() if who == agent]
    known = [value for value in found if value is not None]
    return f"{figure.say(fmean(known))} ({wording.counted(len(known), 'task')})" if known else wording.NOTHING


def _share_of(rate: Rate | None) -> str:
    return f"{wording.percent(rate.value)} of {rate.trials} ({wording.interval(rate)})" if rate else wording.NOTHING


def _mean_of(estimate: Estimate | None) -> str:
    if estimate is None:
        return wording.NOTHING
    error = "" if estimate.error is None else f" ± {estimate.error * 100:.1f}"
    return f"{wording.change(estimate.mean)}{error} of {estimate.n}"


def _efforts(paper: Paper) -> "Table":
    """Measures down, agents across, as in the other tables."""
    table = _by_agent(f"{paper.rules}, effort", "Per trial", paper)
    efforts = [paper.efforts.get(agent) for agent in paper.agents]
    for name, shown in _measures([effort for effort in efforts if effort]):
        table.add_row(
            plain_text(name), *(plain_text(shown(effort) if effort else wording.NOTHING) for effort in efforts)
        )
    return table


def _measures(efforts: Sequence[Effort]) -> "list[tuple[str, Callable[[Effort], str]]]":
    """The rows of the table of efforts; what no agent used or met has none."""
    roles = list(dict.fromkeys(role for effort in efforts for role in effort.tokens_by_role))
    met = [trouble for trouble in TROUBLES if any(effort.troubles[trouble].count for effort in efforts)]
    causes = list(dict.fromkeys(cause for effort in efforts for cause in effort.failures))
    return [
        ("trials", lambda effort: str(effort.trials)),
        ("submitted", lambda effort: wording.percent(effort.submitted.value)),
        ("ended by itself", lambda effort: wording.percent(effort.ended_by_itself.value)),
        ("minutes", lambda effort: f"{effort.seconds.mean / 60:.1f}"),
        ("steps", lambda effort: f"{effort.steps.mean:.1f}"),
        ("tokens", lambda effort: f"{effort.tokens.mean:,.0f}"),
        *((f"  {role}", partial(_tokens, role)) for role in roles),
        ("cost", lambda effort: _dollars(effort.cost.mean if effort.cost else None)),
        *((f"  {role}", partial(_cost, role)) for role in roles),
        *((f"met: {NAMES[trouble]}", partial(_met, trouble)) for trouble in met),
        ("failed", lambda effort: wording.percent(sum(effort.failures.values()) / effort.trials)),
        *((f"  {NAMES.get(cause, cause)}", partial(_failed, cause)) for cause in causes),
    ]


def _tokens(role: str, effort: Effort) -> str:
    return f"{effort.tokens_by_role[role]:,.0f}" if role in effort.tokens_by_role else wording.NOTHING


def _cost(role: str, effort: Effort) -> str:
    return _dollars(effort.cost_by_role[role]) if role in effort.cost_by_role else wording.NOTHING


def _met(trouble: Trouble, effort: Effort) -> str:
    return wording.percent(effort.troubles[trouble].value)


def _failed(cause: str, effort: Effort) -> str:
    return wording.percent(effort.failures.get(cause, 0) / effort.trials)


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.2f}"


def _legend(paper: Paper, published: Published | None) -> "list[Text]":
    """The sentences without which the tables could be misread; only those that apply."""
    lines = [
        "Success: more than 10 % over the starter's measured mean, or a medal where there is a leaderboard; share of "
        "all finished trials, with its 95 % Wilson interval.",
        "Beyond spread: of these, better than the starter by more than two standard deviations of its seeds.",
        "Improvement: mean ± standard error of valid submissions; invalid as 0: mean of all finished trials.",
        "Means over tasks weigh tasks alike. met: share of trials in which it happened, also where it was got over.",
    ]
    if any(gains.success is None for gains in paper.gains.values()):
        lines.append(f"{wording.NOTHING}: no baseline was measured for this task on this data.")
    if paper.pending:
        lines.append(f"Not final: {wording.counted(paper.pending, 'trial')} still to come.")
    if published:
        lines.append(f"Published, in % of {published.trials} trials each: {published.source}.")
        for mark, told in ((NEARLY, "compares roughly"), (UNLIKE, "does not compare")):
            lines += [
                f"{mark} {name} {told}: {why}."
                for name, why in published.differences.items()
                if (name in published.comparable) == (mark == NEARLY)
            ]
    return [plain_text(line) for line in lines]


def _part(paper: Paper) -> dict[str, Any]:
    return {
        **asdict(paper.rules),
        "pending": paper.pending,
        "gains": [_gains_row(gains) for gains in paper.gains.values()],
        "efforts": [_effort_row(effort) for effort in paper.efforts.values()],
        "efforts_by_task": [
            {"task": task, **_effort_row(effort)} for (task, _), effort in paper.efforts_by_task.items()
        ],
    }


def _gains_row(gains: Gains) -> dict[str, Any]:
    return {
        "task": gains.task,
        "agent": gains.agent,
        **rate_columns("success", gains.success),
        **rate_columns("beyond_spread", gains.beyond_spread),
        **estimate_columns("improvement", gains.improvement),
        "improvement_trials": gains.improvement.n if gains.improvement else 0,
        **estimate_columns("improvement_of_all", gains.improvement_of_all),
    }


def _effort_row(effort: Effort) -> dict[str, Any]:
    return {
        "agent": effort.agent,
        "trials": effort.trials,
        **rate_columns("submitted", effort.submitted),
        **rate_columns("ended_by_itself", effort.ended_by_itself),
        **estimate_columns("seconds", effort.seconds),
        **estimate_columns("steps", effort.steps),
        **estimate_columns("tokens", effort.tokens),
        "tokens_by_role": dict(effort.tokens_by_role),
        **estimate_columns("cost", effort.cost),
        "cost_by_role": dict(effort.cost_by_role),
        "troubles": {trouble: rate.value for trouble, rate in effort.troubles.items()},
        "failures": dict(effort.failures),
    }
