"""`assay study familiarity`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from assay.cli.output import as_json, choose_progress, echo, open_registry, open_run, print_table, quiet
from assay.cli.study_runs import figure_option, write_figure
from assay.core.text import plural

if TYPE_CHECKING:
    from assay.models import Usage
    from assay.results.comparison import Measure
    from assay.studies.familiarity import AgentCorrelation, Familiarity, FamiliarityStudy

_MEASURES = ("normalized", "success", "valid", "percentile", "improvement")


@click.command("familiarity")
@click.argument("names", metavar="[TASK|SUITE]...", nargs=-1)
@click.option("--model", required=True, metavar="PROVIDER/MODEL", help="Whose familiarity; it needs log probabilities.")
@click.option(
    "--posts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Posts about the tasks that you have: DIR/TASK/*.txt, *.md or *.html.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="RUN",
    help="A finished run to correlate with. Can be repeated.",
)
@click.option(
    "--measure",
    type=click.Choice(_MEASURES),
    default="normalized",
    show_default=True,
    callback=lambda ctx, param, value: cast("Measure", value),
    help="Performance: by default the score between that of the sample submission and that of the gold medal.",
)
@click.option(
    "--positions",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Tokens per text whose probability is read.",
)
@click.option(
    "--length", type=click.IntRange(2), default=1000, show_default=True, help="Tokens per text that are drawn from."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the positions.")
@figure_option
@as_json
@quiet
@click.pass_obj
def familiarity_command(
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    model: str,
    posts: Path | None,
    runs: tuple[Path, ...],
    measure: "Measure",
    positions: int,
    length: int,
    seed: int,
    figure: Path | None,
    json_: bool,
    quiet: bool,
) -> None:
    """Measure how familiar a model is with descriptions, and whether that goes with performance.

    The mean probability that the model gives to the tokens of a text, all preceding text given, at positions drawn at
    random; a token that is not among the ten most likely ones counts 0. Tasks default to mlebench.

    \b
    Examples:
      assay study familiarity --model local/smollm2 --positions 20 --length 100
      assay study familiarity mlebench:low --model openai/gpt-4o --run runs/first
      assay study familiarity --model local/smollm2 --posts posts
    """
    import anyio

    from assay.studies import familiarity
    from assay.studies.study_figures import draw_description_familiarity, draw_familiarity
    from assay.studies.trials import read_study_trials

    tasks = open_registry(folders).select_all(names or ("mlebench",))
    trials = read_study_trials([open_run(path) for path in runs]) if runs else []
    documents = familiarity.collect_documents(tasks, posts)
    with choose_progress(quiet).stage(f"Reading {plural(len(documents), 'text')}", len(documents)) as advance:

        async def measure_all() -> "tuple[list[Familiarity], Usage]":
            return await familiarity.measure_documents(
                model, documents, positions=positions, length=length, seed=seed, advance=lambda: advance(1)
            )

        found, usage = anyio.run(measure_all)
    study = familiarity.study_familiarity(model, found, usage, trials, measure)
    if study.agents:
        write_figure(figure, lambda: draw_familiarity(study.agents, measure))
    else:
        write_figure(figure, lambda: draw_description_familiarity(study.documents))
    if json_:
        content = asdict(study) | {"usage": study.usage.model_dump()}
        echo(json.dumps({"format": "familiarity/1", "measure": measure, **content}, indent=2))
        return
    _print_study(study, measure)


def _print_study(study: "FamiliarityStudy", measure: str) -> None:
    tasks = list(dict.fromkeys(one.task for one in study.documents))
    kinds = [kind for kind in ("original", "obfuscated", "post") if any(one.kind == kind for one in study.documents)]
    means = {
        (task, kind): [one.mean for one in study.documents if (one.task, one.kind) == (task, kind)]
        for task in tasks
        for kind in kinds
    }
    print_table(
        ["task", *kinds],
        [
            [task, *(f"{sum(some) / len(some):.3f}" if (some := means[task, kind]) else "–" for kind in kinds)]
            for task in tasks
        ],
    )
    echo()
    positions = sum(one.positions for one in study.documents)
    cost = "" if study.usage.cost is None else f", {study.usage.cost:.4g} dollars"
    echo(f"{study.model}: {plural(len(study.documents), 'text')}, {positions:,} positions{cost}")
    if difference := study.difference:
        interval = f"{difference.interval.low:+.3f} to {difference.interval.high:+.3f}".replace("-", "−")
        echo(
            f"Original {difference.first_mean:.3f}, obfuscated {difference.second_mean:.3f}: difference "
            f"{difference.difference:+.3f}".replace("-", "−")
            + f", 95 % interval {interval}, p = {difference.p:.3f}, {plural(difference.pairs, 'task')}"
        )
    for agent in study.agents:
        echo(_describe_correlation(agent, measure))
    if study.left_out:
        echo(f"Left out, because they do not define {measure}: {', '.join(study.left_out)}.")


def _describe_correlation(agent: "AgentCorrelation", measure: str) -> str:
    found = agent.correlation
    if found is None:
        tasks = plural(len(agent.points), "task")
        return f"{agent.agent}: no correlation with {measure} on {tasks}; it takes four that vary"
    interval = f"{found.interval.low:+.2f} to {found.interval.high:+.2f}"
    text = f"{agent.agent}: correlation with {measure} r = {found.r:+.2f}, 95 % interval {interval}, p = {found.p:.3f}"
    return f"{text}, {plural(found.tasks, 'task')}".replace("-", "−")
