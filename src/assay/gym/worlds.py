"""Worlds: the tasks, with the data of one variant each, that episodes take place in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import Prepared, load_prepared, prepare
from assay.tasks import Registry
from assay.tasks.model import is_miniature


@dataclass(frozen=True)
class World:
    """A task, a variant of its data, the edition of its rules (by default the first), and your own suite's folder."""

    task: str
    variant: str = "real"
    edition: str | None = None
    folder: Path | None = None

    def load(self, home: Home) -> Prepared:
        """Return the prepared data; a miniature is made if it is missing, other data must have been prepared."""
        task = Registry([self.folder] if self.folder else []).task(self.task)
        if is_miniature(self.variant):
            return prepare(home, task, self.edition, self.variant, progress=NoProgress())
        return load_prepared(home, task, self.edition, self.variant)


def make_worlds(
    tasks: str | Sequence[str], *, seeds: int = 8, held_out: int = 2, edition: str | None = None
) -> tuple[list[World], list[World]]:
    """Return worlds to train in and held-out ones: each task with `seeds` and with `held_out` other miniatures.

    A miniature is made up from a seed: all of its rows differ from those of another seed.

    Args:
        tasks: Names of tasks, suites or splits that have miniatures: `mlebench:low`.
        seeds: Miniatures of each task to train on.
        held_out: Miniatures of each task to hold out.
        edition: Edition of the rules; by default the first of the suite.
    """
    names = (tasks,) if isinstance(tasks, str) else tuple(tasks)
    chosen = Registry().select_all(names)
    if lacking := [task.id for task in chosen if not task.folder.joinpath("synthetic.py").is_file()]:
        raise UsageError(f"{', '.join(lacking[:3])}: there are no miniatures; pass World(task) with real data instead")

    def list_worlds(numbers: Iterable[int]) -> list[World]:
        return [World(task.id, f"synthetic-{number}", edition) for number in numbers for task in chosen]

    return list_worlds(range(seeds)), list_worlds(range(seeds, seeds + held_out))
