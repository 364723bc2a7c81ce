"""The tasks that `assay try` runs, unless others are asked for: fixed, quick, of several kinds and seeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assay.core.errors import NotPrepared
from assay.core.home import Home
from assay.core.progress import Progress
from assay.data.store import choose_variant, load_prepared, prepare
from assay.tasks import Registry


@dataclass(frozen=True)
class TaskGroup:
    """Tasks, suites or splits by name, the variant of their data, and the number of seeds."""

    names: tuple[str, ...]
    variant: str | None
    seeds: int


_MINIATURES = (
    "mlebench/aerial-cactus-identification",  # images
    "mlebench/mlsp-2013-birds",  # sounds
    "mlebench/nomad2018-predict-transparent-conductors",  # several numbers from a table
    "mlebench/spaceship-titanic",  # classes from a table
    "mlebench/spooky-author-identification",  # classes from texts
    "mlebench/tgs-salt-identification-challenge",  # masks
    "mlebench/tweet-sentiment-extraction",  # texts from texts
    "mlebench/ventilator-pressure-prediction",  # time series
)
QUICK_SET = (
    TaskGroup(("pocket:smoke",), "real", 2),
    TaskGroup(_MINIATURES, "synthetic-1", 1),
    TaskGroup(_MINIATURES, "synthetic-2", 1),
)
SEEDS = 3
"""Seeds of tasks that are asked for by name."""


def choose_groups(names: Sequence[str], seeds: int | None) -> tuple[TaskGroup, ...]:
    """Return the quick set, with its seeds repeated `seeds` times; or the tasks that are asked for."""
    if names:
        return (TaskGroup(tuple(names), None, seeds or SEEDS),)
    return tuple(replace(group, seeds=group.seeds * (seeds or 1)) for group in QUICK_SET)


def prepare_missing(home: Home, groups: Iterable[TaskGroup], registry: Registry, progress: Progress) -> int:
    """Prepare the data that is not prepared yet; return of how many tasks and variants it was."""
    prepared = 0
    for group in groups:
        for task in registry.select_all(group.names):
            try:
                load_prepared(home, task, None, choose_variant(home, task, None, group.variant))
            except NotPrepared:
                prepare(home, task, None, group.variant or "real", progress=progress)
                prepared += 1
    return prepared
