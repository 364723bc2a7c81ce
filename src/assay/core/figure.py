"""Figures of a handful of marks, drawn as SVG with hover text and without scripts.

    figure = Figure("success", "Success rate by agent", x=Axis("success rate", "rate"), y=Rows(agents))
    for row, rate in enumerate(rates):
        figure.claim(rate, row, color=row, hover=f"{rate.count} of {rate.trials}")
    figure.to_svg()

A position is a number on an `Axis`, or the number of a row of `Rows`. An axis of rates or of differences has no marks
but those of claims, of what was observed on a single task, and of published figures: plain numbers are refused.

In a page that has `STYLESHEET`, templates write figures as they are; `to_svg` returns a file with its own style for
light and dark backgrounds. All text is escaped.
"""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypedDict, Unpack, assert_never

from assay.core.claim import Claim, Published, format_difference, format_rate
from assay.core.errors import AssayError
from assay.core.quantities import format_duration, format_size
from assay.core.text import one_line
from assay.core.values import Interval

__all__ = ["COLORS", "STYLESHEET", "Axis", "Figure", "Key", "Look", "Mark", "Rows", "Unit"]

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
Unit = Literal["number", "integer", "share", "change", "rate", "difference", "duration", "money", "size"]

COLORS = 8
"""How many colors there are; color-blind readers can tell them apart, by lightness if not by hue (Okabe and Ito)."""

STYLESHEET = Path(__file__).with_name("figure.css")
"""The style of figures in a page; the color scheme of the page decides between light and dark."""

_CLAIMS: tuple[Unit, ...] = ("rate", "difference")
_DURATIONS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800)
_LARGEST = 1e300
_CHARACTER, _LINE, _TICKS, _MAX_LABEL = 7.4, 14, 18, 30


@dataclass(frozen=True)
class Axis:
    """A scale with a title and ticks. An end that is not set is the round number beyond the outermost mark.

    Ticks are chosen where they are None; without any, no axis is drawn.
    """

    title: str = ""
    unit: Unit = "number"
    low: float | None = None
    high: float | None = None
    scale: Literal["linear", "log", "symlog"] = "linear"
    ticks: Sequence[float] | None = None
    reverse: bool = False

    def fit(self, values: Iterable[float], max_steps: int = 6) -> "Axis":
        """Return the axis with ends and ticks for some values."""
        known = [min(max(value, -_LARGEST), _LARGEST) for value in values] or [0.0, 1.0]
        low = min(known) if self.low is None else max(self.low, -_LARGEST)
        high = max(known) if self.high is None else min(self.high, _LARGEST)
        reach = max(abs(low), abs(high))
        if high - low <= 1e-9 * reach:  # practically a single number
            low, high = (low - 0.1 * reach, high + 0.1 * reach) if reach else (0.0, 1.0)
        ticks = self._choose_ticks(low, high, max_steps) if self.ticks is None else self.ticks
        if self.scale == "linear" and self.ticks is None:
            low = ticks[0] if self.low is None else low
            high = ticks[-1] if self.high is None else high
        return replace(self, low=low, high=high, ticks=tuple(tick for tick in ticks if low <= tick <= high))

    def share(self, value: float) -> float:
        """Return the position of a value between the start (0) and the end (1), at an end if it is beyond it."""
        low, high, at = (self._transform(number or 0.0) / 2 for number in (self.low, self.high, value))
        share = min(max((at - low) / (high - low), 0.0), 1.0)
        return 1 - share if self.reverse else share

    def label(self, value: float) -> str:
        """Return how a value is written."""
        match self.unit:
            case "duration":
                return format_duration(value)
            case "size":
                return format_size(round(value))
            case "money":
                return f"${value:.2f}"
            case "difference":
                text = f"{100 * value:+.10g}" if value else "0"
            case "share" | "rate" | "change":
                text = f"{100 * value:{'+' if self.unit == 'change' and value else ''},.10g}%"
            case "number" | "integer":
                text = f"{value:.10g}" if abs(value) < 1e6 else f"{value:.6g}"
            case _:
                assert_never(self.unit)
        return text.replace("-", "−")

    def _transform(self, value: float) -> float:
        match self.scale:
            case "linear":
                return value
            case "log":
                return math.log10(max(value, 1e-300))
            case "symlog":
                return math.copysign(math.log1p(abs(value) / 0.1), value)
            case _:
                assert_never(self.scale)

    def _choose_ticks(self, low: float, high: float, max_steps: int) -> Sequence[float]:
        """Return round numbers that enclose a range."""
        if self.scale == "log":
            first, last = (math.floor(math.log10(max(end, 1e-300))) for end in (low, high))
            digits = (1, 2, 5) if last - first <= 3 else (1,)
            return [digit * 10.0**power for power in range(first, last + 2) for digit in digits]
        if self.scale == "symlog":
            powers = range(-1, math.ceil(math.log10(max(high, -low, 0.1))) + 1)
            return sorted({0.0, *(sign * 10.0**power for power in powers for sign in (-1, 1))})
        power = math.floor(math.log10((high - low) / 10))
        steps = [digit * 10.0**up for up in range(power, power + 9) for digit in (1, 2, 2.5, 5)]
        if self.unit == "duration":
            steps = [*_DURATIONS, *(step for step in steps if step > _DURATIONS[-1])]
        elif self.unit == "integer":
            steps = [1, *(step for step in steps if step > 1 and step == round(step))]
        step = next(step for step in steps if math.ceil(high / step) - math.floor(low / step) <= max_steps)
        return [number * step for number in range(math.floor(low / step), math.ceil(high / step) + 1)]


