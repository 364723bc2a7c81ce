"""Metrics: pure functions of arrays, `metric(truth, prediction, **params) -> float`, with facts about them.

A metric takes arrays of equal shape, truth first: one row per graded row, and a second axis where a task has several
target columns. It returns NaN where its formula has no value. Those that several tasks share are here, registered under
`assay.metrics`; one that serves a single task is in its folder, and is named `metric.py:NAME`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from assay.core.plugins import Plugins
from assay.tasks import Task

DependsOn = Literal["values", "probabilities", "order", "labels", "sets", "rankings", "objects", "masks", "text"]
"""What decides a score: how far numbers are off, probabilities, only the order of numbers, one label per row, a set of
labels per row, labels from best to worst, objects located in images, masks of pixels, or text."""


@dataclass(frozen=True)
class MetricFunction:
    """A metric and what is known about it.

    `title` names it in plain words, with parameters in braces; `direction` says which scores are better, and `range`
    has the lowest and the highest possible one.
    """

    function: Callable[..., float]
    title: str
    direction: Literal["higher", "lower"]
    depends_on: DependsOn
    range: tuple[float, float]

    def __call__(self, truth: Any, prediction: Any, **params: Any) -> float:
        """Return the score."""
        return self.function(truth, prediction, **params)

    @property
    def best(self) -> float:
        """The best possible score."""
        return self.range[1] if self.direction == "higher" else self.range[0]


METRICS = Plugins[MetricFunction]("metrics", "metric", lambda value: isinstance(value, MetricFunction))


def metric(
    title: str, direction: Literal["higher", "lower"], *, depends_on: DependsOn, range: tuple[float, float] = (0, 1)
) -> Callable[[Callable[..., float]], MetricFunction]:
    """Make a function a metric: `@metric("root mean squared error", "lower", depends_on="values")`."""
    return lambda function: MetricFunction(function, title, direction, depends_on, range)


def find_metric(task: Task) -> MetricFunction:
    """Return the metric of a task under its edition's rules."""
    section = task.metric
    content = (task.folder / section.file).read_bytes() if section.file else b""
    return _load(section.reference, task.folder, content)


def describe_metric(task: Task) -> str:
    """Return a task's metric in plain words, such as `mean average precision at 5`."""
    return find_metric(task).title.format(**task.metric.params)


def evaluate(
    function: MetricFunction, truth: NDArray[Any], prediction: NDArray[Any], params: Mapping[str, Any]
) -> float:
    """Return the score of `prediction`."""
    if truth.shape != prediction.shape:
        # Broadcasting would turn this bug into a plausible number.
        raise ValueError(f"truth has shape {truth.shape}, prediction {prediction.shape}")
    return float(function(truth, prediction, **params))


@lru_cache(maxsize=128)
def _load(reference: str, folder: Path, content: bytes) -> MetricFunction:
    """Load a metric; cached by the `content` of its file, because lists of submissions are graded in one process."""
    return METRICS.load(reference, folder)
