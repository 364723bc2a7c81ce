"""What all figures share: colors, scales, rows of agents, and rendering to SVG."""

import importlib.util
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING, Any, Literal

from assay.core.errors import MissingDependency
from assay.results import wording
from assay.results.outcome import Outcome

if TYPE_CHECKING:
    import altair as alt

Palette = Mapping[str, str]
Row = dict[str, str | float]
Direction = Literal["higher", "lower"]

INK, MUTED, GRID, PANEL = "#24292f", "#667080", "#e3e6ea", "#a9b1bb"

AGENTS = ("#0072b2", "#d55e00", "#009e73", "#b5569b", "#3d9bd6", "#c28a00", "#6b7078", "#8c7a12")
"""Distinguishable by color-blind readers too, by lightness if not by hue (after Okabe and Ito)."""

_AGENTS_DARK = ("#4ea8e0", "#f2884b", "#35bf95", "#db93c3", "#a3d8f7", "#f0bd4a", "#a9b0ba", "#d3c65c")
DARK = {INK: "#e6e9ed", MUTED: "#98a1ad", GRID: "#2f353d", PANEL: "#6d7682"} | dict(
    zip(AGENTS, _AGENTS_DARK, strict=True)
)
"""The dark-mode color for each color: a stylesheet swaps them by attribute, so figures stay plain SVG."""

_WIDTH = 490
_LABEL_LENGTH = 30
_WHITE = '<rect width="100%" height="100%" fill="#ffffff"/>'


@dataclass(frozen=True)
class Scale:
    """A horizontal scale; without `ticks`, the drawing library chooses them."""

    kind: Literal["linear", "log", "symlog"]
    low: float
    high: float
    ticks: tuple[float, ...] | None = None
    reverse: bool = False

    def contains(self, value: float) -> bool:
        """Whether `value` is within the scale."""
        return self.low <= value <= self.high

    def position(self, value: float) -> float:
        """Return the position of `value` between the left end (0) and the right end (1)."""
        transform = math.log if self.kind == "log" else float
        share = (transform(value) - transform(self.low)) / (transform(self.high) - transform(self.low))
        return 1 - share if self.reverse else share


