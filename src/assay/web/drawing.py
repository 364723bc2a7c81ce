"""The figures that only pages have: intervals in a table, differences by task, curves over time, resources used."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from assay.core.claim import Claim, Published, format_difference, format_rate
from assay.core.figure import Axis, Figure, Look, Rows, Unit
from assay.core.quantities import format_size
from assay.core.text import one_line
from assay.core.values import Estimate, format_estimate, format_points
from assay.results.curves import Curve, CurvePoint
from assay.results.estimate import interval_half_width
from assay.results.paired import PairedDifference
from assay.results.progress import Axis as CurveAxis
from assay.results.progress import CurveMeasure
from assay.results.report import short_task_name
from assay.results.verdict import describe_task
from assay.web.trace import UsagePoint

_HIDDEN = Axis(unit="rate", low=0, high=1, ticks=())
_MAX_TASKS = 60
_WIDTH = 960
_TITLES: Mapping[CurveAxis, str] = {"time": "time since the start", "steps": "steps", "cost": "dollars"}
_UNITS: Mapping[CurveAxis, Unit] = {"time": "duration", "steps": "integer", "cost": "money"}


def draw_rate(rate: Claim | Published, color: int) -> Figure:
    """Draw a rate as a dot, with its interval if it is not a published one."""
    figure = Figure("interval", "", _HIDDEN, Rows([""], height=8), width=120, pad=4)
    figure.rule(y=0, style="gray thin")
    if isinstance(rate, Published):
        figure.quote([(0, rate)], color=color)
    else:
        figure.claim(rate, 0, size=4.5, color=color, hover="")
    return figure


def draw_forest(pair: PairedDifference) -> Figure:
    """Draw the differences by task, the largest first, and their mean with its interval at the top."""
    tasks, claim = pair.tasks[:_MAX_TASKS], pair.claim
    reach = 1.05 * max([0.01, abs(claim.low), abs(claim.high), *(abs(task.difference) for task in tasks)])
    first, second = one_line(pair.first, 22), one_line(pair.second, 22)
    labels = ["", "all tasks", *(one_line(short_task_name(task.task), 30) for task in tasks)]
    notes = ["", format_points(claim.value), *(format_points(task.difference) for task in tasks)]
    title = f"Differences between {first} and {second} by task"
    axis = Axis(unit="difference", low=-reach, high=reach, ticks=())
    figure = Figure("forest", title, axis, Rows(labels, notes, height=22), width=600)
    figure.text(0, 0, f"← {second} better", anchor="end", shift=(-8, 2), style="muted")
    figure.text(0, 0, f"{first} better →", shift=(8, 2), style="muted")
    figure.rule(x=0, style="muted dotted thin")
    figure.claim(claim, 1, size=6, hover=f"all tasks: {format_difference(claim)} points")
    for row, task in enumerate(tasks, start=2):
        color = None if task.difference == 0 else int(task.difference < 0)
        figure.observe(task.difference, row, color=color, hover=f"{labels[row]}: {describe_task(task)}")
    return figure


def draw_curves(
    curves: Sequence[Curve], colors: Mapping[str, int], axis: CurveAxis, measure: CurveMeasure
) -> Figure | None:
    """Draw for each agent its own picks with a band, and dashed the best so far; None where nothing was used."""
    points = [point for curve in curves for point in curve.points]
    end = max((point.level for point in points), default=0.0)
    if end <= 0 or all(point.picked is None and point.best is None for point in points):
        return None
    y = Axis(measure, "rate", 0, 1) if measure != "score" else Axis(measure)
    x = Axis(_TITLES[axis], _UNITS[axis], 0, end)
    figure = Figure("curves", f"Curves of {len(curves)} agents over {axis}", x, y, _WIDTH, 320)
    for curve in curves:
        color = colors[curve.agent]
        best = [(point.level, point.best) for point in curve.points]
        picked = [(point.level, point.picked) for point in curve.points]
        looks = (
            (best, Look(color=color, style="dashed thin", hover=f"{curve.agent}, best so far")),
            (picked, Look(color=color, hover=f"{curve.agent}, own pick")),
        )
        for known, look in looks:
            claims = [(level, value) for level, value in known if isinstance(value, Claim)]
            if claims:
                figure.curve(claims, band=known is picked, keep=True, **look)
            scores = [(level, value) for level, value in known if isinstance(value, Estimate)]
            if scores:
                _draw_scores(figure, scores, look, _limit_bands(points) if known is picked else None)
    _add_probes(figure, curves, x)
    return figure


def _add_probes(figure: Figure, curves: Sequence[Curve], axis: Axis) -> None:
    """Say between any two levels what each agent had by then."""
    levels = [point.level for point in curves[0].points]
    for number, (low, high) in enumerate(pairwise(levels)):
        points = [(curve.agent, curve.points[number]) for curve in curves]
        lines = [
            f"{one_line(agent, 40)}: {_format(point.picked)}"
            + ("" if point.best == point.picked else f", best so far {_format(point.best)}")
            for agent, point in points
        ]
        figure.probe(low, high, "\n".join([f"{axis.title}: {axis.label(low)}", *lines]))


def _format(value: Claim | Estimate | None) -> str:
    return format_rate(value) if isinstance(value, Claim) else format_estimate(value) if value else "no score"


def _limit_bands(points: Sequence[CurvePoint]) -> tuple[float, float]:
    """Return where bands of scores are cut: the interval of two seeds may be wider than the whole figure."""
    means = [point.picked.mean for point in points if isinstance(point.picked, Estimate)] or [0.0]
    low, high = min(means), max(means)
    room = (high - low or abs(high) or 1.0) / 4
    floor, ceiling = 0.0 if low >= 0 else low - room, 1.0 if 0 <= high <= 1 else high + room
    return max(low - room, floor), min(high + room, ceiling)


def _draw_scores(
    figure: Figure, scores: Sequence[tuple[float, Estimate]], look: Look, limits: tuple[float, float] | None
) -> None:
    """Draw the mean score of a task, within some limits with Student's interval over its seeds as a band."""
    widths = [(level, score, interval_half_width(score)) for level, score in scores]
    ends = [(level, score.mean, half) for level, score, half in widths if half is not None]
    if limits and ends:
        low = [(level, max(mean - half, limits[0])) for level, mean, half in ends]
        high = [(level, min(mean + half, limits[1])) for level, mean, half in ends]
        figure.band(low, high, keep=True, color=look.get("color"))
    figure.step([(level, score.mean) for level, score in scores], **look)


def draw_usage(usage: Sequence[UsagePoint]) -> Figure | None:
    """Draw processors, memory and disk that a trial's commands used over its time, one line below the other."""
    end = max((point.at for point in usage), default=0.0)
    if end <= 0:
        return None
    lines = {
        "processors": [point.processors for point in usage],
        "memory": [float(point.memory) for point in usage],
        "disk": [float(point.disk) for point in usage],
    }
    most = {name: max(values) for name, values in lines.items()}
    notes = [
        f"at most {most[name]:.1f}" if name == "processors" else f"at most {format_size(round(most[name]))}"
        for name in lines
    ]
    axis = Axis("time since the start", "duration", 0, end)
    figure = Figure("usage", "Processors, memory and disk over time", axis, Rows(list(lines), notes, height=56), _WIDTH)
    for row, (name, values) in enumerate(lines.items()):
        figure.rule(y=row + 0.45, style="gray thin")
        heights = [row + 0.45 - 0.85 * value / (most[name] or 1.0) for value in values]
        figure.line([(max(point.at, 0.0), y) for point, y in zip(usage, heights, strict=True)], color=0, style="thin")
    return figure
