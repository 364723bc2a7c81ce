"""Metrics by name. Each is a pure function of arrays: `metric(truth, prediction, **params) -> float`.

A metric is given arrays of equal shape, truth first: one row per graded row, and a second axis where a task has several
target columns. It returns NaN where its formula has no value. Families are imported when a metric of theirs is needed.
"""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from assay.errors import CallError

_FAMILIES = {
    "classification": ("accuracy", "log_loss", "roc_auc"),
    "regression": ("mae", "rmse", "rmsle"),
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names}


class MetricFunction(Protocol):
    """What every metric looks like to its caller."""

    def __call__(self, truth: NDArray[Any], prediction: NDArray[Any], **params: Any) -> float: ...


def evaluate(name: str, truth: NDArray[Any], prediction: NDArray[Any], params: Mapping[str, Any]) -> float:
    """The score of `prediction` by the metric called `name`."""
    if truth.shape != prediction.shape:
        # Broadcasting would turn this mistake of ours into a plausible number.
        raise ValueError(f"truth has shape {truth.shape}, prediction {prediction.shape}")
    return float(metric(name)(truth, prediction, **params))


def metric(name: str) -> MetricFunction:
    """The metric called `name`."""
    if name not in _FAMILY_OF:
        near = difflib.get_close_matches(name, _FAMILY_OF, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names())}"
        raise CallError(f"no metric is called {name!r}; {hint}")
    family = importlib.import_module(f"{__name__}.{_FAMILY_OF[name]}")
    return cast(MetricFunction, getattr(family, name))


def names() -> list[str]:
    """Every metric there is."""
    return sorted(_FAMILY_OF)
