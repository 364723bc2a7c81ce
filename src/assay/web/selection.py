"""Which trials a leaderboard is about, and the published results that it can be compared with."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from assay.core.claim import Published
from assay.core.text import plural
from assay.results.frame import Frame, RuleSet, TrialRow
from assay.results.published_figures import load_published_figures
from assay.suites.mlebench.studies.published import SPLITS, load_leaderboard
from assay.tasks import Task
from assay.tasks.registry import load_suite


@dataclass(frozen=True)
class Selection:
    """The properties that selected trials have in common; None is any. `published` adds published results."""

    suite: str | None = None
    split: str | None = None
    category: str | None = None
    edition: str | None = None
    sealed: str | None = None
    published: bool = False

    @classmethod
    def read(cls, query: QueryParams) -> "Selection":
        """Read it from an address."""
        named = {name: query.get(name) or None for name in PROPERTIES}
        return cls(**named, published=query.get("published") == "yes")

    @property
    def is_empty(self) -> bool:
        """Whether all trials are selected."""
        return all(getattr(self, name) is None for name in PROPERTIES)

    @property
    def query(self) -> str:
        """The selection as it is in an address, with its question mark; empty if there is nothing to say."""
        chosen = {name: value for name in PROPERTIES if (value := getattr(self, name))}
        text = urlencode(chosen | ({"published": "yes"} if self.published else {}))
        return f"?{text}" if text else ""

    def select(self, rows: Frame) -> Frame:
        """Return the trials that have the properties."""
        chosen = {name: value for name in PROPERTIES if (value := getattr(self, name)) is not None}
        tasks = rows.known_tasks
        return rows.where(lambda row: all(PROPERTIES[name](row, tasks) == value for name, value in chosen.items()))


def _category(row: TrialRow, tasks: Mapping[str, Task]) -> str:
    task = tasks.get(row.task)
    return (task.category or task.kind) if task else ""


PROPERTIES: Mapping[str, Callable[[TrialRow, Mapping[str, Task]], str]] = {
    "suite": lambda row, tasks: row.suite,
    "split": lambda row, tasks: row.split,
    "category": _category,
    "edition": lambda row, tasks: row.edition,
    "sealed": lambda row, tasks: "no" if row.unsealed else "yes",
}
"""Property -> its value for a trial. These are the fields of `Selection` and the parameters of the address."""
assert set(PROPERTIES) == {field.name for field in fields(Selection)} - {"published"}


def find_choices(rows: Frame) -> dict[str, list[str]]:
    """Return the values of each property in which trials differ."""
    values = {name: sorted({find(row, rows.known_tasks) for row in rows} - {""}) for name, find in PROPERTIES.items()}
    return {name: distinct for name, distinct in values.items() if len(distinct) > 1}


@dataclass(frozen=True)
class PublishedRow:
    """A published result, for reference; it was not verified here."""

    agent: str
    models: str
    success: Published
    note: str


@dataclass(frozen=True)
class PublishedRows:
    """Published results of one set of rules, the best first, and what they are; `problem` says why there are none."""

    rows: tuple[PublishedRow, ...] = ()
    about: str = ""
    problem: str = ""


def has_published(task: Task) -> bool:
    """Whether there are published results of the task's suite."""
    return task.suite == "mlebench" or load_published_figures(task.folder.parent) is not None


def find_published(rules: RuleSet, tasks: Collection[str], folder: Path) -> PublishedRows:
    """Return the published results of these tasks, to put beside trials with these rules; `folder` is their suite's."""
    names = {name.partition("/")[2] for name in tasks}
    if rules.suite == "mlebench":
        if (rules.edition, rules.variant) != ("v1", "real"):
            return PublishedRows(problem="Published rates are comparable with edition v1 on real data only.")
        splits = load_suite(folder).splits
        split = next((name for name in SPLITS if set(splits[name]) == names), None)
        if split is None:
            sizes = ", ".join(f"{name} ({len(splits[name])})" for name in SPLITS)
            here = plural(len(names), "task")
            return PublishedRows(problem=f"Published rates are over whole splits, {sizes}, not over the {here} here.")
        named = [
            PublishedRow(
                agent=row.agent,
                models=row.models,
                success=Published(row.rates[split][0] / 100, row.rates[split][1] / 100),
                note=f"{row.hours} h, {row.date}" + (", known leakage" if row.known_leakage else ""),
            )
            for row in load_leaderboard()
        ]
        about = "the leaderboard of MLE-bench as published, February 2026; ± over seeds only, which is too small"
        return PublishedRows(_best_first(named), about)
    figures = load_published_figures(folder)
    if figures is None:
        return PublishedRows()
    if unknown := names - set(figures.success):
        return PublishedRows(problem=f"There are no published figures of {', '.join(sorted(unknown))}.")
    means = [_mean(figures.success[name][number] for name in names) for number in range(len(figures.columns))]
    named = [
        PublishedRow(
            "research agent" if column != "Starter" else "starter", column, Published(rate / 100), "as published"
        )
        for column, rate in zip(figures.columns, means, strict=True)
        if rate is not None
    ]
    return PublishedRows(_best_first(named), figures.source)


def _mean(rates: Iterable[float | None]) -> float | None:
    """Return the mean over tasks; None where one of them was not published."""
    known = list(rates)
    return None if None in known else fmean(rate for rate in known if rate is not None)


def _best_first(rows: Sequence[PublishedRow]) -> tuple[PublishedRow, ...]:
    return tuple(sorted(rows, key=lambda row: -row.success.value))
