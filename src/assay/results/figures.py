"""The figures of results: success, attempts, improvement, and the scores of a task."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from statistics import quantiles

from assay.core.claim import Claim, format_rate
from assay.core.figure import COLORS, Axis, Figure, Key, Rows
from assay.core.text import one_line
from assay.core.values import Estimate, format_change, format_count, format_number, format_percent
from assay.results.estimate import Summary, reliable_attempts, summarize_tasks
from assay.results.frame import Direction, TrialRow, group_by
from assay.results.report import format_score, format_valid
from assay.tasks.model import Measured

Palette = Mapping[str, int]

_WIDTH = 540


def number_colors(agents: Iterable[str]) -> dict[str, int]:
    """Return the number of each agent's color, which it has in every figure and on every page."""
    return {agent: number % COLORS for number, agent in enumerate(dict.fromkeys(agents))}


def draw_success(agents: Sequence[Summary], palette: Palette) -> Figure | None:
    """Draw the success rate of each agent with its 95% interval; None where success is not defined."""
    rates = {summary.agent: summary.success for summary in agents if summary.success is not None}
    if not rates:
        return None
    notes = [f"{format_percent(rate.value)}, {format_count(rate)}{_describe_bounds(rate)}" for rate in rates.values()]
    axis = Axis("success rate", "rate", 0, 1, ticks=(0, 0.25, 0.5, 0.75, 1))
    figure = Figure("success", "Success rate by agent", axis, Rows(list(rates), notes), _WIDTH)
    for row, (agent, rate) in enumerate(rates.items()):
        figure.claim(rate, row, color=palette[agent], hover=f"{agent}: {notes[row]}")
    return figure


def _describe_bounds(rate: Claim) -> str:
    return "" if rate.is_complete else f"; {100 * rate.worst:.0f}–{format_percent(rate.best)} with missing trials"


def draw_attempts(agents: Sequence[Summary], palette: Palette) -> Figure | None:
    """Draw the probability that one (pass@k), and that all (pass^k), of k attempts succeed, up to half of the attempts.

    None where that is a single attempt.
    """
    largest = max((reliable_attempts(summary) for summary in agents), default=1)
    if largest < 2:
        return None
    figure = Figure(
        "attempts",
        "Success in several attempts",
        Axis("attempts k", "integer", 1, largest),
        Axis(unit="rate", low=0, high=1),
        width=_WIDTH,
        height=150,
        legend=[Key("pass@k", style="muted"), Key("pass^k", style="muted dashed")],
    )
    for summary in agents:
        color = palette[summary.agent]
        for curve, style in ((summary.pass_at, ""), (summary.pass_all, "dashed")):
            points = [(float(k), claim) for k, claim in curve.items() if k <= reliable_attempts(summary)]
            figure.curve(points, band=False, color=color, style=style)
            for k, claim in points:
                hover = f"{summary.agent}, {claim.estimand.measure}: {format_rate(claim)}"
                figure.claim(claim, k, size=4, color=color, style="thin", hover=hover)
    return figure


def draw_improvements(by_task: Sequence[Summary], palette: Palette) -> Figure | None:
    """Draw the mean improvement over the starter by task and agent, with standard errors; None if there is none."""
    tasks = [task for task in group_by(by_task, lambda summary: summary.task) if any(cell.improvement for cell in task)]
    if not tasks:
        return None
    rows, headings = list[Summary | None](), dict[int, str]()
    for task in tasks:
        headings[len(rows)] = task[0].title
        rows += [None, *task]
    labels = [cell.agent if cell else headings[row] for row, cell in enumerate(rows)]
    ends = [end for task in tasks for cell in task if cell.improvement for end in _ends(cell.improvement)]
    named = Rows(labels, headings=frozenset(headings), height=22)
    figure = Figure("improvement", "Improvement by task and agent", improvement_axis(ends), named, _WIDTH)
    figure.rule(x=0, style="muted thin")
    for row, cell in enumerate(rows):
        if cell and cell.improvement:
            mean, (low, high) = cell.improvement.mean, _ends(cell.improvement)
            figure.bar((0, row - 0.3), (mean, row + 0.3), color=palette[cell.agent])
            figure.interval(low, high, row, style="thin")
            valid = "" if cell.valid == cell.finished else f", {format_valid(cell)} valid"
            figure.text(max(high, 0), row, f"{format_change(mean)}{valid}", shift=(6, 4))
        elif cell:
            figure.text(0, row, format_score(cell), shift=(6, 4), style="muted")
    return figure


