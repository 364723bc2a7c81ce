"""`assay study scaling`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from assay.cli.output import as_json, choose_progress, echo, print_table, quiet
from assay.cli.planning import study_options
from assay.cli.study_runs import (
    echo_difference,
    figure_option,
    find_runs_to_study,
    format_points,
    format_share,
    measure_option,
    write_figure,
)
from assay.core.home import Home
from assay.core.progress import use_progress
from assay.core.quantities import parse_duration, parse_size
from assay.core.text import plural

if TYPE_CHECKING:
    from assay.results.comparison import Measure
    from assay.studies.scaling import Factor, Scaling, ScalingCurve


@click.command("scaling")
@study_options
@click.option(
    "--over",
    required=True,
    type=click.Choice(["time", "attempts", "steps", "cost", "cores", "memory", "gpus"]),
    help="What is varied.",
)
@click.option(
    "--levels",
    metavar="LEVEL,LEVEL…",
    default=None,
    help="Amounts to show, e.g. 1h,4h,24h; for cores, memory and gpus the levels to run.  [default: even steps]",
)
@measure_option
@figure_option
@as_json
@quiet
@click.pass_context
def scaling_command(
    ctx: click.Context,
    /,
    over: str,
    levels: str | None,
    measure: "Measure",
    figure: Path | None,
    json_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Show how results grow with time, steps, cost, attempts or resources.

    Pass finished runs, or a plan to run first. Time, steps and cost come from one long run: what the agent would have
    submitted at each moment is graded afterwards, and so is the best submission it had made by then (the oracle).
    Attempts are seeds: the expected best of k. Cores, memory and GPUs are run one level at a time.

    \b
    Examples:
      assay study scaling runs/first --over time --figure time.svg
      assay study scaling runs/first --over attempts
      assay study scaling pocket --agent automl --over cores --levels 1,2,4
    """
    from assay.studies.paper_figures import load_paper_figures
    from assay.studies.scaling import drop_resources, plan_levels, study_scaling
    from assay.studies.study_figures import draw_scaling
    from assay.studies.trials import read_study_trials

    factor = cast("Factor", over)
    wanted = _parse_levels(factor, levels)
    runs = find_runs_to_study(ctx, lambda plan, local: plan_levels(plan, factor, wanted, local=local), quiet)
    with use_progress(choose_progress(quiet or json_)):
        scaling = study_scaling(read_study_trials(runs, drop_resources), factor, measure, Home.default(), wanted)
    write_figure(figure, lambda: draw_scaling(scaling))
    if json_:
        paper = load_paper_figures()
        published = {"source": paper.source, "curves": [one.model_dump() for one in paper.curves(over)]}
        content = {"format": "scaling/1", "interval": "over tasks, 95 %", **asdict(scaling), "published": published}
        echo(json.dumps(content, indent=2))
        return
    _print(scaling)


def _parse_levels(factor: "Factor", text: str | None) -> list[float]:
    parse = {"time": parse_duration, "memory": parse_size}.get(factor, float)
    try:
        return sorted({float(parse(part.strip())) for part in text.split(",")}) if text else []
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--levels") from None


def _print(scaling: "Scaling") -> None:
    from assay.studies.paper_figures import load_paper_figures
    from assay.studies.study_figures import format_level

    echo(f"{scaling.rules}: {scaling.measure} over {scaling.over}")
    for curve in scaling.curves:
        echo()
        echo(f"{curve.agent}: {plural(len(curve.tasks), 'task')}, {plural(curve.trials, 'trial')}")
        _print_curve(scaling, curve)
    echo()
    echo("Intervals and bands: 95 % over tasks. Gains: points since the level before, by what was added.")
    if scaling.curves[0].points[0].oracle is not None:
        echo(
            "Oracle: the best submission so far, chosen by the test score. Gap: what the agent loses by its own choice."
        )
    for task, why in scaling.left_out.items():
        echo(f"Left out: {task}: {why}")
    for published in load_paper_figures().curves(scaling.over) if scaling.measure == "success" else ():
        errors = published.errors or [None] * len(published.points)
        shown = ", ".join(
            f"{format_level(scaling.over, level)}: {share} %{f' ± {error}' if error else ''}"
            for (level, share), error in zip(published.points, errors, strict=True)
        )
        echo(f"Published, share of 75 competitions with a medal: {published.name}: {shown}")


def _print_curve(scaling: "Scaling", curve: "ScalingCurve") -> None:
    from assay.studies.study_figures import format_level

    has_oracle = curve.points[0].oracle is not None
    unit = {"time": None, "cost": None, "attempts": "attempt", "steps": "step", "memory": None}.get(
        scaling.over, scaling.over.removesuffix("s")
    )
    header = [scaling.over, scaling.measure, "95 % interval", *(["oracle", "gap"] if has_oracle else [])]
    header += [*([f"per {unit}"] if unit else []), "per hour", "per dollar"]
    rows = []
    for one in curve.points:
        interval = f"{format_share(one.interval.low)} to {format_share(one.interval.high)}" if one.interval else "–"
        cells = [format_level(scaling.over, one.level), format_share(one.value), interval]
        cells += [format_share(one.oracle), format_points(one.gap)] if has_oracle else []
        cells += [format_points(one.per_unit)] if unit else []
        rows.append([*cells, format_points(one.per_hour), format_points(one.per_dollar)])
    print_table(header, rows)
    for step in curve.steps:
        echo_difference(step)
