"""The figures of studies, in the style of the report's: standalone SVG, drawn without network or browser."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.core.quantities import format_duration, format_size
from assay.results.chart_style import AGENTS, INK, MUTED, PANEL, Row, chart, chart_label, require_altair, to_svg
from assay.studies.familiarity import AgentCorrelation, Familiarity
from assay.studies.paired import PairedDifference
from assay.studies.paper_figures import load_paper_figures
from assay.studies.scaling import Factor, Scaling

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT, _ROW = 460, 230, 20
UNITS: Mapping[Factor, str] = {
    "time": "time per trial",
    "steps": "steps per trial",
    "cost": "dollars per trial",
    "attempts": "attempts, the best of which counts",
    "cores": "cores per trial",
    "memory": "memory per trial, GB",
    "gpus": "GPUs per trial",
}


def format_level(factor: Factor, level: float) -> str:
    """Return a level as it is written: `30s`, `4GB`, `$0.5`, `3`."""
    if factor == "time":
        return format_duration(level)
    if factor == "memory":
        return format_size(int(level))
    return f"${level:.3g}" if factor == "cost" else f"{level:g}"


def draw_scaling(scaling: Scaling) -> str:
    """Draw a curve for each agent with its interval, the oracle dotted, and the published figures in gray."""
    require_altair()
    import altair as alt

    unit, divisor = _time_unit(scaling)
    names = [chart_label(curve.agent) for curve in scaling.curves]
    rows: list[Row] = []
    for curve, name in zip(scaling.curves, names, strict=True):
        for point in curve.points:
            interval = point.interval
            rows.append(
                {
                    "agent": name,
                    "x": point.level / divisor,
                    "value": 100 * point.value,
                    "low": 100 * (interval.low if interval else point.value),
                    "high": 100 * (interval.high if interval else point.value),
                    "oracle": 100 * (point.value if point.oracle is None else point.oracle),
                }
            )
    measure = "mean improvement over the starter, %" if scaling.measure == "improvement" else f"{scaling.measure}, %"
    title = f"{UNITS[scaling.over]}{f', {unit}' if scaling.over == 'time' else ''}"
    x = alt.X("x:Q", axis=alt.Axis(title=title, grid=False, tickCount=6))
    hue = alt.Color("agent:N", scale=alt.Scale(domain=names, range=_colors(len(names))), legend=_legend(names))

    def y(field: str) -> "alt.Y":
        return alt.Y(f"{field}:Q", axis=alt.Axis(title=measure, tickCount=5))

    data = chart(rows)
    layers = [
        data.mark_area(opacity=0.18).encode(x=x, y=y("low"), y2="high:Q", color=hue),
        data.mark_line(strokeWidth=2).encode(x=x, y=y("value"), color=hue),
        data.mark_circle(size=30, opacity=1).encode(x=x, y=y("value"), color=hue),
    ]
    if any(point.oracle is not None for curve in scaling.curves for point in curve.points):
        layers.append(data.mark_line(strokeWidth=1.5, strokeDash=[2, 3]).encode(x=x, y=y("oracle"), color=hue))
    if scaling.measure == "success":
        layers += _published_levels(y("published")) if scaling.over == "time" else []
        layers += _published_curves(scaling.over, x, y("published")) if scaling.over in ("attempts", "gpus") else []
    return to_svg(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT))


def draw_differences(found: Mapping[str, PairedDifference], unit: str) -> str:
    """Draw the difference of each task as a dot and the mean with its interval, a row per agent."""
    require_altair()
    import altair as alt

    names = [chart_label(agent) for agent in found]
    dots: list[Row] = [
        {"row": name, "x": 100 * task.difference}
        for name, one in zip(names, found.values(), strict=True)
        for task in one.tasks
    ]
    means: list[Row] = [
        {"row": name, "x": 100 * one.difference, "low": 100 * one.interval.low, "high": 100 * one.interval.high}
        for name, one in zip(names, found.values(), strict=True)
    ]
    first = next(iter(found.values()))
    title = f"{first.first} − {first.second}, {unit}"
    extent = max(5.0, *(abs(float(row[end])) for row in means for end in ("low", "high")), *(
        abs(float(row["x"])) for row in dots
    ))  # fmt: skip
    scale = alt.Scale(domain=[-1.1 * extent, 1.1 * extent], nice=False)

    def x(field: str) -> "alt.X":
        return alt.X(f"{field}:Q", scale=scale, axis=alt.Axis(title=title, tickCount=7, grid=False))

    y = alt.Y("row:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, ticks=False, domain=False))
    hue = alt.Color("row:N", scale=alt.Scale(domain=names, range=_colors(len(names))), legend=None)
    layers = [
        chart([{"zero": 0.0}]).mark_rule(color=MUTED).encode(x=x("zero")),
        chart(dots).mark_circle(size=45, opacity=0.35).encode(x=x("x"), y=y, color=hue),
        chart(means).mark_rule(strokeWidth=3).encode(x=x("low"), x2="high:Q", y=y, color=hue),
        chart(means).mark_tick(thickness=3, size=16, color=INK).encode(x=x("x"), y=y),
    ]
    return to_svg(alt.layer(*layers).properties(width=_WIDTH, height=max(60, 2 * _ROW * len(names))))


def draw_similarity_histogram(counts: Sequence[int], threshold: float) -> str:
    """Draw how many trials have their highest similarity in each tenth; the dashed line is where they are flagged."""
    require_altair()
    import altair as alt

    rows: list[Row] = [{"from": 10 * tenth, "to": 10 * tenth + 10, "count": n} for tenth, n in enumerate(counts)]
    scale = alt.Scale(domain=[0, 100], nice=False)

    def x(field: str) -> "alt.X":
        return alt.X(f"{field}:Q", scale=scale, axis=alt.Axis(title="highest similarity, %", grid=False))

    y = alt.Y("count:Q", axis=alt.Axis(title="trials", tickMinStep=1))
    layers = [
        chart(rows).mark_bar(color=AGENTS[0], stroke="white").encode(x=x("from"), x2="to:Q", y=y),
        chart([{"at": threshold}]).mark_rule(color=AGENTS[1], strokeDash=[4, 3]).encode(x=x("at")),
    ]
    return to_svg(alt.layer(*layers).properties(width=_WIDTH, height=150))


def draw_familiarity(agents: Sequence[AgentCorrelation], measure: str) -> str:
    """Draw performance over familiarity, a dot per task and a line of least squares per agent."""
    require_altair()
    import altair as alt

    names = [chart_label(_label(one)) for one in agents]
    dots: list[Row] = [
        {"agent": name, "x": point.familiarity, "y": point.performance}
        for name, one in zip(names, agents, strict=True)
        for point in one.points
    ]
    hue = alt.Color("agent:N", scale=alt.Scale(domain=names, range=_colors(len(names))), legend=_legend([*names, ""]))
    x = alt.X("x:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title="familiarity", tickCount=6, grid=False))
    y = alt.Y("y:Q", axis=alt.Axis(title=f"performance ({measure})", tickCount=5))
    data = chart(dots)
    lines = data.transform_regression("x", "y", groupby=["agent"]).mark_line(strokeWidth=1.5, strokeDash=[4, 3])
    layers = [data.mark_circle(size=45, opacity=0.6).encode(x=x, y=y, color=hue), lines.encode(x=x, y=y, color=hue)]
    return to_svg(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT))


def draw_description_familiarity(documents: Sequence[Familiarity]) -> str:
    """Draw the familiarity of each task's obfuscated description over that of the original; equal on the line."""
    require_altair()
    import altair as alt

    values = {(one.task, one.kind): one.mean for one in documents}
    tasks = [task for task, kind in values if kind == "original" and (task, "obfuscated") in values]
    dots: list[Row] = [{"x": values[task, "original"], "y": values[task, "obfuscated"]} for task in tasks]
    high = 1.05 * max([0.1, *(float(row[axis]) for row in dots for axis in ("x", "y"))])
    scale = alt.Scale(domain=[0, high], nice=False)
    x = alt.X(
        "x:Q", scale=scale, axis=alt.Axis(title="familiarity of the original description", tickCount=6, grid=False)
    )
    y = alt.Y("y:Q", scale=scale, axis=alt.Axis(title="of the obfuscated description", tickCount=6, grid=False))
    diagonal: list[Row] = [{"x": 0.0, "y": 0.0}, {"x": high, "y": high}]
    layers = [
        chart(diagonal).mark_line(color=MUTED, strokeDash=[4, 3], strokeWidth=1).encode(x=x, y=y),
        chart(dots).mark_circle(size=45, opacity=0.6, color=AGENTS[0]).encode(x=x, y=y),
    ]
    return to_svg(alt.layer(*layers).properties(width=_HEIGHT + 60, height=_HEIGHT + 60))


