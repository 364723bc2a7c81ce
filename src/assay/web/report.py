"""The report page: one self-contained HTML file without scripts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from assay.core.disk import atomic_write
from assay.core.figure import STYLESHEET, Figure
from assay.core.table import Column, Table, Value
from assay.core.text import plural
from assay.core.values import format_count
from assay.results import figures
from assay.results.cost import cost_table, draw_fronts, measure_costs
from assay.results.disclosure import Disclosure
from assay.results.estimate import Summary, summarize_agents, summarize_tasks
from assay.results.frame import RuleSet, TrialRow, group_by
from assay.results.integrity import integrity_table
from assay.results.measures import Measure
from assay.results.paired import Comparison
from assay.results.report import (
    describe_attempts,
    describe_caveats,
    describe_missing,
    describe_success,
    short_task_name,
)
from assay.results.search_tree import SearchTree
from assay.tasks.model import Measured
from assay.web.heat import choose_heat, find_heat
from assay.web.tables import make_trial_table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from assay.web.trials import TrialPart

_STATIC = Path(__file__).parent / "static"
_STYLES = ("view", "trace", "report")
_MAX_TASKS_NAMED = 4
_MAX_REASONS = 50
_REASONS = (
    Column("failure", "Failed by"),
    Column("trials", "Trials", kind="integer"),
    Column("agents", "Agents", kind="prose"),
    Column("tasks", "Tasks", kind="prose"),
    Column("reason", "Reason", kind="prose"),
)


@dataclass(frozen=True)
class Strip:
    """The figure of one task."""

    summary: Summary
    figure: Figure


@dataclass(frozen=True)
class ReportSection:
    """The part of the report about trials with the same rules."""

    name: str
    rules: RuleSet
    tasks: list[list[Summary]]
    heat: Measure | None
    heats: Mapping[tuple[str, str], int]
    """How strongly the cell of an agent on a task is colored, by a measure."""
    agents: list[Summary]
    published_differs: bool
    attempts: list[str]
    strips: list[Strip]
    legend: str
    improvements: Figure | None
    success: Figure | None
    curves: Figure | None
    fronts: list[Figure]
    costs: Table | None
    integrity: Table | None
    reasons: Table
    trials: Table


def render_page(
    rows: Sequence[TrialRow],
    panels: Mapping[str, Measured],
    title: str,
    created_at: datetime,
    trees: Sequence[SearchTree] = (),
    disclosures: Sequence[Disclosure] = (),
    comparisons: Sequence[Comparison] = (),
    refusal: str | None = None,
    parts: "Sequence[TrialPart]" = (),
) -> str:
    """Return the report as HTML.

    Args:
        rows: The trials.
        panels: The reference panels by task id.
        title: The title of the page.
        created_at: When the run was started.
        trees: The searches of agents.
        disclosures: How the trials were run, for each agent.
        comparisons: The agents compared with each other.
        refusal: Why they are not compared, if they are not.
        parts: What happened in each trial, if the page is to include it.
    """
    template = _environment().get_template("report.html.jinja")
    counted = [row for row in rows if row.counts]
    palette = figures.number_colors(row.agent for row in counted)
    by_rules = group_by(rows, lambda row: row.rules)
    costs = [row.cost for row in rows]
    prefixes = {part.row.trial: part.links.prefix for part in parts}
    return template.render(
        title=title,
        styles=[
            _style(path) for path in (STYLESHEET, *(_STATIC / f"{name}.css" for name in ("view", "trace", "report")))
        ],
        created_at=f"{created_at.day} {created_at:%B %Y, %H:%M} {created_at:%Z}".strip(),
        sections=[
            _make_section(group, panels, palette, f"part{number}", prefixes) for number, group in enumerate(by_rules)
        ],
        counted=counted,
        success=describe_success(rows),
        trees=[] if parts else trees,
        disclosures=disclosures,
        comparisons=comparisons,
        refusal=refusal,
        trial_parts=parts,
        agents=len(palette),
        tasks=len({(row.rules, row.task) for row in counted}),
        seeds=len({row.seed for row in counted}),
        failures=Counter(row.failure_name for row in counted if row.failure is not None),
        pending=sum(row.pending for row in counted),
        unsealed=sum(row.unsealed for row in counted),
        caveats=[line for line in describe_caveats(rows) if not line.startswith("Unsealed")],
        ran=sum(row.ran for row in counted),
        seconds=sum(row.elapsed or 0.0 for row in rows),
        tokens=sum(row.tokens or 0 for row in rows),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        palette=palette,
    )


def write_figures(rows: Sequence[TrialRow], panels: Mapping[str, Measured], folder: Path) -> list[Path]:
    """Write the figures of the report as SVG and PNG files, and return their paths."""
    palette = figures.number_colors(row.agent for row in rows if row.counts)
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for group in group_by(rows, lambda row: row.rules):
        rules = _file_name(str(group[0].rules).replace("_", "-"))
        section = _make_section(group, panels, palette, rules)
        drawn = {"success": section.success, "improvement": section.improvements, "attempts": section.curves}
        drawn |= {figure.name: figure for figure in section.fronts}
        drawn |= {f"scores-{_file_name(short_task_name(each.summary.task))}": each.figure for each in section.strips}
        for name, figure in drawn.items():
            if figure is not None:
                path = folder / f"{rules}-{name}"
                atomic_write(path.with_name(f"{path.name}.svg"), figure.to_svg(), mode=None)
                atomic_write(path.with_name(f"{path.name}.png"), figure.to_png(), mode=None)
                written += [path.with_name(f"{path.name}.{suffix}") for suffix in ("svg", "png")]
    return written


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)


def _make_section(
    rows: Sequence[TrialRow],
    panels: Mapping[str, Measured],
    palette: figures.Palette,
    name: str,
    prefixes: Mapping[str, str] = MappingProxyType({}),
) -> ReportSection:
    def link(row: TrialRow) -> str:
        return f"#{prefixes[row.trial]}trial" if row.trial in prefixes else ""

    ordered = [row for task in group_by(rows, lambda row: row.task) for row in task]
    by_task = summarize_tasks(rows)
    agents, tasks = summarize_agents(rows, by_task), group_by(by_task, lambda summary: summary.task)
    trials = {task[0].task: task for task in group_by((row for row in rows if row.counts), lambda row: row.task)}
    strips = [
        Strip(task[0], figures.draw_scores(trials[task[0].task], panels.get(task[0].task), palette))
        for task in tasks
        if any(summary.score for summary in task)
    ]
    agents = sorted(agents, key=lambda line: -(line.success.value if line.success else -1.0))
    costs, heat = measure_costs(rows), choose_heat(rows)
    return ReportSection(
        name=name,
        rules=rows[0].rules,
        tasks=tasks,
        heat=heat,
        heats={(row[0].agent, row[0].task): find_heat(row, heat) for row in group_by(ordered, _agent_and_task)},
        agents=agents,
        published_differs=any(format_count(a.success) != format_count(a.success_published) for a in agents),
        attempts=[*describe_missing(agents), *describe_attempts(agents)],
        strips=strips,
        legend=_legend(strip.figure for strip in strips),
        improvements=figures.draw_improvements(by_task, palette),
        success=figures.draw_success(agents, palette),
        curves=figures.draw_attempts(agents, palette),
        fronts=draw_fronts(costs, palette),
        costs=cost_table(costs) if costs else None,
        integrity=integrity_table(rows),
        reasons=_make_reason_table(rows),
        trials=make_trial_table(ordered, palette, link, exclude=["title"]),
    )


def _agent_and_task(row: TrialRow) -> tuple[str, str]:
    return row.agent, row.task


def _make_reason_table(rows: Sequence[TrialRow]) -> Table:
    """Return the reasons why trials have no score, the most frequent first."""
    without = [row for row in rows if row.counts and (row.failure is not None or row.inapplicable)]
    groups = sorted(group_by(without, lambda row: (row.failure_name, row.reason)), key=len, reverse=True)
    more = len(groups) - _MAX_REASONS
    return Table(
        name="failures",
        columns=_REASONS,
        rows=tuple(map(_describe_reason, groups[:_MAX_REASONS])),
        notes=(f"{more} more reasons are among the trials below.",) if more > 0 else (),
    )


def _describe_reason(rows: Sequence[TrialRow]) -> tuple[Value, ...]:
    tasks = list(dict.fromkeys(short_task_name(row.task) for row in rows))
    more = len(tasks) - _MAX_TASKS_NAMED
    return (
        rows[0].failure_name or "not applicable",
        len(rows),
        ", ".join(f"{agent} {count}" for agent, count in Counter(row.agent for row in rows).items()),
        ", ".join(tasks[:_MAX_TASKS_NAMED]) + (f" and {plural(more, 'task')} more" if more > 0 else ""),
        rows[0].reason or "no reason recorded",
    )


def _legend(drawn: Iterable[Figure]) -> str:
    """Return how to read the score figures, as far as it applies."""
    marks = [mark for figure in drawn for mark in figure.marks]
    panel = any(mark.kind == "tick" and mark.look.get("style") == "gray" for mark in marks)
    beyond = any(mark.words.startswith("◂") for mark in marks)
    medals = any(mark.words.startswith("gold ") for mark in marks)
    sentences = [
        "Right is better. Dots: trials, with mean and standard error. Dashed lines: the starter",
        ", and the scores of the median human team and of medals." if medals else ".",
        " Gray ticks: reference solutions." if panel else "",
        " ◂: number of reference solutions beyond the left edge." if beyond else "",
    ]
    return "".join(sentences)


def _style(path: Path) -> "Markup":
    from markupsafe import Markup

    return Markup(path.read_text(encoding="utf-8"))


def _environment() -> "Environment":
    from assay.web.app import make_environment

    return make_environment()
