"""What every figure shares: colours, scales, rows of agents, and the way to SVG."""

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING, Any, Literal

from assay.core.errors import AssayError
from assay.results import wording
from assay.results.outcome import Outcome

if TYPE_CHECKING:
    import altair as alt

Colours = Mapping[str, str]
Row = dict[str, str | float]
Direction = Literal["higher", "lower"]

INK, MUTED, GRID, PANEL = "#24292f", "#667080", "#e3e6ea", "#a9b1bb"

AGENTS = ("#0072b2", "#d55e00", "#009e73", "#b5569b", "#3d9bd6", "#c28a00", "#6b7078", "#8c7a12")
"""Told apart by colour-blind readers too, by lightness where not by hue (after Okabe and Ito)."""

_AGENTS_DARK = ("#4ea8e0", "#f2884b", "#35bf95", "#db93c3", "#a3d8f7", "#f0bd4a", "#a9b0ba", "#d3c65c")
DARK = {INK: "#e6e9ed", MUTED: "#98a1ad", GRID: "#2f353d", PANEL: "#6d7682"} | dict(
    zip(AGENTS, _AGENTS_DARK, strict=True)
)
"""What stands for each colour on a dark page: a stylesheet swaps them by attribute, so figures stay plain SVG."""

_WIDTH = 490


@dataclass(frozen=True)
class Scale:
    """A horizontal scale; without `ticks` the drawing library chooses them."""

    kind: Literal["linear", "log", "symlog"]
    low: float
    high: float
    ticks: tuple[float, ...] | None = None
    reverse: bool = False

    def holds(self, value: float) -> bool:
        """Whether `value` lies on it."""
        return self.low <= value <= self.high

    def place(self, value: float) -> float:
        """Where `value` lies between the left end, 0, and the right end, 1."""
        bend = math.log if self.kind == "log" else float
        share = (bend(value) - bend(self.low)) / (bend(self.high) - bend(self.low))
        return 1 - share if self.reverse else share


def colours(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """A colour for each agent, the same in every figure."""
    agents = dict.fromkeys(outcome.agent for outcome in outcomes)
    return {agent: AGENTS[place % len(AGENTS)] for place, agent in enumerate(agents)}


def score_scale(needed: Sequence[float], panel: Sequence[float], direction: Direction) -> Scale:
    """A scale, better to the right, that holds all needed values and the panel but for its poor outliers.

    An outlier is further from the worse quartile than 1.5 times the distance of the quartiles. The scale is logarithmic
    where the values span more than a factor of twenty and exceed 1, as speed-ups do.
    """
    values = [*needed, *panel] or [0.0, 1.0]
    log = min(values) > 0 and max(values) > 1 and max(values) / min(values) > 20
    bend, unbend = (math.log, math.exp) if log else (float, float)
    held = [bend(value) for value in panel]
    if len(held) > 3:
        lower, _, upper = quantiles(held)
        reach = 1.5 * (upper - lower)
        held = [v for v in held if (v >= lower - reach if direction == "higher" else v <= upper + reach)]
    held = [*map(bend, needed), *held] or [0.0, 1.0]
    air = 0.06 * (max(held) - min(held)) or 0.1 * abs(max(held)) or 1.0
    ticks = tuple(digit * 10.0**power for power in range(-6, 9) for digit in (1, 2, 5)) if log else None
    low, high = unbend(min(held) - air), unbend(max(held) + air)
    return Scale("log" if log else "linear", low, high, ticks, reverse=direction == "lower")


def improvement_scale(values: Sequence[float]) -> Scale:
    """A scale with zero on it and room for labels; it bends where 10 % and 50 times must both be seen."""
    low, high = min(*values, 0.0, 0.0), max(*values, 0.0, 0.0)
    if max(high, -low) > 1:
        ticks = (0.0, *(sign * 10.0**power for power in range(-1, 7) for sign in (-1, 1)))
        return Scale("symlog", low * 1.3 - 0.01, high * 4 + 0.5, ticks)
    span = high - low or 0.1
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if span / step <= 6)
    ticks = tuple(round(n * step, 2) for n in range(math.floor(low / step), math.ceil(high / step) + 1))
    return Scale("linear", low - 0.06 * span, high + 0.2 * span, ticks)


def across(field: str, scale: Scale, title: str | None, **axis: Any) -> "alt.X":
    """The horizontal place of a mark; every layer of a figure is given the same scale and title."""
    import altair as alt

    if scale.ticks is None:
        axis["tickCount"] = 5
    else:
        axis |= {"values": [tick for tick in scale.ticks if scale.holds(tick)], "labelOverlap": True}
    drawn = alt.Scale(type=scale.kind, domain=[scale.low, scale.high], nice=False, reverse=scale.reverse)
    if scale.kind == "symlog":
        drawn.constant = 0.1
    return alt.X(f"{field}:Q", scale=drawn, axis=alt.Axis(title=title, **axis))


def label_width(palette: Colours) -> int:
    """Room for the agents' names at the left, the same in every figure so that they line up."""
    longest = max((len(label(agent)) for agent in palette), default=0)
    return min(max(round(6.5 * longest), 70), 170) + 25


def plot_width(palette: Colours) -> int:
    """What the names leave of a figure's width."""
    return _WIDTH - label_width(palette)


def down(rows: Sequence[str], palette: Colours) -> "alt.Y":
    """The row of a mark, with its name at the left."""
    import altair as alt

    width = label_width(palette)
    extent: dict[str, Any] = {"minExtent": width, "maxExtent": width, "labelLimit": width - 25}
    axis = alt.Axis(title=None, ticks=False, domain=False, grid=False, **extent)
    return alt.Y("row:N", scale=alt.Scale(domain=list(rows)), axis=axis)


def colour(palette: Colours) -> "alt.Color":
    """The colour of a row's agent."""
    import altair as alt

    scale = alt.Scale(domain=[label(agent) for agent in palette], range=list(palette.values()))
    return alt.Color("row:N", scale=scale, legend=None)


def chart(rows: Sequence[Row]) -> "alt.Chart":
    """A layer's data."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(rows)))


def label(text: str) -> str:
    """A name that fits a figure."""
    return wording.plain(text, limit=60)


def need_altair() -> None:
    """Say what to install if figures cannot be drawn."""
    for part in ("altair", "vl_convert"):
        if importlib.util.find_spec(part) is None:
            raise AssayError(f'Figures need {part}, which is not installed: pip install "assay[web]"')


def svg(drawing: "alt.LayerChart | alt.FacetChart | alt.VConcatChart") -> str:
    """The drawing as SVG text, with nothing to fetch and fonts left to the reader's system."""
    import vl_convert

    lines: dict[str, Any] = {"tickColor": GRID, "domainColor": GRID, "gridColor": GRID}
    words: dict[str, Any] = {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 11, "titleFontSize": 11}
    styled = (
        drawing.configure(font="sans-serif", background="transparent", aria=False, padding=4)
        .configure_axis(**lines, **words, titleFontWeight="normal", titlePadding=8, labelPadding=6)
        .configure_view(stroke=None)
        .configure_text(fontSize=11)
    )
    return str(vl_convert.vegalite_to_svg(styled.to_dict()))
