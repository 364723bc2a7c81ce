"""ROC AUC with weighted bands."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.classification import area_below, roc_curve


@metric("weighted area under the ROC curve", "higher", depends_on="order")
def weighted_roc_auc(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    thresholds: Sequence[float] = (0.0, 0.4, 1.0),
    weights: Sequence[float] = (2.0, 1.0),
) -> float:
    """ROC AUC in which bands of the true positive rate weigh differently.

    The ROC curve has straight lines between its points, and `thresholds` cut it into bands of the true positive rate t.
    A band's area is the integral over t of `1 - false positive rate at t`; the score is the sum of `weight * area` over
    that of `weight * height`, so 1 is perfect, and with a single band it is the ROC AUC. A constant prediction has
    `0.82 / 1.4` by the default bands, which are those of alaska2-image-steganalysis. NaN where truth holds only one
    class.
    """
    positive = truth.astype(bool)
    if positive.all() or not positive.any():
        return float("nan")
    false_rate, hit_rate = roc_curve(positive, prediction.astype(np.float64))
    for cut in thresholds:
        if cut not in hit_rate:
            end = int(np.argmax(hit_rate > cut))
            (before, after), (low, high) = false_rate[end - 1 : end + 1], hit_rate[end - 1 : end + 1]
            between = before + (after - before) * (cut - low) / (high - low)
            false_rate, hit_rate = np.insert(false_rate, end, between), np.insert(hit_rate, end, cut)
    area = 0.0
    for floor, top, weight in zip(thresholds[:-1], thresholds[1:], weights, strict=True):
        band = (floor <= hit_rate) & (hit_rate <= top)
        heights = np.append(hit_rate[band], top) - floor
        area += weight * area_below(heights, np.append(false_rate[band], 1))
    return area / float(np.dot(np.diff(thresholds), weights))
