"""Paired differences between two arms of an experiment, as sentences, tables and a figure."""

from collections.abc import Sequence

from assay.core.claim import format_difference, format_limits, format_rate
from assay.core.figure import Axis, Figure, Rows
from assay.core.table import Column, Table
from assay.core.text import plural
from assay.core.values import format_p, format_points
from assay.results.paired import PairedDifference
from assay.results.verdict import describe_task

_WORDS = {"better": "higher", "worse": "lower"}


def describe_difference(difference: PairedDifference) -> list[str]:
    """Return the means, the difference, how sure it is, on these tasks and on tasks like these, as sentences."""
    claim, tasks = difference.claim, plural(len(difference.tasks), "task")
    first, second = difference.means or (None, None)
    unpaired = f"; {plural(difference.unpaired, 'unpaired trial')} excluded" if difference.unpaired else ""
    comparisons = claim.evidence.comparisons
    allowing = f", allowing for {plural(comparisons, 'comparison')} (Holm)" if comparisons > 1 else ""
    sentences = [
        f"{difference.first} {format_rate(first, 1)}, {difference.second} {format_rate(second, 1)}: difference "
        f"{format_points(claim.value, 1)} points, {100 * claim.confidence:.3g}% interval {format_limits(claim, 1)}, "
        f"p = {format_p(claim.p_adjusted or 0.0)} on tasks like these{allowing}",
        f"{plural(difference.pairs, 'pair')} on {tasks}{unpaired}",
    ]
    for answer, where in ((difference.answers.these, "these tasks"), (difference.answers.like, "tasks like these")):
        settled = f": {answer.settled_by}" if answer.settled_by else ""
        outcome = _WORDS.get(answer.outcome, answer.outcome)
        if answer.outcome == "equivalent":
            outcome = f"equivalent within {100 * answer.margin:g} points"
        sentences.append(f"On {where}, {difference.first} against {difference.second}: {outcome}{settled}.")
    if missing := claim.missing:
        trials = ", ".join(f"{each.trials} {each.kind} ({each.rule})" for each in missing)
        bounds = f"{format_points(claim.worst, 1)} to {format_points(claim.best, 1)} points"
        sentences.append(f"Missing trials: {trials}. They allow {bounds}.")
    return sentences


def make_difference_tables(differences: Sequence[tuple[str, PairedDifference]]) -> tuple[Table, Table]:
    """Return a table of paired differences, each of an agent, and one of their tasks."""
    columns = (
        Column("agent"),
        Column("first"),
        Column("first_mean", "mean (95%)", "rate", decimals=1),
        Column("second"),
        Column("second_mean", "mean (95%)", "rate", decimals=1),
        Column("difference", "points", "difference", decimals=1),
        Column("error", kind="number", data_only=True),
        Column("p", kind="p"),
        Column("p_these", "p on these tasks", "p", drop=1),
        Column("pairs", kind="integer"),
        Column("unpaired", kind="integer", data_only=True),
        Column("tasks", kind="integer"),
        Column("outcome", kind="text"),
    )
    rows = []
    for agent, pair in differences:
        first, second = pair.means or (None, None)
        rows.append(
            (
                *(agent, pair.first, first, pair.second, second, pair.claim, pair.error, pair.claim),
                *(pair.answers.these.claim, pair.pairs, pair.unpaired, len(pair.tasks), pair.answers.like.outcome),
            )
        )
    task_columns = (
        Column("agent", heading=True),
        Column("task"),
        Column("observed", "observed in trials"),
        Column("first", kind="number", data_only=True),
        Column("second", kind="number", data_only=True),
        Column("difference", kind="number", data_only=True),
    )
    tasks = [
        (agent, task.task, describe_task(task), task.first, task.second, task.difference)
        for agent, pair in differences
        for task in pair.tasks
    ]
    return Table("differences", columns, tuple(rows)), Table("tasks", task_columns, tuple(tasks))


def draw_differences(differences: Sequence[tuple[str, PairedDifference]]) -> list[Figure]:
    """Return a figure with the difference of each task as a dot and the mean with its interval, a row per agent."""
    if not differences:
        return []
    first = differences[0][1]
    ends = [end for _, pair in differences for end in (pair.claim.low, pair.claim.high)]
    extent = 1.1 * max(0.05, *map(abs, ends), *(abs(task.difference) for _, pair in differences for task in pair.tasks))
    figure = Figure(
        "differences",
        f"Differences of {plural(len(differences), 'agent')} by task",
        x=Axis(f"{first.first} − {first.second}", "difference", low=-extent, high=extent),
        y=Rows([agent for agent, _ in differences]),
    )
    figure.rule(x=0.0)
    for row, (_, pair) in enumerate(differences):
        for task in pair.tasks:
            figure.observe(task.difference, row, color=row, hover=f"{task.task}: {describe_task(task)}")
        figure.claim(pair.claim, row, color=row, hover=f"mean: {format_difference(pair.claim, 1)} points")
    return [figure]
