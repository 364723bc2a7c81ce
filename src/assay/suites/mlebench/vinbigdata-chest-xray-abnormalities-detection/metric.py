"""COCO's average precision of boxes."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from assay.formats import Boxes
from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean

from .._shared.detection import compute_iou, list_labels, rank_boxes, to_sizes

_COCO_LARGEST = 1e5**2
_COCO_RECALLS = np.linspace(0, 1, 101)


@metric("mean average precision at IoU 0.4", "higher", depends_on="objects")
def coco_map_iou40(
    truth: Sequence[Boxes],
    prediction: Sequence[Boxes],
    *,
    threshold: float = 0.4,
    max_boxes: int = 100,
    corners_as_sizes: bool = False,
    first_truth_never_counts: bool = False,
    images: Sequence[str] | None = None,
    positions: Sequence[int] | None = None,
) -> float:
    """The mean over true classes of COCO's average precision at one threshold, a hit being `IoU >= threshold`.

    In each image the `max_boxes` boxes of a class with the highest scores go by falling score, each to the true box
    it overlaps most of those not hit yet. Boxes of all images are ranked by score, equal ones in the order given; the
    average precision is the mean over the recalls 0, 0.01 … 1 of the best precision at that recall or above, 0 where it
    is not reached. Boxes with an area below 0 or above 10^10 do not count: a true one, what hits it instead of one that
    counts, and a predicted one without hit. NaN for no true boxes.

    The other parameters are errors of the published grader of vinbigdata-chest-xray-abnormalities-detection: with
    `corners_as_sizes`, xmax and ymax are taken for width and height; with `first_truth_never_counts`, a box that hits
    the very first true box counts as one without hit. `images` names the image of each row, and rows of one image
    are joined: it counts once, with the boxes of all of them. `positions` are those of the rows in the file, and the
    very first box in the file leaves the true box that it hits to be hit again.
    """
    first_found = None if positions is None or not len(positions) else int(np.argmin(positions))
    if images is not None:
        truth, prediction, first_found = _join_rows(truth, prediction, images, first_found)
    first = next((row for row, true in enumerate(truth) if len(true.labels)), None)
    areas = []
    for label in list_labels(truth):
        scores, hits, counted, number = [], [], [], 0
        for row, (true, predicted) in enumerate(zip(truth, prediction, strict=True)):
            ranks, of_label = rank_boxes(predicted, label)[:max_boxes], true.labels == label
            lost = 0 if first_truth_never_counts and row == first and of_label[0] else None
            again = ranks.tolist().index(0) if row == first_found and 0 in ranks else None
            corners, true_corners = predicted.corners[ranks], true.corners[of_label]
            overlap = compute_iou(
                to_sizes(corners, as_sizes=corners_as_sizes), to_sizes(true_corners, as_sizes=corners_as_sizes)
            )
            ignored = _is_ignored(true_corners)
            hit, free = _coco_hits(overlap, threshold, ignored, lost=lost, again=again)
            scores.append(predicted.scores[ranks])
            hits.append(hit)
            counted.append(hit | ~(free | _is_ignored(corners)))
            number += int((~ignored).sum())
        order = np.argsort(-np.concatenate(scores), kind="stable")
        order = order[np.concatenate(counted)[order]]
        if number:
            areas.append(_coco_area(np.concatenate(hits)[order], number))
    return mean(areas)


def _join_rows(
    truth: Sequence[Boxes], prediction: Sequence[Boxes], images: Sequence[str], first_found: int | None
) -> tuple[list[Boxes], list[Boxes], int | None]:
    """The truth of each image once, the boxes of all its rows, and the image that row `first_found` belongs to."""
    rows: dict[str, list[int]] = {}
    for row, image in enumerate(images):
        rows.setdefault(image, []).append(row)
    joined = [
        Boxes(
            *(np.concatenate([getattr(prediction[row], field.name) for row in image_rows]) for field in fields(Boxes))
        )
        for image_rows in rows.values()
    ]
    first_image = None if first_found is None else list(rows).index(images[first_found])
    return [truth[image_rows[0]] for image_rows in rows.values()], joined, first_image


def _is_ignored(corners: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which boxes COCO ignores because of their area."""
    with np.errstate(all="ignore"):
        area = (corners[:, 2:] - corners[:, :2]).prod(axis=1)
    ignored: NDArray[np.bool_] = (area < 0) | (area > _COCO_LARGEST)
    return ignored


def _coco_hits(
    overlap: NDArray[np.float64], threshold: float, ignored: NDArray[np.bool_], *, lost: int | None, again: int | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """As `_hits` with COCO's rules: at the threshold is enough, of equals the last; also which boxes hit ignored ones.

    Hits of the true box `lost` do not count, and the one that box `again` hits can be hit by another, too. A box goes
    to an `ignored` one only if it hits no other. An IoU that is NaN, of endless boxes, is not below any threshold.
    """
    hits, free = np.zeros((2, len(overlap)), bool)
    taken, order = np.zeros(len(ignored), bool), np.argsort(ignored, kind="stable").tolist()
    for row in np.flatnonzero(~(overlap < threshold).all(axis=1)):
        least, best = threshold, None
        for column in order:
            if best is not None and ignored[column] and not ignored[best]:
                break
            if not taken[column] and not overlap[row, column] < least:
                least, best = overlap[row, column], column
        if best is not None:
            taken[best], hits[row], free[row] = row != again, best != lost and not ignored[best], ignored[best]
    return hits, free


def _coco_area(hits: NDArray[np.bool_], number: int) -> float:
    hit = np.cumsum(hits)
    precision = np.maximum.accumulate((hit / (np.arange(len(hits)) + 1))[::-1])[::-1]
    index = np.searchsorted(hit / number, _COCO_RECALLS, side="left")
    return float(np.append(precision, 0.0)[index].mean())