def draw_scores(
    trials: Sequence[TrialRow],
    measured: Measured | None,
    palette: Palette,
    teams: Sequence[float] = (),
    width: int = _WIDTH,
) -> Figure:
    """Draw the trials of a task on its score axis, better to the right.

    With them are the reference solutions, scores of human teams at equally spaced percentiles, and as rules the starter
    and the scores that win medals. All trials have the same task and rules; a panel of another edition or variant is
    excluded.
    """
    first, cells = trials[0], summarize_tasks(trials)
    panel = measured.panel if measured is not None and _is_comparable(measured, first) else ()
    levels, means = _find_levels(trials), {cell.agent: cell.score for cell in cells if cell.score}
    needed = [*levels.values(), *(end for mean in means.values() for end in _ends(mean))]
    needed += [trial.score for trial in trials if trial.score is not None]
    references = {
        f"panel of {len(panel)}": [(solution.score, f"{solution.name}: {solution.score:.6g}") for solution in panel],
        "human teams": [(score, f"a human team: {score:.6g}") for score in teams],
    }
    references = {label: scores for label, scores in references.items() if scores}
    known = [score for scores in references.values() for score, _ in scores]
    axis = score_axis(needed, known, first.direction, f"{first.metric}, {first.direction} is better")
    labels = [*references, *(cell.agent for cell in cells)]
    absent = {cell.agent: format_score(cell) for cell in cells if cell.score is None}
    notes = [absent.get(label, "") for label in labels] if absent else []
    figure = Figure("scores", f"Scores on {first.title}", axis, Rows(labels, notes), width)
    for name, score in levels.items():
        figure.rule(x=score, label=f"{name} {format_number(score)}")
    for row, scores in enumerate(references.values()):
        for score, hover in scores:
            if _contains(axis, score):
                figure.tick(score, row, style="gray", hover=hover)
        if beyond := sum(not _contains(axis, score) for score, _ in scores):
            figure.text(_worst(axis), row, f"◂ {beyond}", style="muted")
    row_of = {cell.agent: row for row, cell in enumerate(cells, start=len(references))}
    for trial in trials:
        if trial.score is not None and trial.agent in row_of:
            hover = f"{trial.agent}, seed {trial.seed}: {trial.score:.6g}"
            figure.dot(trial.score, row_of[trial.agent], color=palette[trial.agent], style="faint", hover=hover)
    for agent, mean in means.items():
        figure.interval(*_ends(mean), row_of[agent], color=palette[agent])
        figure.tick(mean.mean, row_of[agent], color=palette[agent])
    return figure


def score_axis(needed: Sequence[float], references: Sequence[float], direction: Direction, title: str) -> Axis:
    """Return an axis, better to the right, for all `needed` values and the references without their poor outliers.

    An outlier is further from the worse quartile than 1.5 times the interquartile range. The scale is logarithmic if
    the values span more than a factor of twenty and exceed 1, like speed-ups.
    """
    values = [*needed, *references] or [0.0, 1.0]
    is_log = min(values) > 0 and max(values) > 1 and max(values) / min(values) > 20
    transform, inverse = (log, exp) if is_log else (float, float)
    known = [transform(value) for value in references]
    if len(known) > 3:
        lower, _, upper = quantiles(known)
        reach = 1.5 * (upper - lower)
        known = [v for v in known if (v >= lower - reach if direction == "higher" else v <= upper + reach)]
    known = [*map(transform, needed), *known] or [0.0, 1.0]
    margin = 0.06 * (max(known) - min(known)) or 0.1 * abs(max(known)) or 1.0
    low, high = inverse(min(known) - margin), inverse(max(known) + margin)
    title = one_line(f"{title}{', log scale' if is_log else ''}  →")
    return Axis(title, low=low, high=high, scale="log" if is_log else "linear", reverse=direction == "lower")


def improvement_axis(values: Sequence[float]) -> Axis:
    """Return an axis with zero and room for labels; symmetric-logarithmic where improvements exceed 100%."""
    title, low, high = "improvement over the starter", min(*values, 0.0, 0.0), max(*values, 0.0, 0.0)
    if max(high, -low) > 1:
        return Axis(title, "change", low * 1.3 - 0.01, high * 4 + 0.5, "symlog")
    span = high - low or 0.1
    return Axis(title, "change", low - 0.06 * span, high + 0.2 * span)


def _find_levels(trials: Sequence[TrialRow]) -> dict[str, float]:
    """Return the scores that a reader compares with, by name: the starter's, and those of the human leaderboard."""
    grades = [trial.grade for trial in trials if trial.grade]
    named = {"starter": next((grade.baseline for grade in grades if grade.baseline is not None), None)}
    if grade := next((trial.grade for trial in trials if trial.grade and trial.has_leaderboard), None):
        named |= {
            "median": grade.median_threshold,
            "bronze": grade.bronze_threshold,
            "silver": grade.silver_threshold,
            "gold": grade.gold_threshold,
        }
    return {name: score for name, score in named.items() if score is not None}


def _ends(estimate: Estimate) -> tuple[float, float]:
    """Return a mean minus and plus its standard error, which a single trial does not have."""
    return estimate.mean - (estimate.error or 0.0), estimate.mean + (estimate.error or 0.0)


def _contains(axis: Axis, value: float) -> bool:
    return axis.low is not None and axis.high is not None and axis.low <= value <= axis.high


def _worst(axis: Axis) -> float:
    """Return the left end of a score axis."""
    return (axis.high if axis.reverse else axis.low) or 0.0


def _is_comparable(measured: Measured, trial: TrialRow) -> bool:
    return measured.edition == trial.edition and trial.variant == "real"