def agent_colors(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Return a color for each agent, the same in every figure."""
    agents = dict.fromkeys(outcome.agent for outcome in outcomes)
    return {agent: AGENTS[index % len(AGENTS)] for index, agent in enumerate(agents)}


def score_scale(needed: Sequence[float], panel: Sequence[float], direction: Direction) -> Scale:
    """Return a scale, better to the right, for all `needed` values and the panel without its poor outliers.

    An outlier is further from the worse quartile than 1.5 times the interquartile range. The scale is logarithmic if
    the values span more than a factor of twenty and exceed 1, like speed-ups.
    """
    values = [*needed, *panel] or [0.0, 1.0]
    log = min(values) > 0 and max(values) > 1 and max(values) / min(values) > 20
    transform, inverse = (math.log, math.exp) if log else (float, float)
    shown = [transform(value) for value in panel]
    if len(shown) > 3:
        lower, _, upper = quantiles(shown)
        reach = 1.5 * (upper - lower)
        if direction == "higher":
            shown = [value for value in shown if value >= lower - reach]
        else:
            shown = [value for value in shown if value <= upper + reach]
    shown = [*map(transform, needed), *shown] or [0.0, 1.0]
    margin = 0.06 * (max(shown) - min(shown)) or 0.1 * abs(max(shown)) or 1.0
    ticks = tuple(digit * 10.0**power for power in range(-6, 9) for digit in (1, 2, 5)) if log else None
    low, high = inverse(min(shown) - margin), inverse(max(shown) + margin)
    return Scale("log" if log else "linear", low, high, ticks, reverse=direction == "lower")


def improvement_scale(values: Sequence[float]) -> Scale:
    """Return a scale with zero and room for labels; symmetric-logarithmic where improvements exceed 100%."""
    low, high = min(*values, 0.0, 0.0), max(*values, 0.0, 0.0)
    if max(high, -low) > 1:
        ticks = (0.0, *(sign * 10.0**power for power in range(-1, 7) for sign in (-1, 1)))
        return Scale("symlog", low * 1.3 - 0.01, high * 4 + 0.5, ticks)
    span = high - low or 0.1
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if span / step <= 6)
    ticks = tuple(round(n * step, 2) for n in range(math.floor(low / step), math.ceil(high / step) + 1))
    return Scale("linear", low - 0.06 * span, high + 0.2 * span, ticks)


def x_encoding(field: str, scale: Scale, title: str | None, **axis: Any) -> "alt.X":
    """Return the horizontal position of a mark; all layers of a figure get the same scale and title."""
    import altair as alt

    if scale.ticks is None:
        axis["tickCount"] = 5
    else:
        axis |= {"values": [tick for tick in scale.ticks if scale.contains(tick)], "labelOverlap": True}
    drawn = alt.Scale(type=scale.kind, domain=[scale.low, scale.high], nice=False, reverse=scale.reverse)
    if scale.kind == "symlog":
        drawn.constant = 0.1
    return alt.X(f"{field}:Q", scale=drawn, axis=alt.Axis(title=title, **axis))


def label_width(palette: Palette) -> int:
    """Return the width of the agent names at the left, the same in every figure so that they align."""
    longest = max((len(line) for agent in palette for line in chart_label(agent).split("\n")), default=0)
    return min(max(round(6.2 * longest), 70), 190) + 25


def plot_width(palette: Palette) -> int:
    """Return the width of a figure without the names."""
    return _WIDTH - label_width(palette)


def y_encoding(rows: Sequence[str], palette: Palette) -> "alt.Y":
    """Return the row of a mark, with its name at the left."""
    import altair as alt

    width = label_width(palette)
    extent: dict[str, Any] = {"minExtent": width, "maxExtent": width, "labelLimit": width - 25}
    lines: dict[str, Any] = {"labelExpr": "split(datum.label, '\\n')", "labelLineHeight": 11}
    axis = alt.Axis(title=None, ticks=False, domain=False, grid=False, **extent, **lines)
    return alt.Y("row:N", scale=alt.Scale(domain=list(rows)), axis=axis)


def color_encoding(palette: Palette) -> "alt.Color":
    """Return the color of the agent of a row."""
    import altair as alt

    scale = alt.Scale(domain=[chart_label(agent) for agent in palette], range=list(palette.values()))
    return alt.Color("row:N", scale=scale, legend=None)


def chart(rows: Sequence[Row]) -> "alt.Chart":
    """Return a chart with the data of a layer."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(rows)))


def chart_label(text: str) -> str:
    """Return a name shortened to fit a figure, on two lines where it is long."""
    lines = textwrap.wrap(wording.one_line(text, 2 * _LABEL_LENGTH), _LABEL_LENGTH) or [""]
    return "\n".join(lines if len(lines) <= 2 else [lines[0], wording.one_line(" ".join(lines[1:]), _LABEL_LENGTH)])


def require_altair() -> None:
    """Raise an error that says what to install if figures cannot be drawn."""
    for part in ("altair", "vl_convert"):
        if importlib.util.find_spec(part) is None:
            raise MissingDependency("The HTML report", "web")


@contextmanager
def skip_schema_checks() -> Iterator[None]:
    """Draw without checking every part of a chart against the schema of Vega-Lite, which takes a third of the time."""
    require_altair()
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        yield


def to_png(svg: str) -> bytes:
    """Return a figure as PNG on white, at twice its size."""
    import vl_convert

    start = svg.index(">", svg.index("<svg")) + 1
    return bytes(vl_convert.svg_to_png(svg[:start] + _WHITE + svg[start:], scale=2))


_STYLE: dict[str, Any] = {
    "font": "sans-serif",
    "background": "transparent",
    "aria": False,
    "padding": 4,
    "axis": {
        "tickColor": GRID,
        "domainColor": GRID,
        "gridColor": GRID,
        "labelColor": INK,
        "titleColor": MUTED,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelPadding": 6,
    },
    "view": {"stroke": None},
    "legend": {"labelColor": INK, "symbolStrokeColor": INK, "labelFontSize": 11},
    "text": {"fontSize": 11},
}


def to_svg(drawing: "alt.LayerChart | alt.FacetChart | alt.VConcatChart") -> str:
    """Return a drawing as SVG text, with nothing to download and the fonts of the reader's system."""
    import vl_convert
    from altair.utils import update_nested

    spec = drawing.to_dict(validate=False)
    # Each method `configure_…` of Altair would copy the whole drawing.
    spec["config"] = update_nested(spec["config"], _STYLE, copy=True)
    return str(vl_convert.vegalite_to_svg(spec))
