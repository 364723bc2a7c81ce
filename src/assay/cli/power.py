"""`assay study power`."""

from pathlib import Path

import click

from assay.cli.output import as_json, echo_json, open_registry, open_run, print_tables
from assay.core.table import Column, Table


@click.command("power")
@click.argument("names", nargs=-1, metavar="[TASK]…")
@click.option(
    "--difference",
    type=click.FloatRange(0, 100, min_open=True),
    default=10.0,
    show_default=True,
    metavar="POINTS",
    help="The difference in success that is to be found, in percentage points.",
)
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Trials of each agent and task.")
@click.option("--agents", type=click.IntRange(2), default=2, show_default=True, help="Agents, each compared with each.")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    default=None,
    metavar="RUN",
    help="A run with at least two seeds that shows how much results vary.  [default: a published row of MLE-bench]",
)
@as_json
@click.pass_obj
def power_command(
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    difference: float,
    seeds: int,
    agents: int,
    source: Path | None,
    json_: bool,
) -> None:
    """Show how many tasks and seeds find a difference between agents with 80% power.

    The test that assay compare uses for tasks like these is simulated on agents that vary like those of a run. With
    TASKs, suites or splits, it also shows the smallest difference that is found on these.

    \b
    Examples:
      assay study power --difference 10
      assay study power mlebench:low --seeds 3
      assay study power mlebench --seeds 3 --difference 5 --from runs/pilot
    """
    from assay.core.text import plural
    from assay.results.power import find_designs, find_difference, pilot_of_sample, pilot_of_trials

    if source is None:
        from assay.suites.mlebench.studies.published import load_known_medals

        (agent, medals), *_ = load_known_medals().items()
        sample = {task: [float(medal != "none") for medal in by_seed] for task, by_seed in medals.items()}
        pilot, origin = pilot_of_sample(sample), f"the medals of {agent} on the published leaderboard"
    else:
        from assay.results.frame import read_frame

        pilot, origin = pilot_of_trials(read_frame(open_run(source))), f"{source}, as an upper 80% limit"
    comparisons = agents * (agents - 1) // 2
    designs = find_designs(pilot, difference / 100, comparisons)
    tasks = len({task.id for name in names for task in open_registry(folders).select(name)})
    own = find_difference(pilot, tasks, seeds, comparisons) if tasks else None
    if json_:
        planned = {"tasks": tasks, "seeds": seeds, "detectable": own} if tasks else None
        settings = {"difference": difference / 100, "power": 0.8, "alpha": 0.05, "comparisons": comparisons}
        echo_json("power/2", **settings, **{"from": origin}, pilot=pilot, designs=designs, plan=planned)
        return
    notes = []
    if tasks:
        outcome = (
            "finds no difference with 80% power" if own is None else f"finds {100 * own:.0f} points with 80% power"
        )
        notes.append(f"{plural(tasks, 'task')} × {plural(seeds, 'seed')}: {outcome}")
    notes.append(
        f"Simulated with the test over tasks like these, two-sided at 5%, for {plural(comparisons, 'comparison')}. "
        f"Variance from {origin}: tasks {pilot.variance.tasks:.3f}, trials {pilot.variance.trials:.3f}."
    )
    if source is None:
        notes.append("Assumes independent agents (conservative); pass --from RUN to estimate the correlation.")
    columns = (Column("seeds", kind="integer"), Column("tasks"), Column("trials", "trials per agent"))
    rows = tuple(
        (
            design.seeds,
            *(("> 5,000", None) if design.tasks is None else (f"{design.tasks:,}", f"{design.tasks * design.seeds:,}")),
        )
        for design in designs
    )
    title = f"To find a difference of {difference:g} points in success between two agents with 80% power:"
    print_tables([Table("designs", columns, rows, title, tuple(notes))])
