"""Average precision of recommended articles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric, multilabel


@metric("mean average precision at {k}", "higher", depends_on="rankings")
def map_at_k(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    k: int,
    separator: str | None = None,
    ignore_leading_zeros: bool = False,
) -> float:
    """As `multilabel.map_at_k`; with `ignore_leading_zeros`, 0706016001 is right where 706016001 is true.

    The published grader does not ignore them, although its answers lack the zeros that the official ids begin with.
    """
    if ignore_leading_zeros:
        return multilabel.map_at_k(_strip_zeros(truth), _strip_zeros(prediction), k=k, separator=" ")
    return multilabel.map_at_k(truth, prediction, k=k, separator=separator)


def _strip_zeros(rows: NDArray[Any]) -> NDArray[Any]:
    stripped = [" ".join(label.lstrip("0") for label in str(row or "").split()) for row in rows.tolist()]
    return np.array(stripped, dtype=object)
