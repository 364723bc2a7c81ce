"""Results as figures: standalone SVG, drawn without network or browser."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from assay.results import wording
from assay.results.chart_style import (
    INK,
    MUTED,
    PANEL,
    Palette,
    Row,
    Scale,
    agent_colors,
    chart,
    chart_label,
    color_encoding,
    improvement_scale,
    plot_width,
    require_altair,
    score_scale,
    to_svg,
    x_encoding,
    y_encoding,
)
from assay.results.outcome import Outcome
from assay.results.statistics import Cell, Estimate, Standing, group_by, summarize_cells
from assay.tasks.model import Measured

if TYPE_CHECKING:
    import altair as alt

__all__ = ["agent_colors", "draw_improvements", "draw_scores", "draw_success"]

_ROW = 26
_PERCENT = "replace(datum.label, '%', ' %')"
_ASIDE: dict[str, Any] = {"color": MUTED, "fontStyle": "italic", "baseline": "middle"}


def draw_scores(outcomes: Sequence[Outcome], measured: Measured | None, palette: Palette) -> str:
    """Draw the trials of one task on its score axis, better to the right, with reference solutions and the starter.

    All outcomes have the same task and rules; a panel of another edition or variant is not shown.
    """
    require_altair()
    import altair as alt

    first, made = outcomes[0], summarize_cells(outcomes)
    panel = [one.score for one in measured.panel] if measured is not None and _comparable(measured, first) else []
    baseline = next((one.grade.baseline for one in outcomes if one.grade and one.grade.baseline is not None), None)
    trials: list[Row] = [
        {"row": chart_label(one.agent), "score": one.score} for one in outcomes if one.score is not None
    ]
    means = _means((cell.agent, cell.score) for cell in made)
    starter = [] if baseline is None else [baseline]

    scale = score_scale([*starter, *_ends(means), *(float(row["score"]) for row in trials)], panel, first.direction)
    shown = [score for score in panel if scale.contains(score)]
    panel_row = f"panel of {len(panel)}"
    off_scale: list[Row] = [{"row": panel_row, "text": f"◂ {len(panel) - len(shown)}"}] if shown != panel else []
    words = f"{first.metric}, {first.direction} is better{', log scale' if scale.kind == 'log' else ''}  →"

    def x(field: str) -> "alt.X":
        return x_encoding(field, scale, wording.one_line(words), format="~g")

    rows = [*([panel_row] if panel else []), *(chart_label(cell.agent) for cell in made)]
    y, hue, width = y_encoding(rows, palette), color_encoding(palette), plot_width(palette)
    aside = (
        width / 2 + 20 if baseline is not None and scale.position(baseline) < 0.5 else 8
    )  # clear of the line of the starter
    line = chart([{"score": score, "text": f"starter {wording.format_number(score)}"} for score in starter])
    layers = [
        line.mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x=x("score")),
        line.mark_text(color=MUTED, dy=-7, fontSize=10).encode(x=x("score"), y=alt.value(0), text="text:N"),
        chart([{"row": panel_row, "score": score} for score in shown])
        .mark_tick(color=PANEL, thickness=2, size=15)
        .encode(x=x("score"), y=y),
        chart(off_scale).mark_text(color=MUTED, align="left").encode(x=alt.value(1), y=y, text="text:N"),
        chart(trials).mark_circle(size=55, opacity=0.4).encode(x=x("score"), y=y, color=hue),
        chart(means).mark_rule(strokeWidth=2).encode(x=x("from"), x2="to:Q", y=y, color=hue),
        chart(means).mark_tick(thickness=3, size=16).encode(x=x("mean"), y=y, color=hue),
        chart(
            [
                {"row": chart_label(cell.agent), "text": wording.format_cell_score(cell)}
                for cell in made
                if cell.score is None
            ]
        )
        .mark_text(**_ASIDE, align="left")
        .encode(x=alt.value(aside), y=y, text="text:N"),
    ]
    return to_svg(alt.layer(*layers).properties(width=width, height=_ROW * len(rows)))


def draw_improvements(made: Sequence[Cell], palette: Palette) -> str | None:
    """Draw the mean improvement over the starter by task and agent, with standard errors; None if there is none."""
    require_altair()
    import altair as alt

    tasks = [task for task in group_by(made, lambda c: c.task) if any(cell.improvement for cell in task)]
    if not tasks:
        return None
    scale = improvement_scale(_ends(_means((cell.agent, cell.improvement) for cell in made)))
    drawn = [_improvement_bars(task, scale, palette, axis=task is tasks[-1]) for task in tasks]
    return to_svg(alt.vconcat(*drawn, spacing=12))


def draw_success(lines: Sequence[Standing], palette: Palette) -> str | None:
    """Draw the success rate of each agent with its 95 % interval; None where success is not defined."""
    require_altair()
    import altair as alt

    rates: list[Row] = [
        {
            "row": chart_label(line.agent),
            "rate": rate.value,
            "from": rate.low,
            "to": rate.high,
            "text": f"{wording.format_percent(rate.value)}, {wording.format_count(rate)}",
        }
        for line in lines
        if (rate := line.success) is not None
    ]
    if not rates:
        return None

    def x(field: str) -> "alt.X":
        return x_encoding(
            field,
            Scale("linear", 0, 1, ticks=(0, 0.25, 0.5, 0.75, 1)),
            "success rate",
            format=".0%",
            labelExpr=_PERCENT,
        )

    rows = [str(row["row"]) for row in rates]
    y, hue, end = y_encoding(rows, palette), color_encoding(palette), plot_width(palette) - 105
    band = chart(rates).mark_rule(strokeWidth=7, opacity=0.35)
    layers = [
        band.encode(x=x("from"), x2="to:Q", y=y, color=hue),
        chart(rates).mark_circle(size=90, opacity=1).encode(x=x("rate"), y=y, color=hue),
        chart(rates).mark_text(color=INK, align="left").encode(x=alt.value(end + 14), y=y, text="text:N"),
    ]
    return to_svg(alt.layer(*layers).properties(width=end, height=_ROW * len(rows)))


def _improvement_bars(
    task: Sequence[Cell], scale: Scale, palette: Palette, *, axis: bool
) -> "alt.LayerChart | alt.FacetChart":
    import altair as alt

    means = _means((cell.agent, cell.improvement) for cell in task)
    labels: list[Row] = [
        {"row": row["row"], "at": max(float(row["to"]), 0.0), "text": wording.format_change(float(row["mean"]))}
        for row in means
    ]
    without = [cell for cell in task if cell.improvement is None]
    absent: list[Row] = [
        {"row": chart_label(c.agent), "at": 0.0, "text": wording.format_cell_score(c)} for c in without
    ]

    def x(field: str) -> "alt.X":
        title = "improvement over the starter" if axis else None
        return x_encoding(field, scale, title, format="+,.0%", labelExpr=_PERCENT, labels=axis, ticks=axis, domain=axis)

    y = y_encoding([chart_label(cell.agent) for cell in task], palette)
    layers = [
        chart([{"zero": 0.0}]).mark_rule(color=MUTED).encode(x=x("zero")),
        chart(means).mark_bar(size=13).encode(x=x("mean"), y=y, color=color_encoding(palette)),
        chart(means).mark_rule(color=INK, strokeWidth=1.5).encode(x=x("from"), x2="to:Q", y=y),
        chart(labels).mark_text(color=INK, align="left", dx=6).encode(x=x("at"), y=y, text="text:N"),
        chart(absent).mark_text(**_ASIDE, align="left", dx=6).encode(x=x("at"), y=y, text="text:N"),
    ]
    title = alt.Title(chart_label(task[0].title), anchor="start", frame="bounds", fontSize=12, color=INK, offset=6)
    return alt.layer(*layers).properties(width=plot_width(palette), height=22 * len(task), title=title)


def _means(found: Iterable[tuple[str, Estimate | None]]) -> list[Row]:
    """Return a row per agent with a mean, and the ends of its standard error, which a single trial does not have."""
    rows: list[Row] = []
    for agent, one in found:
        if one is not None:
            error = one.error or 0.0
            rows.append({"row": chart_label(agent), "mean": one.mean, "from": one.mean - error, "to": one.mean + error})
    return rows


def _notes(cells: Iterable[Cell]) -> list[Row]:
    """Return a row per agent that says why it has no score."""
    return [{"row": chart_label(cell.agent), "text": wording.format_cell_score(cell)} for cell in cells]


def _ends(means: Sequence[Row]) -> list[float]:
    return [float(row[end]) for row in means for end in ("from", "to")]


def _comparable(measured: Measured, outcome: Outcome) -> bool:
    return measured.edition == outcome.edition and outcome.variant == "real"
