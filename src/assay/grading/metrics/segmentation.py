"""Metrics of segmentation masks, one mask per row, counted from runs: large images cost no more than their runs."""

import math
from collections.abc import Sequence

from assay.formats import Mask
from assay.grading.metrics import metric
from assay.grading.metrics.combine import exact_mean


@metric("mean Dice coefficient", "higher", depends_on="masks")
def mean_dice(truth: Sequence[Mask], prediction: Sequence[Mask], *, both_empty: float = 1.0) -> float:
    """The mean over images of Dice's coefficient: `2 |T and P| / (|T| + |P|)`.

    An image where truth and prediction have no pixel counts as `both_empty`. NaN for no images.
    """
    return exact_mean(
        [mask_dice(true, predicted, both_empty) for true, predicted in zip(truth, prediction, strict=True)]
    )


@metric("Dice coefficient over all pixels", "higher", depends_on="masks")
def global_dice(truth: Sequence[Mask], prediction: Sequence[Mask]) -> float:
    """Dice's coefficient of all images as one: `2 sum |T and P| / (sum |T| + sum |P|)`.

    NaN where no image has a pixel, true or predicted.
    """
    shared = sum(true.overlap(predicted) for true, predicted in zip(truth, prediction, strict=True))
    total = sum(mask.area for mask in truth) + sum(mask.area for mask in prediction)
    return 2 * shared / total if total else math.nan


def mask_dice(truth: Mask, prediction: Mask, both_empty: float) -> float:
    """Dice's coefficient of two masks, `both_empty` where neither has a pixel."""
    total = truth.area + prediction.area
    return 2 * truth.overlap(prediction) / total if total else both_empty
