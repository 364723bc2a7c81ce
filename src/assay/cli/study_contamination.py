"""`assay study obfuscation` and `assay study cutoff`."""

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import as_json, echo, print_table, quiet
from assay.cli.planning import study_options
from assay.cli.study_runs import (
    echo_difference,
    figure_option,
    find_runs_to_study,
    format_share,
    measure_option,
    write_figure,
)

if TYPE_CHECKING:
    from assay.results.comparison import Measure


@click.command("obfuscation")
@study_options
@measure_option
@figure_option
@as_json
@quiet
@click.pass_context
def obfuscation_command(
    ctx: click.Context,
    /,
    measure: "Measure",
    figure: Path | None,
    json_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compare the same trials with original and obfuscated descriptions.

    Pass finished runs that have both, or a plan: it is run with both. Trials are paired by task and seed. With
    --descriptions, your own descriptions take the place of the obfuscated ones.

    \b
    Examples:
      assay study obfuscation mlebench:low --agent aide --model openai/gpt-5
      assay study obfuscation runs/obfuscation --figure obfuscation.svg
    """
    from assay.studies.obfuscation import drop_description, plan_arms, study_obfuscation
    from assay.studies.paper_figures import load_paper_figures
    from assay.studies.study_figures import draw_differences
    from assay.studies.trials import read_study_trials

    runs = find_runs_to_study(ctx, lambda plan, _: plan_arms(plan), quiet)
    study = study_obfuscation(read_study_trials(runs, drop_description), measure)
    write_figure(figure, lambda: draw_differences(study.agents, "points"))
    published = load_paper_figures().obfuscation
    if json_:
        echo(json.dumps({"format": "obfuscation/1", **asdict(study), "published": published.model_dump()}, indent=2))
        return
    echo(f"{study.rules}: {measure} with original and obfuscated descriptions")
    for agent, difference in study.agents.items():
        echo()
        echo(agent)
        echo_difference(difference)
    echo()
    _echo_left_out(study.left_out, measure)
    plain, hidden = published.plain, published.obfuscated
    echo(f"Published, {published.name}: {plain[0]} ± {plain[1]} % and {hidden[0]} ± {hidden[1]} % with a medal.")


@click.command("cutoff")
@study_options
@click.option(
    "--date",
    required=True,
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="The model's knowledge cutoff: the last day it can have read about.",
)
@click.option(
    "--dates",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.csv",
    help="Closing dates of other tasks: columns task and closed.  [default: those of mlebench]",
)
@measure_option
@figure_option
@as_json
@quiet
@click.pass_context
def cutoff_command(
    ctx: click.Context,
    /,
    date: datetime,
    dates: Path | None,
    measure: "Measure",
    figure: Path | None,
    json_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compare tasks that closed before and after a knowledge cutoff, matched.

    Pass finished runs, or a plan to run first. Each task that closed after the date is matched with one that closed
    before it: the same modality, and as close as possible in size, number of teams and metric.

    \b
    Examples:
      assay study cutoff runs/aide --date 2023-10-01
      assay study cutoff mlebench --agent aide --model openai/o1 --date 2023-10-01
    """
    from assay.studies.cutoff import load_dates, study_cutoff
    from assay.studies.study_figures import draw_differences
    from assay.studies.trials import read_study_trials

    runs = find_runs_to_study(ctx, lambda plan, _: [plan], quiet)
    study = study_cutoff(read_study_trials(runs), date.date(), measure, load_dates(dates))
    found = {one.agent: one.difference for one in study.results if one.difference}
    if found:
        write_figure(figure, lambda: draw_differences(found, "points"))
    if json_:
        echo(json.dumps({"format": "cutoff/1", **asdict(study), "date": str(study.date)}, indent=2))
        return
    echo(f"{study.rules}: {measure} on tasks that closed up to {study.date} and after")
    for one in study.results:
        echo()
        echo(one.agent)
        sides = [("before", one.before), ("after", one.after)]
        print_table(
            ["closed", "tasks", "trials", measure, "95 % interval"],
            [
                [name, str(side.tasks), str(side.trials), format_share(side.mean),
                 f"{format_share(side.interval.low)} to {format_share(side.interval.high)}"]
                for name, side in sides
            ],
        )  # fmt: skip
        if one.difference is None:
            echo("  No task after the date has one of the same modality before it.")
            continue
        print_table(
            ["before", "matched with", "distance"],
            [[match.before, match.after, f"{match.distance:.2f}"] for match in one.matches],
        )
        echo_difference(one.difference)
    echo()
    _echo_left_out(study.left_out, measure)
    if study.undated:
        echo(f"Left out, because their date is not known: {', '.join(study.undated)}; pass --dates.")


def _echo_left_out(tasks: tuple[str, ...], measure: str) -> None:
    if tasks:
        echo(f"Left out, because they do not define {measure}: {', '.join(tasks)}.")
