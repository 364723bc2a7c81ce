"""The report: one HTML file that holds everything, loads nothing and runs nothing."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from assay.core.errors import AssayError
from assay.results import figures, wording
from assay.results.chart_style import DARK
from assay.results.outcome import Outcome, Rules
from assay.results.statistics import Cell, Standing, cells, grouped, standings
from assay.tasks.model import Measured

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True)
class Strip:
    """One task's figure."""

    cell: Cell
    svg: "Markup"


@dataclass(frozen=True)
class Section:
    """What the report says about the trials of one set of rules."""

    rules: Rules
    tasks: list[list[Cell]]
    standings: list[Standing]
    strips: list[Strip]
    legend: str
    improvements: "Markup"
    success: "Markup"
    reasons: list[str]
    trials: list[list[Outcome]]


def html(outcomes: Sequence[Outcome], panels: Mapping[str, Measured], title: str, made_at: datetime) -> str:
    """The whole report; `panels` has the reference panel of each task that has one, by task id."""
    template = _environment().get_template("report.html.jinja")
    palette = figures.colours(outcomes)
    by_rules = grouped(outcomes, lambda o: o.rules)
    return template.render(
        title=title,
        made_at=f"{made_at.day} {made_at:%B %Y, %H:%M} {made_at:%Z}".strip(),
        sections=[_section(same, panels, palette, f"part{place}") for place, same in enumerate(by_rules)],
        outcomes=outcomes,
        agents=len(palette),
        tasks=len({(outcome.rules, outcome.task) for outcome in outcomes}),
        seeds=len({outcome.seed for outcome in outcomes}),
        failures=Counter(outcome.failure for outcome in outcomes if outcome.failure is not None),
        pending=sum(outcome.pending for outcome in outcomes),
        unsealed=sum(outcome.unsealed for outcome in outcomes),
        ran=sum(outcome.ran for outcome in outcomes),
        palette=palette,
        dark=DARK,
    )


def _section(
    same: Sequence[Outcome], panels: Mapping[str, Measured], palette: Mapping[str, str], prefix: str
) -> Section:
    made, lines, by_task = cells(same), standings(same), grouped(same, lambda o: o.task)
    drawn = [figures.strip(task, panels.get(task[0].task), palette) for task in by_task]
    tasks = grouped(made, lambda c: c.task)
    improvements, success = figures.improvements(made, palette), figures.success(lines, palette)
    return Section(
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
        reasons=list(wording.reasons(made)),
        trials=by_task,
    )


def _legend(drawn: str) -> str:
    """How to read the strips, as far as they show it."""
    panel = " Grey ticks: the reference panel’s solutions." if ">panel of " in drawn else ""
    beyond = " ◂ counts poor solutions beyond the edge." if ">◂ " in drawn else ""
    dots = "Dots: trials, with their mean and standard error. Dashed: the starter."
    return f"Better is always to the right. {dots}{panel}{beyond}"


def _inline(svg: str | None, prefix: str, words: str) -> "Markup":
    """A figure made fit for a page that holds others: ids of its own, no namespaces, a name for screen readers.

    Trusted as markup because we drew it: text from outside is in it only as escaped by the drawing library.
    """
    from markupsafe import Markup, escape

    if svg is None:
        return Markup("")
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg, count=2)
    svg = re.sub(r'(\sid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(wording.plain(words))}" ', 1))


def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise AssayError('The report needs jinja2, which is not installed: pip install "assay[web]"') from None
    environment = Environment(
        loader=PackageLoader("assay.results", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: wording.plain(value, limit=2000) if type(value) is str else value,
    )
    environment.globals["say"] = wording
    return environment
