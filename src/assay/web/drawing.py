"""Small figures as SVG, drawn without scripts and inline styles: intervals, forest plots, scores on a line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.core.quantities import format_duration, format_size
from assay.core.text import one_line
from assay.results.comparison import PairComparison
from assay.results.curves import Curve
from assay.results.inference import Interval
from assay.results.progress import Axis
from assay.results.wording import format_number, short_task_name
from assay.web.text import clean_text
from assay.web.trace import UsagePoint

_TIMES = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800)
"""Distances between round times, in seconds."""


def draw_interval(mean: float, interval: Interval | None, color: int) -> Markup:
    """Return a share between 0 and 1 as a dot with its interval on a line."""
    width, height, middle = 120, 16, 8
    parts = [Markup('<line class="axis" x1="4" y1="{0}" x2="{1}" y2="{0}"/>').format(middle, width - 4)]
    if interval is not None:
        low, high = 4 + interval.low * (width - 8), 4 + interval.high * (width - 8)
        parts.append(
            Markup('<line class="range c{}" x1="{:.1f}" y1="{}" x2="{:.1f}" y2="{}"/>').format(
                color, low, middle, high, middle
            )
        )
    parts.append(
        Markup('<circle class="dot c{}" cx="{:.1f}" cy="{}" r="4.5"/>').format(color, 4 + mean * (width - 8), middle)
    )
    return _svg("interval", width, height, parts, "")


def draw_forest(pair: PairComparison, max_rows: int = 60) -> Markup:
    """Return the differences by task, the largest first, and their mean with its interval at the top."""
    tasks = pair.tasks[:max_rows]
    names = [one_line(short_task_name(task.task), 30) for task in tasks]
    left, right, row = 24 + 7 * max(len(name) for name in ["all tasks", *names]), 60, 22
    plot = 340
    values = [abs(task.difference) for task in tasks] + [abs(pair.interval.low), abs(pair.interval.high)]
    reach = max([*values, 0.01]) * 1.05

    def x(value: float) -> float:
        return left + plot * (max(-reach, min(reach, value)) + reach) / (2 * reach)

    height = 34 + row * (len(tasks) + 1)
    parts = [
        Markup('<text x="{:.1f}" y="12" class="muted" text-anchor="end">{}</text>').format(
            x(0) - 8, f"← {_name(pair.second)} better"
        ),
        Markup('<text x="{:.1f}" y="12" class="muted">{}</text>').format(x(0) + 8, f"{_name(pair.first)} better →"),
        Markup('<line class="zero" x1="{0:.1f}" y1="20" x2="{0:.1f}" y2="{1}"/>').format(x(0), height - 4),
    ]
    y = 20 + row / 2 + 4
    low, high, middle = x(pair.interval.low), x(pair.interval.high), x(pair.difference)
    parts += [
        Markup('<text x="{}" y="{:.1f}" text-anchor="end" class="strong">all tasks</text>').format(left - 12, y + 4),
        Markup('<line class="range ink" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(low, y, high, y),
        Markup('<path class="mean" d="M{:.1f} {:.1f}l7 -6l7 6l-7 6z"/>').format(middle - 7, y),
        Markup('<text x="{}" y="{:.1f}" class="strong">{}</text>').format(
            left + plot + 10, y + 4, _points(pair.difference)
        ),
    ]
    for place, (name, task) in enumerate(zip(names, tasks, strict=True), start=1):
        at = y + place * row
        kind = "better" if task.difference > 0 else "worse" if task.difference < 0 else "same"
        end = x(task.difference)
        parts += [
            Markup('<text x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(left - 12, at + 4, name),
            Markup('<line class="stem {}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
                kind, x(0), at, end, at
            ),
            Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="4.5"/>').format(kind, end, at),
            Markup('<text x="{}" y="{:.1f}" class="muted">{}</text>').format(
                left + plot + 10, at + 4, _points(task.difference)
            ),
        ]
    label = f"Differences between {_name(pair.first)} and {_name(pair.second)} by task"
    return _svg("forest", left + plot + right, height, parts, label)


@dataclass(frozen=True)
class Mark:
    """A value on a line of scores: a trial (with the color of its agent), or a reference."""

    value: float
    label: str
    color: int | None = None


def draw_score_line(
    trials: Sequence[Mark],
    references: Sequence[Mark],
    lines: Sequence[Mark],
    higher: bool,
    teams: Sequence[float] = (),
) -> Markup:
    """Return scores on a line, better to the right: trials as dots, references as ticks, thresholds as named lines.

    `teams` are scores of human teams at equally spaced percentiles, drawn as a histogram.
    """
    needed = [mark.value for mark in (*trials, *lines)]
    values = needed + [mark.value for mark in references] + list(teams)
    if not values:
        return Markup("")
    low, high = min(values), max(values)
    if needed and high - low > 0:
        # Poor references far from everything else would squeeze what matters.
        reach = 2 * max(max(needed) - min(needed), 0.02 * (high - low))
        low, high = max(low, min(needed) - reach), min(high, max(needed) + reach)
    margin = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - margin, high + margin
    width, height, base = 720, 176 if teams else 96, 142 if teams else 62

    def x(value: float) -> float:
        share = (value - low) / (high - low)
        return 10 + (width - 20) * (share if higher else 1 - share)

    parts = _draw_histogram([value for value in map(x, teams) if 10 <= value <= width - 10], width, base - 52, base)
    parts += [Markup('<line class="axis" x1="10" y1="{0}" x2="{1}" y2="{0}"/>').format(base, width - 10)]
    for mark in references:
        if low <= mark.value <= high:
            at = x(mark.value)
            line = Markup(
                '<line class="reference" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"><title>{3}</title></line>'
            )
            parts.append(line.format(at, base - 7, base + 7, clean_text(mark.label)))
    for place, mark in enumerate(sorted(lines, key=lambda one: x(one.value))):
        at, top = x(mark.value), 12 + 13 * (place % 3)
        parts.append(Markup('<line class="level" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/>').format(at, top, base))
        anchor = "end" if at > width - 90 else "start"
        shift = -4 if anchor == "end" else 4
        parts.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                at + shift, top + 4, anchor, clean_text(mark.label)
            )
        )
    for mark in trials:
        dot = Markup('<circle class="dot c{}" cx="{:.1f}" cy="{}" r="6"><title>{}</title></circle>')
        parts.append(dot.format(mark.color or 0, x(mark.value), base, clean_text(mark.label)))
    for value, anchor in ((low + margin, "start" if higher else "end"), (high - margin, "end" if higher else "start")):
        parts.append(
            Markup('<text class="muted" x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                x(value), base + 26, anchor, format_number(value)
            )
        )
    return _svg("scores", width, height, parts, "Scores of trials, better to the right")


def _draw_histogram(places: Sequence[float], width: int, height: int, base: int) -> list[Markup]:
    """Return bars of how many of the places are where."""
    size = 10
    counts = [0] * (width // size)
    for place in places:
        counts[min(int(place // size), len(counts) - 1)] += 1
    top = max(counts, default=0)
    return [
        Markup('<rect class="teams" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>').format(
            number * size + 0.5, base - height * count / top, size - 1, height * count / top
        )
        for number, count in enumerate(counts)
        if count
    ]


def draw_curves(curves: Sequence[Curve], colors: Mapping[str, int], axis: Axis, *, percent: bool) -> Markup:
    """Return lines of agents: own picks with a band, and dashed the best so far."""
    width, height, left, top, bottom = 720, 340, 56, 12, 36
    points = [point for curve in curves for point in curve.points]
    ends = [end for point in points if point.interval for end in (point.interval.low, point.interval.high)]
    values = [value for point in points for value in (point.picked, point.best) if value is not None] + ends
    end = max((point.level for point in points), default=0.0)
    if not values or end <= 0:
        return Markup("")
    rows = (0.0, 0.25, 0.5, 0.75, 1.0) if percent else _choose_ticks(min(values), max(values), (1, 2, 2.5, 5))
    distances = _TIMES if axis == "time" else (1, 2, 5)
    columns = [tick for tick in _choose_ticks(0.0, end, distances, whole=axis != "cost") if tick <= end]
    low, high = rows[0], rows[-1]

    def x(value: float) -> float:
        return left + (width - left - 12) * value / end

    def y(value: float) -> float:
        return top + (height - top - bottom) * (1 - (value - low) / (high - low))

    parts = []
    for value in rows:
        label = f"{100 * value:.0f}%" if percent else format_number(value)
        parts += [
            Markup('<line class="axis" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>').format(
                left, y(value), width - 12, y(value)
            ),
            Markup('<text class="muted" x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
                left - 8, y(value) + 4, label
            ),
        ]
    for at in columns:
        text = Markup('<text class="muted" x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
        parts.append(text.format(x(at), height - 14, _axis_label(at, axis)))
    for curve in curves:
        color = colors[curve.agent]
        band = [(point.level, point.interval) for point in curve.points if point.interval]
        upper = " ".join(f"{x(at):.1f},{y(interval.high):.1f}" for at, interval in band)
        lower = " ".join(f"{x(at):.1f},{y(interval.low):.1f}" for at, interval in reversed(band))
        if band:
            parts.append(Markup('<polygon class="band c{}" points="{} {}"/>').format(color, upper, lower))
        lines = {
            "best-so-far": [(point.level, point.best) for point in curve.points],
            "own": [(point.level, point.picked) for point in curve.points],
        }
        for name, line_points in lines.items():
            line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in line_points if value is not None)
            parts.append(Markup('<polyline class="{} c{}" points="{}"/>').format(name, color, line))
    return _svg("curves", width, height, parts, f"Curves of {len(curves)} agents over {axis}")


def draw_histogram(counts: Sequence[int], threshold: float) -> Markup:
    """Return counts in equal parts of 0 to 100% as bars, with a line at the threshold."""
    bar, height, top, bottom = 44, 160, 18, 134
    parts = []
    for place, count in enumerate(counts):
        x, y = 8 + place * bar, bottom - (bottom - top) * count / max(1, *counts)
        flagged = place / len(counts) >= threshold - 1e-9
        parts.append(
            Markup('<rect class="{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>').format(
                "flagged" if flagged else "count", x, y, bar - 4, bottom - y
            )
        )
        if count:
            parts.append(Markup('<text x="{}" y="{:.1f}" text-anchor="middle">{}</text>').format(x + 20, y - 4, count))
        percent = 100 * place // len(counts)
        parts.append(Markup('<text class="muted" x="{}" y="{}">{}%</text>').format(x, height - 10, percent))
    at = 6 + threshold * bar * len(counts)
    parts.append(Markup('<line class="level" x1="{0:.1f}" y1="4" x2="{0:.1f}" y2="{1}"/>').format(at, bottom))
    label = f"Highest similarity of {sum(counts)} trials"
    return _svg("histogram", 16 + bar * len(counts), height, parts, label)


def draw_usage(usage: Sequence[UsagePoint]) -> Markup:
    """Return processors, memory and disk that a trial's commands used over its time, one line below the other."""
    width, left, row, gap = 720, 120, 60, 16
    end = max((point.at for point in usage), default=0.0)
    if end <= 0:
        return Markup("")
    ticks = [tick for tick in _choose_ticks(0.0, end, _TIMES, whole=True) if tick <= end]
    height = 3 * (row + gap) + 20

    def x(at: float) -> float:
        return left + (width - left - 12) * max(at, 0.0) / end

    parts = []
    for place, (name, values, show) in enumerate(
        (
            ("processors", [point.processors for point in usage], "{:.1f}".format),
            ("memory", [float(point.memory) for point in usage], _format_bytes),
            ("disk", [float(point.disk) for point in usage], _format_bytes),
        )
    ):
        base, most = place * (row + gap) + row + 4, max(values)
        line = " ".join(
            f"{x(point.at):.1f},{base - row * value / (most or 1.0):.1f}"
            for point, value in zip(usage, values, strict=True)
        )
        parts += [
            Markup('<line class="axis" x1="{0}" y1="{2}" x2="{1}" y2="{2}"/>').format(left, width - 12, base),
            Markup('<text x="0" y="{}">{}</text>').format(base - row / 2, name),
            Markup('<text class="muted" x="0" y="{}">at most {}</text>').format(base - row / 2 + 16, show(most)),
            Markup('<polyline class="own c0" points="{}"/>').format(line),
        ]
    for tick in ticks:
        text = Markup('<text class="muted" x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
        parts.append(text.format(x(tick), height - 6, _axis_label(tick, "time")))
    return _svg("usage", width, height, parts, "Processors, memory and disk over time")


def _format_bytes(value: float) -> str:
    return format_size(round(value))


def _choose_ticks(low: float, high: float, steps: Sequence[float], *, whole: bool = False) -> tuple[float, ...]:
    """Return at most seven round numbers that enclose a range; `steps` are the distances between them to try."""
    reach = max(abs(low), abs(high))
    if high - low <= 1e-9 * reach:  # practically one number
        low, high = (low - 0.1 * reach, high + 0.1 * reach) if reach else (0.0, 1.0)
    span = high - low
    scale = 1.0 if whole else 10.0 ** math.floor(math.log10(span / 10))
    while True:
        for step in steps:
            first, last = math.floor(low / (step * scale)), math.ceil(high / (step * scale))
            if last - first <= 6:
                return tuple(place * step * scale for place in range(first, max(last, first + 1) + 1))
        scale *= 10


def _axis_label(value: float, axis: Axis) -> str:
    if axis == "time":
        return format_duration(round(value))
    return f"{value:.0f}" if axis == "steps" else f"${value:.2f}"


def _svg(kind: str, width: float, height: float, parts: Sequence[Markup], label: str) -> Markup:
    role = Markup('role="img" aria-label="{}"').format(label) if label else Markup('aria-hidden="true"')
    start = Markup('<svg class="{}" viewBox="0 0 {} {}" width="{}" height="{}" {}>').format(
        kind, width, height, width, height, role
    )
    return start + Markup("").join(parts) + Markup("</svg>")


def _name(agent: str) -> str:
    return one_line(clean_text(agent), 22)


def _points(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "−")
