"""Precision of masks over thresholds of overlap."""

from collections.abc import Sequence

from assay.formats import Mask
from assay.grading.metrics import metric
from assay.grading.metrics.combine import exact_mean


@metric("mean average precision over IoU thresholds from 0.5 to 0.95", "higher", depends_on="masks")
def mean_iou_precision(
    truth: Sequence[Mask], prediction: Sequence[Mask], *, empty_prediction_is_full: bool = False
) -> float:
    """The mean over images of the share of the thresholds 0.50, 0.55 … 0.95 that `|T and P| / |T or P|` is above.

    An image without true pixels scores 1 if none are predicted, else 0. NaN for no images.

    With `empty_prediction_is_full`, a mask without pixels predicted where there are true ones is taken for one that
    has all pixels, and so scores where they cover over half of the image. The published grader of
    tgs-salt-identification-challenge does this.
    """
    scores = []
    for true, predicted in zip(truth, prediction, strict=True):
        shared = true.overlap(predicted)
        union = true.area + predicted.area - shared
        if true.area == 0:
            scores.append(float(predicted.area == 0))
            continue
        if predicted.area == 0 and empty_prediction_is_full:
            shared, union = true.area, true.pixels
        # In twentieths and whole numbers, so that an image exactly at a threshold is not above it.
        scores.append(sum(20 * shared > twentieths * union for twentieths in range(10, 20)) / 10)
    return exact_mean(scores)