def _label(one: AgentCorrelation) -> str:
    found = one.correlation
    return one.agent if found is None else f"{one.agent}: r = {found.r:.2f}, p = {found.p:.2f}"


def _published_levels(y: "alt.Y") -> "list[alt.Chart]":
    """Draw published shares as lines across, because their hours are seldom on the scale."""
    import altair as alt

    (curve,) = load_paper_figures().curves("time")
    rows: list[Row] = [
        {"published": share, "text": f"published, {format_duration(level)}"} for level, share in curve.points
    ]
    return [
        chart(rows).mark_rule(color=PANEL, strokeDash=[5, 3]).encode(y=y),
        chart(rows)
        .mark_text(color=MUTED, align="right", dy=-5, fontSize=10)
        .encode(x=alt.value(_WIDTH), y=y, text="text:N"),
    ]


def _published_curves(factor: Factor, x: "alt.X", y: "alt.Y") -> "list[alt.Chart]":
    layers = []
    for curve in load_paper_figures().curves(factor):
        rows: list[Row] = [{"x": level, "published": share} for level, share in curve.points]
        label: list[Row] = [{**rows[-1], "text": curve.name.partition(",")[0].partition(":")[0] + ", published"}]
        layers += [
            chart(rows).mark_line(color=PANEL, strokeDash=[5, 3], point={"color": PANEL}).encode(x=x, y=y),
            chart(label).mark_text(color=MUTED, align="right", dy=-8, fontSize=10).encode(x=x, y=y, text="text:N"),
        ]
    return layers


def _time_unit(scaling: Scaling) -> tuple[str, float]:
    if scaling.over == "memory":
        return "", 1e9
    if scaling.over != "time":
        return "", 1.0
    longest = max(point.level for curve in scaling.curves for point in curve.points)
    return ("hours", 3600.0) if longest >= 7200 else ("minutes", 60.0) if longest >= 300 else ("seconds", 1.0)


def _colors(count: int) -> list[str]:
    return [AGENTS[place % len(AGENTS)] for place in range(count)]


def _legend(names: Sequence[str]) -> "alt.Legend | None":
    import altair as alt

    return alt.Legend(title=None, orient="top", labelLimit=220) if len(names) > 1 else None
