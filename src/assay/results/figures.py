"""Results as figures: each a standalone SVG, drawn without a network and without a browser."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from assay.errors import AssayError
from assay.results import wording
from assay.results.outcome import Outcome
from assay.results.statistics import Cell, Estimate, Standing, cells, grouped
from assay.tasks.model import Measured

if TYPE_CHECKING:
    import altair as alt

Colours = Mapping[str, str]
Row = dict[str, str | float]

INK, MUTED, GRID, PANEL = "#24292f", "#667080", "#e3e6ea", "#a9b1bb"
AGENTS = ("#0072b2", "#d55e00", "#009e73", "#b5569b", "#3d9bd6", "#c28a00", "#6b7078", "#8c7a12")
"""Told apart by colour-blind readers too, by lightness where not by hue (after Okabe and Ito)."""

DARK = {
    **{INK: "#e6e9ed", MUTED: "#98a1ad", GRID: "#2f353d", PANEL: "#6d7682"},
    **dict(zip(AGENTS, ("#4ea8e0", "#f2884b", "#35bf95", "#db93c3", "#a3d8f7", "#f0bd4a", "#a9b0ba", "#d3c65c"), strict=True)),
}
"""What stands for each colour on a dark page; a stylesheet swaps them by attribute, so figures stay plain SVG."""

WIDTH = 380
ROW = 26
LABELS = 110


def colours(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """A colour for each agent, the same in every figure."""
    agents = dict.fromkeys(outcome.agent for outcome in outcomes)
    return {agent: AGENTS[place % len(AGENTS)] for place, agent in enumerate(agents)}


def strip(outcomes: Sequence[Outcome], measured: Measured | None, palette: Colours) -> str:
    """One task's trials on its score axis, better to the right, with the panel's solutions and the starter's baseline.

    All outcomes are of one task and one set of rules; a panel of another edition or of other data is not shown.
    """
    alt = _altair()
    first = outcomes[0]
    panel = [] if measured is None or not _comparable(measured, first) else [one.score for one in measured.panel]
    baseline = next((one.grade.baseline for one in outcomes if one.grade and one.grade.baseline is not None), None)
    made = cells(outcomes)
    trials: list[Row] = [{"agent": _name(one.agent), "score": one.score} for one in outcomes if one.score is not None]
    means = [_mean_row(cell.agent, cell.score) for cell in made if cell.score is not None]
    absent: list[Row] = [{"agent": _name(cell.agent), "text": wording.cell_score(cell)} for cell in made if cell.score is None]
    shown = [*panel, *([] if baseline is None else [baseline]), *(float(row["score"]) for row in trials)]
    shown += [float(row[end]) for row in means for end in ("from", "to")]
    reference = wording.counted(len(panel), "solution")
    rows = [*([reference] if panel else []), *(_name(cell.agent) for cell in made)]
    kind, domain = _scale(shown)
    words = f"{first.metric}, {first.direction} is better{', log scale' if kind == 'log' else ''}  →"
    x = alt.X(
        "score:Q",
        scale=alt.Scale(type=kind, domain=domain, nice=False, reverse=first.direction == "lower"),
        axis=alt.Axis(title=wording.plain(words), tickCount=5, format="~g" if kind == "log" else "~r"),
    )
    y = alt.Y("agent:N", scale=alt.Scale(domain=rows), axis=_row_axis())
    colour = _colour(palette)
    layers = [
        alt.Chart(_data([{"agent": reference, "score": score} for score in panel]))
        .mark_tick(color=PANEL, thickness=2, size=15)
        .encode(x=x, y=y),
        alt.Chart(_data([{"score": baseline}] if baseline is not None else []))
        .mark_rule(color=MUTED, strokeDash=[4, 3])
        .encode(x=x),
        alt.Chart(_data(means)).mark_rule(strokeWidth=2.5).encode(x=x.copy().field("from"), x2="to:Q", y=y, color=colour)
        if False
        else alt.Chart(_data(means)).mark_rule(strokeWidth=2.5).encode(x=alt.X("from:Q"), x2="to:Q", y=y, color=colour),
        alt.Chart(_data(trials)).mark_circle(size=60, opacity=0.45).encode(x=x, y=y, color=colour),
        alt.Chart(_data(means)).mark_tick(thickness=3, size=17).encode(x=x, y=y, color=colour),
        alt.Chart(_data(absent))
        .mark_text(color=MUTED, fontStyle="italic", align="left", baseline="middle")
        .encode(x=alt.value(8), y=y, text="text:N"),
    ]
    return _svg(alt.layer(*layers).properties(width=WIDTH, height=ROW * len(rows)))
