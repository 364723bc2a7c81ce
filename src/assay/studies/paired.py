"""Two arms of an experiment, paired by task and seed: the difference, its interval, and the power of the comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from assay.core.errors import UsageError
from assay.results import inference
from assay.results.comparison import TaskDifference
from assay.results.inference import Interval

Values = Mapping[tuple[str, int], float]
"""Task and seed -> value of the trial."""

SMALL_DIFFERENCE = 0.05
"""The difference for which `tasks_needed` is computed: five points of a rate."""


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference (first − second) over tasks, of trials with the same task and seed.

    `detectable` is the smallest difference that as many tasks show with 80 % power, `tasks_needed` how many tasks a
    difference of five points takes. `unpaired` counts the trials that have no partner and were left out.
    """

    first: str
    second: str
    pairs: int
    unpaired: int
    first_mean: float
    second_mean: float
    difference: float
    error: float | None
    interval: Interval
    p: float
    exact: bool
    mcnemar: float | None
    detectable: float | None
    tasks_needed: int | None
    tasks: tuple[TaskDifference, ...]


def compare_arms(first: Values, second: Values, names: Sequence[str], *, rate: bool) -> PairedDifference:
    """Compare two arms; `rate` is whether every value is 0 or 1. `names` are those of the first and second arm."""
    shared = [key for key in first if key in second]
    if not shared:
        raise UsageError(f"No trial with {names[0]} has a partner with {names[1]} of the same task and seed")
    by_task: dict[str, list[tuple[float, float]]] = {}
    for key in shared:
        by_task.setdefault(key[0], []).append((first[key], second[key]))
    tasks = tuple(
        TaskDifference(task, fmean(one for one, _ in values), fmean(other for _, other in values))
        for task, values in by_task.items()
    )
    differences = [task.difference for task in tasks]
    by_seed = {task: [one - other for one, other in values] for task, values in by_task.items()}
    test = inference.sign_flip_test(differences)
    spread = stdev(differences) if len(differences) > 1 else 0.0
    outcomes = [(first[key], second[key]) for key in shared]
    return PairedDifference(
        first=names[0],
        second=names[1],
        pairs=len(shared),
        unpaired=len(first) + len(second) - 2 * len(shared),
        first_mean=fmean(task.first for task in tasks),
        second_mean=fmean(task.second for task in tasks),
        difference=fmean(differences),
        error=inference.task_error(by_seed),
        interval=inference.bootstrap_interval(by_seed),
        p=test.p,
        exact=test.exact,
        mcnemar=inference.mcnemar_test(outcomes.count((1.0, 0.0)), outcomes.count((0.0, 1.0))) if rate else None,
        detectable=inference.detectable_difference(spread, len(tasks)) if spread else None,
        tasks_needed=inference.tasks_needed(SMALL_DIFFERENCE, spread) if spread else None,
        tasks=tasks,
    )
