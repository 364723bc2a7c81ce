"""Results as figures: standalone SVG, drawn without network or browser."""

from collections.abc import Iterable, Mapping, Sequence
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
from assay.results.estimate import reliable_attempts
from assay.results.outcome import Outcome
from assay.results.statistics import Cell, Estimate, Standing, group_by, summarize_cells
from assay.tasks.model import Measured

if TYPE_CHECKING:
    import altair as alt

__all__ = ["agent_colors", "draw_attempts", "draw_improvements", "draw_scores", "draw_success"]

_ROW = 26
_PERCENT = "replace(datum.label, '%', ' %')"
_ASIDE: dict[str, Any] = {"color": MUTED, "fontStyle": "italic", "baseline": "middle"}


def draw_scores(outcomes: Sequence[Outcome], measured: Measured | None, palette: Palette) -> str | None:
    """Draw the trials of one task on its score axis, better to the right; None if no trial has a score.

    Shown with them are the reference solutions, the starter, and the scores that win medals. All outcomes have the same
    task and rules; a panel of another edition or variant is not shown.
    """
    require_altair()
    import altair as alt

    first, made = outcomes[0], summarize_cells(outcomes)
    panel = [one.score for one in measured.panel] if measured is not None and _comparable(measured, first) else []
    baseline = next((one.grade.baseline for one in outcomes if one.grade and one.grade.baseline is not None), None)
    trials: list[Row] = [
        {"row": chart_label(one.agent), "score": one.score} for one in outcomes if one.score is not None
    ]
    if not trials:
        return None
    means = _means((cell.agent, cell.score) for cell in made)
    levels = _levels(outcomes, baseline)

    needed = [*levels.values(), *_ends(means), *(float(row["score"]) for row in trials)]
    scale = score_scale(needed, panel, first.direction)
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
    layers = [
        chart([{"score": score} for score in levels.values()])
        .mark_rule(color=MUTED, strokeDash=[4, 3])
        .encode(x=x("score")),
        *(
            chart([{"score": score, "text": text}])
            .mark_text(color=MUTED, dy=-7 - 11 * height, fontSize=10)
            .encode(x=x("score"), y=alt.value(0), text="text:N")
            for text, score, height in _place_labels(levels, scale, width)
        ),
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


def _levels(outcomes: Sequence[Outcome], baseline: float | None) -> dict[str, float]:
    """Return the scores that a reader compares with, by name: the starter's, and those of the human leaderboard."""
    grade = next((one.grade for one in outcomes if one.grade and one.has_leaderboard), None)
    named = {"starter": baseline}
    if grade:
        named |= {
            "median": grade.median_threshold,
            "bronze": grade.bronze_threshold,
            "silver": grade.silver_threshold,
            "gold": grade.gold_threshold,
        }
    return {name: score for name, score in named.items() if score is not None}


def _place_labels(levels: Mapping[str, float], scale: Scale, width: float) -> list[tuple[str, float, int]]:
    """Return the label of each level, its score, and the line it is on, so that labels do not cover each other."""
    ends: list[float] = []
    placed = []
    for name, score in sorted(levels.items(), key=lambda pair: scale.position(pair[1])):
        text = f"{name} {wording.format_number(score)}"
        middle, half = scale.position(score) * width, 2.9 * len(text)
        line = next((line for line, end in enumerate(ends) if end < middle - half), len(ends))
        ends[line : line + 1] = [middle + half + 4]
        placed.append((text, score, line))
    return placed


def draw_attempts(lines: Sequence[Standing], palette: Palette) -> str | None:
    """Draw the probability that one (pass@k), and that all (pass^k), of k attempts succeed, up to half of the attempts.

    None where that is a single attempt.
    """
    require_altair()
    import altair as alt

    rows: list[Row] = [
        {"row": chart_label(line.agent), "k": k, "share": share, "kind": kind}
        for line in lines
        for kind, curve in (("pass@k", line.pass_at), ("pass^k", line.pass_all))
        for k, share in curve.items()
        if k <= reliable_attempts(line)
    ]
    largest = max((int(row["k"]) for row in rows), default=1)
    if largest < 2:
        return None
    x = alt.X(
        "k:Q",
        scale=alt.Scale(domain=[1, largest]),
        axis=alt.Axis(title="attempts k", values=list(range(1, largest + 1)), format="d", grid=False),
    )
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title=None, format=".0%", labelExpr=_PERCENT))
    dash = alt.StrokeDash(
        "kind:N", scale=alt.Scale(domain=["pass@k", "pass^k"], range=[[1, 0], [4, 3]]), legend=alt.Legend(title=None)
    )
    base = chart(rows).encode(x=x, y=y, color=color_encoding(palette), detail="kind:N")
    layers = [base.mark_line(strokeWidth=2).encode(strokeDash=dash), base.mark_circle(size=50, opacity=1)]
    return to_svg(alt.layer(*layers).properties(width=340, height=150))


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
    """Draw the success rate of each agent with its 95% interval; None where success is not defined."""
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


def _ends(means: Sequence[Row]) -> list[float]:
    return [float(row[end]) for row in means for end in ("from", "to")]


def _comparable(measured: Measured, outcome: Outcome) -> bool:
    return measured.edition == outcome.edition and outcome.variant == "real"
