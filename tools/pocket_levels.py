"""What the panels of pocket show: levels of strength far apart, and whether `quick` ranks methods as all tasks do.

`python tools/pocket_levels.py` prints both, and exits with 1 if a promise of docs/pocket.md does not hold.
"""

import re
import sys
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.tasks import Measured, Registry, Solution, Task

MIN_SEPARATION = 3.0
MIN_CORRELATION = 0.95
METHODS = {
    "extra trees": "extra-trees",
    "boosting": "boost",
    "forest": "forest",
    "tree": "tree(?!s)",
    "neighbors": "neighbo|nearest",
    "naive Bayes": "naive-bayes",
    "linear model": "logistic|ridge|lasso|line|regression",
    "kernel machine": "machine|support-vectors|gaussian|kernel",
}
"""Methods that recur in panels, and what the names of their solutions contain; the first that matches counts."""
CONSTANTS = {
    "address-year": "median",
    "bike-rentals": "mean-of-logarithm",
    "brain-tissue": "usual-places",
    "diamond-intervals": "quantiles-of-all",
    "house-price": "mean-of-logarithm",
    "next-character": "frequencies",
    "next-visit": "mean",
    "paper-topics": "first-topic",
    "passage-search": "as-listed",
    "patient-survival": "constant",
    "yeast-functions": "always",
}
"""The best solution of a panel that predicts the same for all rows, where it is not the weakest one."""


@dataclass(frozen=True)
class Levels:
    """Four solutions of rising strength: `trivial` is the best constant, or in timed tasks the starter itself.

    `good` is the middle one of the solutions that are better than the starter.
    """

    trivial: Solution | None
    starter: Solution
    good: Solution
    strong: Solution
    sign: int
    """1 where a higher score is better, else -1."""

    @property
    def separation(self) -> float:
        """The smallest distance of neighbors in units of seed noise, the larger spread of the two; at most 1000.

        It is negative where a level is worse than the one below.
        """
        steps = [*([self.trivial] if self.trivial else []), self.starter, self.good, self.strong]
        gaps = [
            self.sign
            * (higher.score - lower.score)
            / max(higher.spread, lower.spread, abs(higher.score - lower.score) / 1000)
            for lower, higher in pairwise(steps)
        ]
        return min(gaps)


def find_levels(task: Task) -> Levels:
    """Return the levels of a task's panel."""
    measured = figures_of(task)
    starter = Solution(name="starter", score=measured.baseline, spread=measured.baseline_spread, seconds=0.0)
    better = [solution for solution in measured.panel if task.metric.better(solution.score, starter.score)]
    by_name = {solution.name: solution for solution in measured.panel}
    trivial = None if task.timed else by_name[CONSTANTS.get(task.name, measured.panel[0].name)]
    sign = 1 if task.metric.direction == "higher" else -1
    return Levels(trivial, starter, better[len(better) // 2], measured.panel[-1], sign)


@dataclass(frozen=True)
class Agreement:
    """Rank correlations of methods by a part of the tasks with all tasks, and with the tasks outside of the part."""

    with_all: float
    with_others: float
    methods: int
    median_of_sets: float
    """The correlation with all tasks of the middle one of random parts of the same size."""
    sets_as_good: float
    """The share of random parts that reach the correlation of this one."""


def correlate_splits(tasks: list[Task], chosen: list[str], sets: int = 1000) -> Agreement:
    """Return how a part of the tasks ranks methods, against all tasks, against the others, and against random parts.

    Of a method a task has the mean of its solutions' scores, scaled so that the weakest solution of the panel has 0 and
    the strongest 1. Not every panel has every method, so effects of methods and tasks are fitted that add up to them.
    The starter counts as a method. The weakest and the strongest solution do not: their ranks are known before. Random
    parts count if every method occurs in them.
    """
    scores = [_score_methods(task) for task in tasks]
    methods = sorted({method for by_method in scores for method in by_method})
    matrix = np.array([[by_method.get(method, np.nan) for by_method in scores] for method in methods])
    part = np.array([task.name in chosen for task in tasks])
    with_all = _correlate(matrix[:, part], matrix)
    random = np.random.default_rng(0)
    parts = (random.permutation(len(tasks))[: part.sum()] for _ in range(sets))
    complete = [rows for rows in parts if not np.isnan(matrix[:, rows]).all(axis=1).any()]
    by_chance = np.array([_correlate(matrix[:, rows], matrix) for rows in complete])
    return Agreement(
        with_all,
        _correlate(matrix[:, part], matrix[:, ~part]),
        len(methods),
        float(np.median(by_chance)),
        float((by_chance >= with_all - 1e-9).mean()),
    )


def _correlate(first: np.ndarray, second: np.ndarray) -> float:
    ranks = [np.argsort(np.argsort(_fit_effects(matrix))) for matrix in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


def _score_methods(task: Task) -> dict[str, float]:
    measured = figures_of(task)
    low, high = measured.panel[0].score, measured.panel[-1].score
    scaled = {solution.name: (solution.score - low) / (high - low) for solution in measured.panel}
    by_method: dict[str, list[float]] = {"starter": [(measured.baseline - low) / (high - low)]}
    for name in list(scaled)[1:]:
        if method := next((method for method, pattern in METHODS.items() if re.search(pattern, name)), None):
            by_method.setdefault(method, []).append(scaled[name])
    return {method: float(np.mean(values)) for method, values in by_method.items()}


def _fit_effects(matrix: np.ndarray) -> np.ndarray:
    """Return the effects of rows in a matrix with gaps, next to those of columns, by least squares."""
    rows, columns = np.nonzero(~np.isnan(matrix))
    design = np.column_stack([np.eye(len(matrix))[rows], np.eye(matrix.shape[1])[columns]])
    return np.linalg.lstsq(design, matrix[rows, columns], rcond=None)[0][: len(matrix)]


def figures_of(task: Task) -> Measured:
    """Return the measured figures of a task, which every one of the suite has."""
    assert task.measured is not None, task.id
    return task.measured


def main() -> int:
    """Print the separation of each task and the correlation; exit with 1 if one is too small."""
    registry = Registry()
    tasks, quick = registry.select("pocket"), list(registry.suites["pocket"][0].splits["quick"])
    separations = {task.name: find_levels(task).separation for task in tasks}
    for name, separation in separations.items():
        sys.stdout.write(f"{name}: {separation:.1f} times the seed noise\n")
    agreement = correlate_splits([task for task in tasks if not task.timed], quick)
    sys.stdout.write(
        f"rank correlation of {agreement.methods} methods by quick with all tasks: {agreement.with_all:.3f}\n"
    )
    sys.stdout.write(f"the same with the tasks that are not in quick: {agreement.with_others:.3f}\n")
    sys.stdout.write(f"random sets: median {agreement.median_of_sets:.3f}, {agreement.sets_as_good:.1%} reach quick\n")
    return int(min(separations.values()) <= MIN_SEPARATION or agreement.with_all < MIN_CORRELATION)


if __name__ == "__main__":
    sys.exit(main())