@dataclass(frozen=True)
class Rows:
    """Named rows from top to bottom, with a note at the right; those in `headings` are titles of the rows below."""

    labels: Sequence[str]
    notes: Sequence[str] = ()
    headings: frozenset[int] = frozenset()
    height: int = 26


@dataclass(frozen=True)
class Key:
    """An entry of the legend."""

    label: str
    color: int | None = None
    style: str = ""


class Look(TypedDict, total=False):
    """How a mark looks: the number of its color, its style, its hover text, and the part of the page it leads to.

    The style is some of: faint, dashed, dotted, thin, thick, hollow, strong, small, muted, gray, good, bad.
    """

    color: int | None
    style: str
    hover: str
    link: str


@dataclass(frozen=True)
class Mark:
    """A mark: what it is, where, its size in pixels or its darkness, its words, and how it looks."""

    kind: Literal["dot", "tick", "line", "band", "cell", "text", "rule-x", "rule-y", "probe"]
    points: Sequence[Point]
    look: Look
    size: float = 0.0
    words: str = ""
    anchor: Anchor = "start"
    shift: Point = (0.0, 0.0)


@dataclass
class Figure:
    """A figure. `title` says what it shows to readers who do not see it; without one, it is decoration.

    `width` is that of the whole figure, `height` that of the plot; rows have a height of their own.
    """

    name: str
    title: str
    x: Axis = field(default_factory=Axis)
    y: Axis | Rows = field(default_factory=Axis)
    width: int = 720
    height: int = 280
    legend: Sequence[Key] = ()
    pad: int = 8
    marks: list[Mark] = field(default_factory=list)

    def dot(self, x: float, y: float, *, size: float = 4.5, label: str = "", **look: Unpack[Look]) -> None:
        """Add a dot with a radius in pixels, and a few letters in it."""
        self._add(Mark("dot", [(x, y)], look, size, label))

    def tick(self, x: float, y: float, *, size: float = 8, **look: Unpack[Look]) -> None:
        """Add a short line across a row, which reaches `size` pixels up and down."""
        self._add(Mark("tick", [(x, y)], look, size))

    def interval(self, low: float, high: float, row: float, **look: Unpack[Look]) -> None:
        """Add a line along a row between two values."""
        self.line([(low, row), (high, row)], **look)

    def line(self, points: Iterable[Point], **look: Unpack[Look]) -> None:
        """Add a line through points."""
        self._add(Mark("line", list(points), look))

    def step(self, points: Sequence[Point], **look: Unpack[Look]) -> None:
        """Add a line that keeps each value until the next point."""
        self.line(_keep(points), **look)

    def band(self, low: Sequence[Point], high: Sequence[Point], *, keep: bool = False, **look: Unpack[Look]) -> None:
        """Add the area between two lines; with `keep`, each keeps its value until the next point."""
        if keep:
            low, high = _keep(low), _keep(high)
        self._add(Mark("band", [*high, *reversed(low)], look))

    def bar(self, start: Point, end: Point, **look: Unpack[Look]) -> None:
        """Add a rectangle between two corners."""
        self.cell(start, end, 1.0, **look)

    def cell(self, start: Point, end: Point, share: float, **look: Unpack[Look]) -> None:
        """Add a rectangle whose darkness is a share between 0 and 1."""
        self._add(Mark("cell", [start, end], look, min(max(share, 0.0), 1.0)))

    def claim(
        self, claim: Claim, at: float, *, across: Interval | None = None, size: float = 5.5, **look: Unpack[Look]
    ) -> None:
        """Add a dot with its interval, at a row or at a number on the other axis, which may have an interval, too."""
        look.setdefault("hover", (format_difference if claim.estimand.kind == "difference" else format_rate)(claim))
        line = Look(color=look.get("color"), style=_restyle(look, "thin" if across else "thick"))
        self.marks.append(Mark("line", [self._point(claim.low, at), self._point(claim.high, at)], line))
        if across is not None:
            ends = [self._point(claim.value, end) for end in (across.low, across.high)]
            self.marks.append(Mark("line", ends, line))
        self.marks.append(Mark("dot", [self._point(claim.value, at)], look, size))

    def curve(
        self,
        points: Sequence[tuple[float, Claim]],
        *,
        band: bool = True,
        keep: bool = False,
        **look: Unpack[Look],
    ) -> None:
        """Add a line through claims with a band of their intervals; with `keep`, each holds until the next."""
        low, middle, high = (
            [self._point(value_of(claim), at) for at, claim in points]
            for value_of in (attrgetter("low"), attrgetter("value"), attrgetter("high"))
        )
        if keep:
            low, middle, high = _keep(low), _keep(middle), _keep(high)
        if band:
            self.marks.append(Mark("band", [*high, *reversed(low)], Look(color=look.get("color"))))
        self.marks.append(Mark("line", middle, look))

    def observe(self, value: float, at: float, *, size: float = 4.5, **look: Unpack[Look]) -> None:
        """Add what was observed on one task, which a claim summarizes, as a faint dot."""
        look["style"] = _restyle(look, "faint")
        self.marks.append(Mark("dot", [self._point(value, at)], look, size))

    def quote(self, points: Sequence[tuple[float, Published]], **look: Unpack[Look]) -> None:
        """Add a gray line through published figures, or a dot for a single one."""
        look["style"] = _restyle(look, "gray")
        positions = [self._point(rate.value, at) for at, rate in points]
        self.marks.append(Mark("line" if positions[1:] else "dot", positions, look, 4.5))

    def _add(self, mark: Mark) -> None:
        if any(isinstance(axis, Axis) and axis.unit in _CLAIMS for axis in (self.x, self.y)):
            raise TypeError(f"figure {self.name}: an axis of rates or differences shows claims, not plain numbers")
        self.marks.append(mark)

    def _point(self, value: float, at: float) -> Point:
        """Return the point of a value on the axis of rates or differences."""
        if isinstance(self.y, Axis) and self.y.unit in _CLAIMS:
            return at, value
        if self.x.unit not in _CLAIMS:
            raise TypeError(f"figure {self.name} has no axis of rates or differences")
        return value, at

    def text(
        self, x: float, y: float, words: str, *, anchor: Anchor = "start", shift: Point = (0, 4), **look: Unpack[Look]
    ) -> None:
        """Add words at a point, shifted by pixels to the right and down."""
        self.marks.append(Mark("text", [(x, y)], look, words=words, anchor=anchor, shift=shift))

    def rule(self, *, x: float | None = None, y: float | None = None, label: str = "", style: str = "") -> None:
        """Add a line across the whole figure at an x or a y, such as a threshold."""
        look = Look(style=style or "muted dashed thin")
        if x is not None:
            self.marks.append(Mark("rule-x", [(x, 0.0)], look, words=label))
        if y is not None:
            self.marks.append(Mark("rule-y", [(0.0, y)], look, words=label))

    def probe(self, low: float, high: float, words: str) -> None:
        """Add lines of words that are shown while the pointer is between two x, at any height."""
        self.marks.append(Mark("probe", [(low, 0.0), (high, 0.0)], Look(hover=words)))

    def to_svg(self) -> str:
        """Return the figure as an SVG file, for light and dark backgrounds."""
        style = STYLESHEET.read_text(encoding="utf-8")
        light, dark = (re.sub(r"light-dark\((.*?), (.*?)\)", chosen, style) for chosen in (r"\1", r"\2"))
        return _Drawing(self).draw(f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n")

    def to_png(self) -> bytes:
        """Return the figure as PNG on white, at twice its size."""
        from resvg_py import svg_to_bytes

        probes = (Figure("probe", "", Axis(ticks=()), Rows([label])).to_svg() for label in ("", "x"))
        if len({bytes(svg_to_bytes(svg_string=probe)) for probe in probes}) == 1:
            raise AssayError("This machine has no font for figures as PNG; install Liberation Sans or DejaVu Sans")
        return bytes(svg_to_bytes(svg_string=self.to_svg(), background="#ffffff", zoom=2))

    def __html__(self) -> str:
        """Return the figure for a page that has the stylesheet."""
        return _Drawing(self).draw()

    def _repr_html_(self) -> str:
        return self.to_svg()


def _keep(points: Sequence[Point]) -> list[Point]:
    corners = [corner for before, after in pairwise(points) for corner in (before, (after[0], before[1]))]
    return [*corners, *points[-1:]]


def _restyle(look: Look, style: str) -> str:
    return f"{look.get('style', '')} {style}".strip()


class _Drawing:
    """A figure with everything at its position in pixels."""

    def __init__(self, figure: Figure) -> None:
        self._figure, self._parts = figure, list[str]()
        self._x = figure.x.fit(x for mark in figure.marks if mark.kind != "rule-y" for x, _ in mark.points)
        self._y: Axis | Rows = figure.y
        if isinstance(figure.y, Rows):
            named = (name for row, name in enumerate(figure.y.labels) if row not in figure.y.headings)
            labels = [line for name in named for line in _wrap(name)]
            notes = max((_width(note) + 16 for note in figure.y.notes), default=0.0)
            above, height = 0.0, figure.y.height * len(figure.y.labels)
        else:
            values = (y for mark in figure.marks if mark.kind not in ("rule-x", "probe") for _, y in mark.points)
            self._y = figure.y.fit(values, max(min(figure.height // 24, 6), 2))
            labels = [figure.y.label(tick) for tick in self._y.ticks or ()]
            notes, above, height = 0.0, 2 * _LINE if figure.y.title else 0.0, figure.height
        self._left = max([figure.pad, *(_width(label) + 12 for label in labels if label)])
        edge = max([figure.pad, *(_width(figure.x.label(tick)) / 2 + 4 for tick in self._x.ticks or ())])
        self._right = figure.width - max(edge, notes)
        self._keys = _place_keys(figure.legend, figure.width - self._left)
        self._labels = self._place_labels()
        above += 1.5 * _LINE * (1 + max((line for _, line, _ in self._keys), default=-1))
        self._top = figure.pad + above + _LINE * (1 + max((line for _, line, _ in self._labels), default=-1))
        self._bottom = self._top + height
        below = (_TICKS if self._x.ticks else 0) + (_TICKS if figure.x.title else 0)
        self._height = self._bottom + max(figure.pad, below + 4)

    def draw(self, style: str | None = None) -> str:
        """Return the SVG, with a style if it is to be a file."""
        figure = self._figure
        self._draw_axes()
        for middle, line, words in self._labels:
            self._text(middle, self._top - 4 - _LINE * line, words, "middle", "fig-muted")
        for mark in figure.marks:
            self._draw_mark(mark)
        for x, line, key in self._keys:
            left, y = self._left + x, figure.pad + 4 + 1.5 * _LINE * line
            self._parts.append(_line(_classes("line", key.color, key.style), left, y, left + 18, y))
            self._text(left + 24, y + 4, key.label)
        role = "group" if any("link" in mark.look for mark in figure.marks) else "img"
        named = f'role="{role}" aria-label="{_clean(figure.title)}"' if figure.title else 'aria-hidden="true"'
        width, height = figure.width, _number(self._height)
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        space, sheet = (' xmlns="http://www.w3.org/2000/svg"', f"<style>{style}</style>") if style else ("", "")
        return f'<svg{space} class="fig fig-{_clean(figure.name)}" {size} {named}>{sheet}{"".join(self._parts)}</svg>'

    def _at(self, point: Point) -> Point:
        x, y = point
        if isinstance(self._y, Rows):
            return self._across(x), self._top + (y + 0.5) * self._y.height
        return self._across(x), self._bottom - (self._bottom - self._top) * self._y.share(y)

    def _across(self, x: float) -> float:
        return self._left + (self._right - self._left) * self._x.share(x)

    def _draw_axes(self) -> None:
        free = -math.inf
        for tick in sorted(self._x.ticks or (), key=self._x.share):
            x, label = self._across(tick), self._x.label(tick)
            if x - _width(label) / 2 < free:
                continue
            free = x + _width(label) / 2 + 6
            if isinstance(self._y, Rows):
                self._parts.append(_line("fig-grid", x, self._top, x, self._bottom))
            self._text(x, self._bottom + _TICKS - 3, label, "middle", "fig-muted")
        below = self._bottom + (_TICKS if self._x.ticks else 0) + _TICKS - 4
        self._text((self._left + self._right) / 2, below, self._x.title, "middle", "fig-muted")
        if isinstance(self._y, Rows):
            self._draw_rows(self._y)
            return
        for tick in self._y.ticks or ():
            _, y = self._at((0.0, tick))
            self._parts.append(_line("fig-grid", self._left, y, self._right, y))
            self._text(self._left - 8, y + 4, self._y.label(tick), "end", "fig-muted")
        self._text(0, self._top - 14, self._y.title, "start", "fig-muted")

    def _draw_rows(self, rows: Rows) -> None:
        for row, name in enumerate(rows.labels):
            y = self._top + (row + 0.5) * rows.height + 4
            if row in rows.headings:
                self._text(0, y + 2, one_line(name, self._figure.width // 7), "start", "fig-strong")
                continue
            lines = _wrap(name)
            for number, line in enumerate(lines):
                self._text(self._left - 12, y + 12 * (number - (len(lines) - 1) / 2), line, "end")
        for row, note in enumerate(rows.notes):
            self._text(self._right + 14, self._top + (row + 0.5) * rows.height + 4, note, "start", "fig-muted")

    def _place_labels(self) -> list[tuple[float, int, str]]:
        """Return the middle of each rule's label, and on which line above the figure it covers no other."""
        placed, ends = list[tuple[float, int, str]](), list[float]()
        rules = [mark for mark in self._figure.marks if mark.kind == "rule-x" and mark.words]
        for mark in sorted(rules, key=lambda mark: self._x.share(mark.points[0][0])):
            half = _width(mark.words) / 2
            middle = max(min(self._across(mark.points[0][0]), self._figure.width - half), half)
            line = next((line for line, end in enumerate(ends) if end < middle - half), len(ends))
            ends[line : line + 1] = [middle + half + 4]
            placed.append((middle, line, mark.words))
        return placed

    def _draw_mark(self, mark: Mark) -> None:
        points = [self._at(point) for point in mark.points]
        x, y = points[0] if points else (0.0, 0.0)
        color, style, hover = mark.look.get("color"), mark.look.get("style", ""), mark.look.get("hover")
        title = f"<title>{'&#10;'.join(map(_clean, hover.splitlines()))}</title>" if hover else ""
        match mark.kind:
            case "dot":
                classes = _classes("" if "hollow" in style else "fill", color, style)
                part = _element("circle", classes, title, cx=x, cy=y, r=mark.size)
                part += _text(x, y + 3, mark.words, "middle", "fig-label", title) if mark.words else ""
            case "tick":
                part = _line(_classes("line", color, style), x, y - mark.size, x, y + mark.size, title)
            case "line" | "band":
                tag = "polyline" if mark.kind == "line" else "polygon"
                along = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
                part = f'<{tag} class="{_classes(mark.kind, color, style)}" points="{along}">{title}</{tag}>'
            case "cell":
                (left, right), (top, bottom) = (sorted(ends) for ends in zip(*points, strict=True))
                size = {"x": left, "y": top, "width": right - left, "height": bottom - top, "fill-opacity": mark.size}
                part = _element("rect", _classes("fill", color, style), title, **size)
            case "probe":
                size = {"x": x, "y": self._top, "width": points[1][0] - x, "height": self._bottom - self._top}
                part = _element("rect", "fig-probe", title, **size)
            case "text":
                right, down = mark.shift
                part = _text(x + right, y + down, mark.words, mark.anchor, _classes("", color, style), title)
            case "rule-x":
                part = _line(_classes("line", color, style), x, self._top, x, self._bottom)
            case "rule-y":
                part = _line(_classes("line", color, style), self._left, y, self._right, y)
                self._text(self._right, y - 5, mark.words, "end", "fig-muted fig-small")
            case _:
                assert_never(mark.kind)
        link = mark.look.get("link")
        self._parts.append(f'<a href="{_clean(link)}">{part}</a>' if link else part)

    def _text(self, x: float, y: float, words: str, anchor: Anchor = "start", classes: str = "") -> None:
        if words:
            self._parts.append(_text(x, y, words, anchor, classes))


def _place_keys(keys: Sequence[Key], width: float) -> list[tuple[float, int, Key]]:
    """Return where each entry of the legend is, and on which line."""
    placed, x, line = list[tuple[float, int, Key]](), 0.0, 0
    for key in keys:
        needed = 24 + _width(key.label) + 18
        if x and x + needed > width:
            x, line = 0.0, line + 1
        placed.append((x, line, key))
        x += needed
    return placed


def _classes(kind: str, color: int | None, style: str) -> str:
    hue = [] if color is None else [f"c{color % COLORS}"]
    return " ".join([*(f"fig-{name}" for name in (kind, *style.split()) if name), *hue])


def _wrap(label: str) -> list[str]:
    """Return a name shortened to fit beside a figure, on two lines where it is long."""
    lines = textwrap.wrap(one_line(label, 2 * _MAX_LABEL), _MAX_LABEL) or [""]
    return lines if len(lines) <= 2 else [lines[0], one_line(" ".join(lines[1:]), _MAX_LABEL)]


def _width(text: str) -> float:
    return _CHARACTER * (len(text) + 0.5 * sum(map(text.count, "mwMW%+−")))


def _text(x: float, y: float, words: str, anchor: Anchor, classes: str, title: str = "") -> str:
    kind, side = f' class="{classes}"' if classes else "", f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{side}{kind}>{_clean(words)}{title}</text>'


def _line(classes: str, x1: float, y1: float, x2: float, y2: float, title: str = "") -> str:
    return _element("line", classes, title, x1=x1, y1=y1, x2=x2, y2=y2)


def _element(tag: str, classes: str, content: str, **attributes: float) -> str:
    written = " ".join(f'{name}="{_number(value)}"' for name, value in attributes.items())
    return f'<{tag} class="{classes}" {written}>{content}</{tag}>'


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _clean(text: str) -> str:
    return escape(one_line(text))
