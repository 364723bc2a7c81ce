"""The report page: one self-contained HTML file without scripts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import MissingDependency
from assay.core.figure import STYLESHEET, Figure
from assay.results import figures, wording
from assay.results.comparison import Comparison
from assay.results.disclosure import Disclosure
from assay.results.outcome import Outcome, RuleSet
from assay.results.report import describe_attempts, describe_caveats, describe_success
from assay.results.search_tree import SearchTree
from assay.results.statistics import (
    Cell,
    Standing,
    detectable_difference_in_success,
    group_by,
    summarize_cells,
    summarize_standings,
)
from assay.tasks.model import Measured

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from assay.web.trials import TrialPart

_STATIC = Path(__file__).parent / "static"
_MAX_TASKS_NAMED = 4


@dataclass(frozen=True)
class Strip:
    """The figure of one task."""

    cell: Cell
    figure: Figure


@dataclass(frozen=True)
class FailureReason:
    """Trials that have no score for the same reason, with how many of them each agent has and on which tasks."""

    failure: str
    why: str
    trials: int
    agents: Mapping[str, int]
    tasks: str


@dataclass(frozen=True)
class ReportSection:
    """The part of the report about trials with the same rules."""

    name: str
    rules: RuleSet
    tasks: list[list[Cell]]
    standings: list[Standing]
    attempts: list[str]
    strips: list[Strip]
    legend: str
    improvements: Figure | None
    success: Figure | None
    curves: Figure | None
    reasons: list[FailureReason]
    trials: list[list[Outcome]]


def render_page(
    outcomes: Sequence[Outcome],
    panels: Mapping[str, Measured],
    title: str,
    created_at: datetime,
    trees: Sequence[SearchTree] = (),
    disclosures: Sequence[Disclosure] = (),
    comparisons: Sequence[Comparison] = (),
    parts: "Sequence[TrialPart]" = (),
) -> str:
    """Return the report as HTML.

    Args:
        outcomes: The trials.
        panels: The reference panels by task id.
        title: The title of the page.
        created_at: When the run was made.
        trees: The searches of agents.
        disclosures: How the trials were run, for each agent.
        comparisons: The agents compared with each other.
        parts: What happened in each trial, if the page is to include it.
    """
    template = _environment().get_template("report.html.jinja")
    counted = [outcome for outcome in outcomes if outcome.counts]
    palette = figures.number_colors(outcome.agent for outcome in counted)
    by_rules = group_by(outcomes, lambda o: o.rules)
    sections = [_section(same, panels, palette, f"part{place}") for place, same in enumerate(by_rules)]
    return template.render(
        title=title,
        styles=[_style(STYLESHEET), _style(_STATIC / "trace.css"), _style(_STATIC / "report.css")],
        created_at=f"{created_at.day} {created_at:%B %Y, %H:%M} {created_at:%Z}".strip(),
        sections=sections,
        counted=counted,
        power=_format_power(by_rules),
        success=describe_success(outcomes),
        trees=[] if parts else trees,
        disclosures=disclosures,
        comparisons=comparisons,
        trial_parts=parts,
        shown={part.outcome.trial: part.links.prefix for part in parts},
        agents=len(palette),
        tasks=len({(outcome.rules, outcome.task) for outcome in counted}),
        seeds=len({outcome.seed for outcome in counted}),
        failures=Counter(outcome.failure_name for outcome in counted if outcome.failure is not None),
        pending=sum(outcome.pending for outcome in counted),
        unsealed=sum(outcome.unsealed for outcome in counted),
        caveats=[line for line in describe_caveats(outcomes) if not line.startswith("Unsealed")],
        ran=sum(outcome.ran for outcome in counted),
        seconds=sum(outcome.elapsed for outcome in outcomes),
        tokens=sum(outcome.tokens for outcome in outcomes),
        cost=_total_cost(outcomes),
        palette=palette,
    )


def write_figures(outcomes: Sequence[Outcome], panels: Mapping[str, Measured], folder: Path) -> list[Path]:
    """Write the figures of the report as SVG and PNG files, and return their paths."""
    from assay.core.disk import atomic_write

    palette = figures.number_colors(outcome.agent for outcome in outcomes if outcome.counts)
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for same in group_by(outcomes, lambda o: o.rules):
        rules = re.sub(r"[^A-Za-z0-9.-]+", "-", str(same[0].rules))
        for name, figure in _draw_all(same, panels, palette).items():
            for suffix, content in (("svg", figure.to_svg().encode()), ("png", figure.to_png())):
                path = folder / f"{rules}-{name}.{suffix}"
                atomic_write(path, content)
                written.append(path)
    return written


def _draw_all(same: Sequence[Outcome], panels: Mapping[str, Measured], palette: Mapping[str, int]) -> dict[str, Figure]:
    """Return the figures of trials with the same rules by file name."""
    cells, standings = summarize_cells(same), summarize_standings(same)
    drawn = {
        "success": figures.draw_success(standings, palette),
        "improvement": figures.draw_improvements(cells, palette),
        "attempts": figures.draw_attempts(standings, palette),
    }
    for task, figure in _draw_scores(same, panels, palette).items():
        drawn[f"scores-{re.sub(r'[^A-Za-z0-9._-]+', '-', wording.short_task_name(task))}"] = figure
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _draw_scores(
    same: Sequence[Outcome], panels: Mapping[str, Measured], palette: Mapping[str, int]
) -> dict[str, Figure]:
    """Return the figure of each task on which a trial has a score."""
    by_task = group_by((outcome for outcome in same if outcome.counts), lambda o: o.task)
    return {
        task[0].task: figures.draw_scores(task, panels.get(task[0].task), palette)
        for task in by_task
        if any(outcome.score is not None for outcome in task)
    }


def _format_power(by_rules: Sequence[Sequence[Outcome]]) -> str:
    """Return the detectable difference in points for each set of rules that has one."""
    found = [detectable_difference_in_success([one for one in same if one.counts]) for same in by_rules]
    return " and ".join(f"{100 * power:.0f}" for power in found if power)


def _total_cost(outcomes: Sequence[Outcome]) -> float | None:
    costs = [outcome.cost for outcome in outcomes]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _section(
    same: Sequence[Outcome], panels: Mapping[str, Measured], palette: Mapping[str, int], prefix: str
) -> ReportSection:
    cells, standings = summarize_cells(same), summarize_standings(same)
    tasks, scores = group_by(cells, lambda cell: cell.task), _draw_scores(same, panels, palette)
    return ReportSection(
        name=prefix,
        rules=same[0].rules,
        tasks=tasks,
        standings=standings,
        attempts=describe_attempts(standings),
        strips=[Strip(task[0], scores[task[0].task]) for task in tasks if task[0].task in scores],
        legend=_legend(scores.values()),
        improvements=figures.draw_improvements(cells, palette),
        success=figures.draw_success(standings, palette),
        curves=figures.draw_attempts(standings, palette),
        reasons=_group_reasons(same),
        trials=group_by(same, lambda o: o.task),
    )


def _group_reasons(outcomes: Sequence[Outcome]) -> list[FailureReason]:
    """Return the reasons why trials have no score, the most frequent first."""
    without = [one for one in outcomes if one.counts and (one.failure is not None or one.inapplicable)]
    found = []
    for same in group_by(without, lambda o: (o.failure_name, o.reason)):
        names = list(dict.fromkeys(wording.short_task_name(one.task) for one in same))
        more = len(names) - _MAX_TASKS_NAMED
        found.append(
            FailureReason(
                failure=same[0].failure_name or "not applicable",
                why=same[0].reason or "no reason recorded",
                trials=len(same),
                agents=Counter(one.agent for one in same),
                tasks=", ".join(names[:_MAX_TASKS_NAMED])
                + (f" and {wording.plural(more, 'task')} more" if more > 0 else ""),
            )
        )
    return sorted(found, key=lambda reason: -reason.trials)


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
    try:
        import jinja2  # noqa: F401

        from assay.web.app import make_environment
    except ImportError:
        raise MissingDependency("The HTML report", "web") from None
    return make_environment()
