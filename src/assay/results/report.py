"""The report page: one self-contained HTML file without scripts."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from assay.core.errors import MissingDependency
from assay.results import figures, wording
from assay.results.chart_style import DARK
from assay.results.outcome import Outcome, RuleSet
from assay.results.search_tree import SearchTree
from assay.results.statistics import (
    Cell,
    Standing,
    detectable_difference_in_success,
    group_by,
    summarize_cells,
    summarize_standings,
)
from assay.results.tables import describe_caveats
from assay.tasks.model import Measured

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True)
class Strip:
    """The figure of one task."""

    cell: Cell
    svg: "Markup"


@dataclass(frozen=True)
class ReportSection:
    """The part of the report about trials with the same rules."""

    rules: RuleSet
    tasks: list[list[Cell]]
    standings: list[Standing]
    strips: list[Strip]
    legend: str
    improvements: "Markup"
    success: "Markup"
    reasons: list[str]
    trials: list[list[Outcome]]


def render_page(
    outcomes: Sequence[Outcome],
    panels: Mapping[str, Measured],
    title: str,
    created_at: datetime,
    trees: Sequence[SearchTree] = (),
) -> str:
    """Return the report as HTML; `panels` has the reference panels by task id, `trees` the searches of agents."""
    template = _environment().get_template("report.html.jinja")
    counted = [outcome for outcome in outcomes if outcome.counts]
    palette = figures.agent_colors(counted)
    by_rules = group_by(outcomes, lambda o: o.rules)
    return template.render(
        title=title,
        created_at=f"{created_at.day} {created_at:%B %Y, %H:%M} {created_at:%Z}".strip(),
        sections=[_section(same, panels, palette, f"part{place}") for place, same in enumerate(by_rules)],
        outcomes=counted,
        power=_format_power(by_rules),
        trees=trees,
        agents=len(palette),
        tasks=len({(outcome.rules, outcome.task) for outcome in counted}),
        seeds=len({outcome.seed for outcome in counted}),
        failures=Counter(outcome.failure_name for outcome in counted if outcome.failure is not None),
        pending=sum(outcome.pending for outcome in counted),
        unsealed=sum(outcome.unsealed for outcome in counted),
        caveats=[line for line in describe_caveats(outcomes) if not line.startswith("Unsealed")],
        ran=sum(outcome.ran for outcome in counted),
        palette=palette,
        dark=DARK,
    )


def _format_power(by_rules: Sequence[Sequence[Outcome]]) -> str:
    """Return the detectable difference in points for each set of rules that has one."""
    found = [detectable_difference_in_success([one for one in same if one.counts]) for same in by_rules]
    return " and ".join(f"{100 * power:.0f}" for power in found if power)


def _section(
    same: Sequence[Outcome], panels: Mapping[str, Measured], palette: Mapping[str, str], prefix: str
) -> ReportSection:
    made, lines, by_task = summarize_cells(same), summarize_standings(same), group_by(same, lambda o: o.task)
    counted = group_by((outcome for outcome in same if outcome.counts), lambda o: o.task)
    drawn = [figures.draw_scores(task, panels.get(task[0].task), palette) for task in counted]
    tasks = group_by(made, lambda c: c.task)
    improvements, success = figures.draw_improvements(made, palette), figures.draw_success(lines, palette)
    return ReportSection(
        rules=same[0].rules,
        tasks=tasks,
        standings=lines,
        strips=[
            Strip(task[0], _inline(svg, f"{prefix}-task{place}", f"Scores on {task[0].title}"))
            for place, (task, svg) in enumerate(zip(tasks, drawn, strict=True))
        ],
        legend=_legend("".join(drawn)),
        improvements=_inline(improvements, f"{prefix}-improvement", "Improvement by task and agent"),
        success=_inline(success, f"{prefix}-success", "Success rate by agent"),
        reasons=list(wording.describe_reasons(made)),
        trials=by_task,
    )


def _legend(drawn: str) -> str:
    """Return how to read the score figures, as far as it applies."""
    panel = " Gray ticks: reference solutions." if ">panel of " in drawn else ""
    beyond = " ◂: number of reference solutions beyond the left edge." if ">◂ " in drawn else ""
    dots = "Dots: trials, with mean and standard error. Dashed line: the starter."
    return f"Right is better. {dots}{panel}{beyond}"


def _inline(svg: str | None, prefix: str, words: str) -> "Markup":
    """Return a figure for a page with other figures: unique ids, no namespaces, a label for screen readers.

    It is trusted as markup because text from outside was escaped by the drawing library.
    """
    from markupsafe import Markup, escape

    if svg is None:
        return Markup("")
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg, count=2)
    svg = re.sub(r'(\sid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(wording.one_line(words))}" ', 1))


def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingDependency("The HTML report", "web") from None
    environment = Environment(
        loader=PackageLoader("assay.results", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: wording.one_line(value, 2000) if type(value) is str else value,
    )
    environment.globals["wording"] = wording
    return environment
