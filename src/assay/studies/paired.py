"""Paired differences between two arms of an experiment, as sentences, tables and a figure."""

from collections.abc import Sequence

from assay.core.figure import Axis, Figure, Rows
from assay.core.table import Column, Table
from assay.core.text import plural
from assay.core.values import format_percent, format_points
from assay.results.paired import PairedDifference


def describe_difference(difference: PairedDifference) -> list[str]:
    """Return the means, the difference, how sure it is, on these tasks and on tasks like these, as sentences."""
    low, high = (format_points(end, 1) for end in (difference.interval.low, difference.interval.high))
    tasks = plural(len(difference.tasks), "task")
    unpaired = f"; {plural(difference.unpaired, 'unpaired trial')} excluded" if difference.unpaired else ""
    sentences = [
        f"{difference.first} {format_percent(difference.first_mean, 1)}, {difference.second} "
        f"{format_percent(difference.second_mean, 1)}: difference {format_points(difference.difference, 1)} points, "
        f"95% interval {low} to {high}, p = {difference.p:.3f} over tasks like these",
        f"{plural(difference.pairs, 'pair')} on {tasks}{unpaired}",
    ]
    for answer, where in ((difference.answers.these, "these tasks"), (difference.answers.like, "tasks like these")):
        settled = f": {answer.settled_by}" if answer.settled_by else ""
        sentences.append(f"On {where}, {difference.first} against {difference.second}: {answer.outcome}{settled}.")
    return sentences


def make_difference_tables(differences: Sequence[tuple[str, PairedDifference]]) -> tuple[Table, Table]:
    """Return a table of paired differences, each of an agent, and one of their tasks."""
    columns = (
        Column("agent"),
        Column("first"),
        Column("first_mean", "mean", "percent", decimals=1),
        Column("second"),
        Column("second_mean", "mean", "percent", decimals=1),
        Column("difference", "points", "points", decimals=1),
        Column("interval", "95% interval", "points", decimals=1, text_only=True),
        Column("low", kind="number", data_only=True),
        Column("high", kind="number", data_only=True),
        Column("error", kind="number", data_only=True),
        Column("p", kind="p"),
        Column("p_these", "p on these tasks", "p", drop=1),
        Column("pairs", kind="integer"),
        Column("unpaired", kind="integer", data_only=True),
        Column("tasks", kind="integer"),
        Column("outcome", kind="text", data_only=True),
    )
    rows = [
        (
            *(agent, pair.first, pair.first_mean, pair.second, pair.second_mean, pair.difference, pair.interval),
            *(pair.interval.low, pair.interval.high, pair.error, pair.p, pair.answers.these.claim.p),
            *(pair.pairs, pair.unpaired, len(pair.tasks), pair.answers.like.outcome),
        )
        for agent, pair in differences
    ]
    task_columns = (
        Column("agent", heading=True),
        Column("task"),
        Column("first", kind="percent", decimals=1),
        Column("second", kind="percent", decimals=1),
        Column("difference", "points", "points", decimals=1),
    )
    tasks = [
        (agent, task.task, task.first, task.second, task.difference)
        for agent, pair in differences
        for task in pair.tasks
    ]
    return Table("differences", columns, tuple(rows)), Table("tasks", task_columns, tuple(tasks))


def draw_differences(differences: Sequence[tuple[str, PairedDifference]]) -> list[Figure]:
    """Return a figure with the difference of each task as a dot and the mean with its interval, a row per agent."""
    if not differences:
        return []
    first = differences[0][1]
    ends = [value for _, pair in differences for value in (pair.interval.low, pair.interval.high)]
    extent = 1.1 * max(0.05, *map(abs, ends), *(abs(task.difference) for _, pair in differences for task in pair.tasks))
    figure = Figure(
        "differences",
        f"Differences of {plural(len(differences), 'agent')} by task",
        x=Axis(f"{first.first} − {first.second}", "change", low=-extent, high=extent),
        y=Rows([agent for agent, _ in differences]),
    )
    figure.rule(x=0.0)
    for row, (_, pair) in enumerate(differences):
        for task in pair.tasks:
            hover = f"{task.task}: {format_points(task.difference, 1)} points"
            figure.dot(task.difference, row, color=row, style="faint", hover=hover)
        figure.interval(pair.interval.low, pair.interval.high, row, color=row, style="thick")
        figure.tick(pair.difference, row, hover=f"mean: {format_points(pair.difference, 1)} points")
    return [figure]
