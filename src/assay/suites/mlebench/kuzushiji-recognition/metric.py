"""F1 of points in boxes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.formats import Boxes, Points
from assay.grading.metrics import metric


@metric("F1 score of points inside the bounding boxes of their labels", "higher", depends_on="objects")
def point_in_box_f1(truth: Sequence[Boxes], prediction: Sequence[Points]) -> float:
    """F1 of the boxes that contain a point of their label: `2 hits / (boxes + points)`, over all pages.

    Boxes are processed in order, and each takes the first point of its label that is inside, not on its border, and
    was not taken before. 0 where there is nothing at all.
    """
    hits = boxes = points = 0
    for true, predicted in zip(truth, prediction, strict=True):
        boxes, points = boxes + len(true.labels), points + len(predicted.labels)
        for label in set(true.labels):
            hits += _boxes_hit(true.corners[true.labels == label], predicted.positions[predicted.labels == label])
    return 2 * hits / (boxes + points) if boxes + points else 0.0


def _boxes_hit(corners: NDArray[np.float64], points: NDArray[np.float64]) -> int:
    """How many boxes find a point of their own, all being of one label."""
    hits, free = 0, np.ones(len(points), bool)
    for box in corners:
        inside = free & (points > box[:2]).all(axis=1) & (points < box[2:]).all(axis=1)
        if inside.any():
            free[inside.argmax()] = False
            hits += 1
    return hits
