"""Average precision of boxes by the rules of PASCAL VOC 2010."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.formats import Boxes
from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean

from .._shared.detection import compute_iou, list_labels, match_boxes, rank_boxes, to_sizes


@metric("mean average precision at IoU 0.5", "higher", depends_on="objects")
def map_iou50_siim(
    truth: Sequence[Boxes], prediction: Sequence[Boxes], *, threshold: float = 0.5, misses_at_zero: bool = False
) -> float:
    """The mean over true classes of the average precision of PASCAL VOC 2010, a hit being `IoU > threshold`.

    IoU is the share of two boxes' common area in their joint one. In each image, boxes of a class go by falling
    score, each to the true box it overlaps most: a hit, unless that box was hit before. Over all images, recall is
    hits / true boxes and precision is hits / boxes at each score that occurs, equal scores counting together; the
    average precision is the area under the precision, raised to the best at any higher recall. NaN for no true boxes.

    With `misses_at_zero`, a true box without hit joins the ranking as a hit of score 0, and an image without any box
    of the class as a box of score 0 that hits nothing; precision is not raised; and a box goes to the true box it
    overlaps most of those not hit yet. Predicting nothing then earns a class its share of images. The published
    grader of siim-covid19-detection does this.
    """
    areas = []
    for label in list_labels(truth):
        scores, hits, number = [], [], 0
        for true, predicted in zip(truth, prediction, strict=True):
            mine, corners = _ranked(predicted, label), true.corners[true.labels == label]
            hit = match_boxes(
                compute_iou(to_sizes(mine.corners), to_sizes(corners)), threshold, only_free=misses_at_zero
            )
            number += len(corners)
            scores.append(mine.scores)
            hits.append(hit)
            if misses_at_zero:
                nothing = len(hit) == len(corners) == 0
                hits.append(np.zeros(1, bool) if nothing else np.ones(len(corners) - hit.sum(), bool))
                scores.append(np.zeros(len(hits[-1])))
        areas.append(_area_by_score(np.concatenate(hits), np.concatenate(scores), number, raised=not misses_at_zero))
    return mean(areas)


def _ranked(boxes: Boxes, label: str) -> Boxes:
    """The boxes of one label by falling score, equal ones in the order given."""
    rows = rank_boxes(boxes, label)
    return Boxes(boxes.labels[rows], boxes.scores[rows], boxes.corners[rows])


def _area_by_score(hits: NDArray[Any], scores: NDArray[np.float64], number: int, *, raised: bool) -> float:
    """The area under precision by recall, both taken at each score that occurs."""
    if len(scores) == 0:
        return 0.0
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    return _area(np.cumsum(hits[order])[last], last + 1, number, raised=raised)


def _area(hit: NDArray[Any], ranked: NDArray[Any], number: int, *, raised: bool = True) -> float:
    """The sum of precision times the step of recall, at `hit` hits among the `ranked` first boxes."""
    precision = hit / ranked
    if raised:
        precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float((np.diff(hit, prepend=0) / number * precision).sum())
