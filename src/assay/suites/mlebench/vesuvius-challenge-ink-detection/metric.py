"""F-beta of pixels."""

import math
from collections.abc import Sequence

from assay.formats import Mask
from assay.grading.metrics import metric
from assay.grading.metrics.combine import exact_mean


@metric("F{beta} score of pixels", "higher", depends_on="masks")
def fbeta_pixel(truth: Sequence[Mask], prediction: Sequence[Mask], *, beta: float = 0.5) -> float:
    """The mean over images of F-beta: `(1 + beta²) |T and P| / (beta² |T| + |P|)`.

    It is the harmonic mean of precision and recall over pixels, where recall weighs beta times as much. NaN for no
    images, and where one has no pixel, true or predicted.
    """
    scores = []
    for true, predicted in zip(truth, prediction, strict=True):
        weighed = beta**2 * true.area + predicted.area
        scores.append((1 + beta**2) * true.overlap(predicted) / weighed if weighed else math.nan)
    return exact_mean(scores)
