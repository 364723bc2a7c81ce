"""The tables of the MLAgentBench paper for the terminal, and the same numbers as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from assay.core.quantities import format_cost
from assay.results import wording
from assay.results.paper import Effort, Gains, Paper
from assay.results.published_figures import PublishedFigures
from assay.results.statistics import Estimate, Rate
from assay.results.tables import estimate_columns, make_grid, plain_text, rate_columns
from assay.results.trajectory import TROUBLES, Trouble

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

NAMES: dict[str, str] = {
    "memory": "out of memory",
    "time": "out of time",
    "connection": "model unreachable",
    "format": "wrong format",
    "too long": "text too long",
    "crash": "crash",
    "machine": "machine failed",
}
DIFFERENT, SIMILAR = "≠", "≈"
MIN_TERMINAL_WIDTH = 80


@dataclass(frozen=True)
class _Figure:
    """One of the tables: what it shows of a cell, and in a second line below it."""

    title: str
    shown: Callable[[Gains], str]
    under: str
    shown_under: Callable[[Gains], str]
    value: Callable[[Gains], float | None]
    format: Callable[[float], str]
    published: Callable[[PublishedFigures], Mapping[str, Sequence[float | None]]]
    published_mean: Callable[[PublishedFigures], Sequence[float | None]]


SUCCESS = _Figure(
    "success rate",
    lambda gains: _share_of(gains.success),
    "beyond noise",
    lambda gains: wording.format_percent(gains.beyond_noise.value) if gains.beyond_noise else wording.NOTHING,
    lambda gains: gains.success.value if gains.success else None,
    wording.format_percent,
    lambda figures: figures.success,
    lambda figures: figures.mean_success,
)
IMPROVEMENT = _Figure(
    "average improvement",
    lambda gains: _mean_of(gains.improvement),
    "invalid as 0",
    lambda gains: wording.format_change(gains.improvement_of_all.mean if gains.improvement_of_all else None),
    lambda gains: gains.improvement.mean if gains.improvement else None,
    wording.format_change,
    lambda figures: figures.improvement,
    lambda figures: figures.mean_improvement,
)


def paper_table(papers: Sequence[Paper], published: Mapping[str, PublishedFigures]) -> "Group":
    """Return success, improvement and effort, separately for each set of rules; `published` is by suite."""
    from rich.console import Group
    from rich.text import Text

    if not papers:
        return Group(Text("No trials yet."))
    parts: list[Table | Text] = []
    for paper in papers:
        figures = published.get(paper.rules.suite)
        for figure in (SUCCESS, IMPROVEMENT):
            parts += [_by_task(paper, figure), Text()]
            parts += [_as_published(paper, figures, figure), Text()] if figures else []
        parts += [_efforts(paper), Text(), *_legend(paper, figures), Text()]
    return Group(*parts[:-1])


def to_json(
    papers: Sequence[Paper], published: Mapping[str, PublishedFigures], title: str, created_at: datetime
) -> str:
    """Return the numbers of the tables, and the efforts by task, as JSON."""
    suites = {paper.rules.suite for paper in papers}
    content = {
        "format": "paper-report/1",
        "title": title,
        "made_at": created_at.isoformat(timespec="seconds"),
        "interval": "Wilson score, 95%",
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
        table.add_row(plain_text(wording.short_task_name(task)), *shown)
        table.add_row(f"  {figure.under}", *under)
    table.add_section()
    table.add_row("mean over tasks", *(_mean_over_tasks(paper, agent, figure) for agent in paper.agents))
    return table


def _by_agent(title: str, rows: str, paper: Paper) -> "Table":
    table = make_grid(title)
    table.min_width = min(len(title), MIN_TERMINAL_WIDTH)
    table.add_column(rows, no_wrap=True)
    for agent in paper.agents:
        table.add_column(plain_text(agent), justify="right", overflow="fold")
    return table


def _as_published(paper: Paper, published: PublishedFigures, figure: _Figure) -> "Table":
    """Return the published table, with the tasks of the run first and in their order."""
    table = make_grid(f"{paper.rules.suite}, {figure.title}, as published, in %")
    table.padding = (0, 0, 0, 0)  # so that eight models fit into a narrow terminal
    table.add_column("Task", no_wrap=True)
    for model in published.columns:
        longest = max(map(len, model.split()))
        table.add_column(plain_text(model), justify="right", overflow="fold", min_width=longest)
    rows, compared = figure.published(published), published.comparability(paper.rules.edition)
    ours = [name for task in paper.tasks if (name := wording.short_task_name(task)) in rows]
    for name in dict.fromkeys([*ours, *rows]):
        mark = SIMILAR if name in compared.comparable else DIFFERENT
        table.add_row(plain_text(f"{mark} {name}"), *map(_as_printed, rows[name]))
    table.add_section()
    table.add_row("mean over tasks", *map(_as_printed, figure.published_mean(published)))
    return table


def _as_printed(value: float | None) -> str:
    return wording.NOTHING if value is None else f"{value:.1f}".replace("-", "−")


def _mean_over_tasks(paper: Paper, agent: str, figure: _Figure) -> str:
    found = [figure.value(gains) for (_, name), gains in paper.gains.items() if name == agent]
    known = [value for value in found if value is not None]
    return f"{figure.format(fmean(known))} ({wording.plural(len(known), 'task')})" if known else wording.NOTHING


def _share_of(rate: Rate | None) -> str:
    return (
        f"{wording.format_percent(rate.value)} of {rate.trials} ({wording.format_interval(rate)})"
        if rate
        else wording.NOTHING
    )


def _mean_of(estimate: Estimate | None) -> str:
    if estimate is None:
        return wording.NOTHING
    error = "" if estimate.error is None else f" ± {estimate.error * 100:.1f}"
    return f"{wording.format_change(estimate.mean)}{error} of {estimate.n}"


def _efforts(paper: Paper) -> "Table":
    """Return the table of efforts, with a row for each measure and a column for each agent."""
    table = _by_agent(f"{paper.rules}, effort", "Per trial", paper)
    efforts = [paper.efforts.get(agent) for agent in paper.agents]
    for name, shown in _measures([effort for effort in efforts if effort]):
        table.add_row(
            plain_text(name), *(plain_text(shown(effort) if effort else wording.NOTHING) for effort in efforts)
        )
    return table


def _measures(efforts: Sequence[Effort]) -> "list[tuple[str, Callable[[Effort], str]]]":
    """Return the rows of the table of efforts, without those that are empty for all agents."""
    roles = list(dict.fromkeys(role for effort in efforts for role in effort.tokens_by_role))
    met = [trouble for trouble in TROUBLES if any(effort.troubles[trouble].count for effort in efforts)]
    causes = list(dict.fromkeys(cause for effort in efforts for cause in effort.failures))
    return [
        ("trials", lambda effort: str(effort.trials)),
        ("submitted", lambda effort: wording.format_percent(effort.submitted.value)),
        ("finished by itself", lambda effort: wording.format_percent(effort.ended_by_itself.value)),
        ("minutes", lambda effort: f"{effort.seconds.mean / 60:.1f}"),
        ("steps", lambda effort: f"{effort.steps.mean:.1f}"),
        ("tokens", lambda effort: f"{effort.tokens.mean:,.0f}"),
        *((f"  {role}", partial(_tokens, role)) for role in roles),
        ("cost", lambda effort: format_cost(effort.cost.mean if effort.cost else None)),
        *((f"  {role}", partial(_cost, role)) for role in roles),
        *((f"problem: {NAMES[trouble]}", partial(_met, trouble)) for trouble in met),
        ("failed", lambda effort: wording.format_percent(sum(effort.failures.values()) / effort.trials)),
        *((f"  {NAMES.get(cause, cause)}", partial(_failed, cause)) for cause in causes),
    ]


def _tokens(role: str, effort: Effort) -> str:
    return f"{effort.tokens_by_role[role]:,.0f}" if role in effort.tokens_by_role else wording.NOTHING


def _cost(role: str, effort: Effort) -> str:
    return format_cost(effort.cost_by_role[role]) if role in effort.cost_by_role else wording.NOTHING


def _met(trouble: Trouble, effort: Effort) -> str:
    return wording.format_percent(effort.troubles[trouble].value)


def _failed(cause: str, effort: Effort) -> str:
    return wording.format_percent(effort.failures.get(cause, 0) / effort.trials)


def _legend(paper: Paper, published: PublishedFigures | None) -> "list[Text]":
    """Return the notes that apply to the tables."""
    lines = [
        "Success: more than 10% over the starter's measured mean, or a medal where there is a leaderboard; share of "
        "all finished trials, with a 95% Wilson interval.",
        "Beyond noise: also better than the starter by more than two standard deviations of its seeds.",
        "Improvement: mean ± standard error of valid submissions; invalid as 0: mean of all finished trials.",
        "Means over tasks weight all tasks equally. problem: share of trials in which it occurred.",
    ]
    if any(gains.success is None for gains in paper.gains.values()):
        lines.append(f"{wording.NOTHING}: no baseline was measured for this task on this data.")
    if paper.pending:
        lines.append(f"Not final: {wording.plural(paper.pending, 'trial')} pending.")
    if published:
        lines.append(f"Published, in % of {published.trials} trials each: {published.source}.")
        compared = published.comparability(paper.rules.edition)
        for mark, verdict in ((SIMILAR, "is roughly comparable"), (DIFFERENT, "is not comparable")):
            lines += [
                f"{mark} {name} {verdict}: {why}."
                for name, why in compared.differences.items()
                if (name in compared.comparable) == (mark == SIMILAR)
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
        **rate_columns("beyond_noise", gains.beyond_noise),
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
