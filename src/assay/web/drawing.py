"""The figures that only pages have: intervals in a table, differences by task, curves over time, resources used."""

from collections.abc import Mapping, Sequence

from assay.core.figure import Axis, Figure, Rows, Unit
from assay.core.quantities import format_size
from assay.core.text import one_line
from assay.core.values import Interval, format_points
from assay.results.curves import Curve
from assay.results.paired import PairedDifference
from assay.results.progress import Axis as CurveAxis
from assay.results.report import short_task_name
from assay.web.trace import UsagePoint

_HIDDEN = Axis(low=0, high=1, ticks=())
_MAX_TASKS = 60
_UNITS: Mapping[CurveAxis, Unit] = {"time": "duration", "steps": "integer", "cost": "money"}


def draw_interval(mean: float, interval: Interval | None, color: int) -> Figure:
    """Draw a share between 0 and 1 as a dot with its interval."""
    figure = Figure("interval", "", _HIDDEN, Rows([""], height=8), width=120, pad=4)
    figure.rule(y=0, style="gray thin")
    if interval is not None:
        figure.interval(interval.low, interval.high, 0, color=color, style="thick")
    figure.dot(mean, 0, color=color)
    return figure


def draw_forest(pair: PairedDifference) -> Figure:
    """Draw the differences by task, the largest first, and their mean with its interval at the top."""
    tasks = pair.tasks[:_MAX_TASKS]
    reach = 1.05 * max([0.01, abs(pair.interval.low), abs(pair.interval.high), *(abs(t.difference) for t in tasks)])
    first, second = one_line(pair.first, 22), one_line(pair.second, 22)
    labels = ["", "all tasks", *(one_line(short_task_name(task.task), 30) for task in tasks)]
    notes = ["", format_points(pair.difference), *(format_points(task.difference) for task in tasks)]
    title = f"Differences between {first} and {second} by task"
    axis = Axis(low=-reach, high=reach, ticks=())
    figure = Figure("forest", title, axis, Rows(labels, notes, height=22), width=600)
    figure.text(0, 0, f"← {second} better", anchor="end", shift=(-8, 2), style="muted")
    figure.text(0, 0, f"{first} better →", shift=(8, 2), style="muted")
    figure.line([(0, 0.5), (0, len(labels) - 0.5)], style="muted dotted thin")
    figure.interval(pair.interval.low, pair.interval.high, 1, style="thick")
    figure.dot(pair.difference, 1, size=6, hover=f"all tasks: {notes[1]} points")
    for row, task in enumerate(tasks, start=2):
        color = None if task.difference == 0 else int(task.difference < 0)
        figure.interval(0, task.difference, row, color=color)
        figure.dot(task.difference, row, color=color, hover=f"{labels[row]}: {notes[row]} points")
    return figure


def draw_curves(curves: Sequence[Curve], colors: Mapping[str, int], axis: CurveAxis, *, percent: bool) -> Figure | None:
    """Draw for each agent its own picks with a band, and dashed the best so far; None where nothing was used."""
    points = [point for curve in curves for point in curve.points]
    end = max((point.level for point in points), default=0.0)
    if end <= 0 or all(point.picked is None and point.best is None for point in points):
        return None
    y = Axis(unit="percent", low=0, high=1) if percent else Axis()
    x = Axis(unit=_UNITS[axis], low=0, high=end)
    figure = Figure("curves", f"Curves of {len(curves)} agents over {axis}", x, y)
    for curve in curves:
        color, band = colors[curve.agent], [(p.level, p.interval) for p in curve.points if p.interval]
        figure.band(
            [(level, ends.low) for level, ends in band], [(level, ends.high) for level, ends in band], color=color
        )
        best = [(point.level, point.best) for point in curve.points if point.best is not None]
        picked = [(point.level, point.picked) for point in curve.points if point.picked is not None]
        figure.step(best, color=color, style="dashed thin", hover=f"{curve.agent}, best so far")
        figure.step(picked, color=color, hover=f"{curve.agent}, own pick")
    return figure


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
    axis = Axis(unit="duration", low=0, high=end)
    figure = Figure("usage", "Processors, memory and disk over time", axis, Rows(list(lines), notes, height=72))
    for row, (name, values) in enumerate(lines.items()):
        figure.rule(y=row + 0.45, style="gray thin")
        heights = [row + 0.45 - 0.85 * value / (most[name] or 1.0) for value in values]
        figure.line([(max(point.at, 0.0), y) for point, y in zip(usage, heights, strict=True)], color=0, style="thin")
    return figure
