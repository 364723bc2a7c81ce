"""Precision of upright boxes in space."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission, MissingDependency
from assay.formats import Boxes3D
from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean

from .._shared.detection import match_boxes

_THRESHOLDS_3D = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_RIGHT_ANGLE = 1e-8  # the greatest scalar product of two sides that counts as 0


@metric("mean average precision of 3D boxes over IoU thresholds from 0.5 to 0.95", "higher", depends_on="objects")
def map_3d_iou(
    truth: Sequence[Boxes3D],
    prediction: Sequence[Boxes3D],
    *,
    thresholds: Sequence[float] = _THRESHOLDS_3D,
    average_precision: bool = False,
    check_corners: bool = False,
    scenes: Sequence[str] | None = None,
) -> float:
    """The mean over scenes and thresholds of `hits / (hits + false boxes + missed boxes)`, a hit being IoU above it.

    IoU is the share of two boxes' common volume in their joint one. Boxes of a class go by falling score, each to the
    true box of that class it overlaps most: a hit, unless that box was hit before. A scene without any box, true or
    predicted, scores 1; one without true boxes 0. NaN for no scenes.

    With `average_precision`, a scene scores the mean over its true classes of the area under the precision by recall,
    raised to the best at any higher recall; predicted classes that it does not have are free, and a scene without true
    boxes makes the score NaN. With `check_corners`, predicted boxes of its true classes need sizes above 0 and right
    angles, which corners far from the origin lack because of rounding; others are not checked. Then boxes that shapely
    intersects in points only, because their sides nearly coincide, do not overlap. With `scenes`, their names, scores
    are added up in the order of these, which decides the last digit. The published grader of
    3d-object-detection-for-autonomous-vehicles does all three.
    """
    scores: list[float] = []
    pairs = list(zip(truth, prediction, strict=True))
    if scenes is not None:
        pairs = [pairs[row] for row in sorted(range(len(pairs)), key=scenes.__getitem__)]
    for true, predicted in pairs:
        if check_corners:
            _check_corners(predicted, np.flatnonzero(np.isin(predicted.labels, list(set(true.labels)))))
        scores.extend(_scene_scores(true, predicted, thresholds, average_precision, from_origin=check_corners))
    return mean(scores)


def _area_3d(hit: NDArray[Any], number: int) -> float:
    """The same at each box, with recall divided before it is subtracted: this decides the published last digit."""
    recall = np.concatenate([[0.0], hit / number, [1.0]])
    precision = np.concatenate([[0.0], hit / (np.arange(len(hit)) + 1), [0.0]])
    raised = np.maximum.accumulate(precision[::-1])[::-1]
    steps = np.flatnonzero(np.diff(recall))
    return float(((recall[steps + 1] - recall[steps]) * raised[steps + 1]).sum())


def _check_corners(boxes: Boxes3D, rows: NDArray[np.intp]) -> None:
    """Refuse boxes with NaN, a size that is not above 0, or corners that are too far away to form right angles."""
    with np.errstate(all="ignore"):  # an angle of corners that are infinitely far away is NaN, which is not right
        corners = _footprints(boxes, rows, np.zeros(2))
        sides = np.roll(corners, -1, axis=1) - corners
        angles = (sides * np.roll(sides, 1, axis=1)).sum(axis=-1)
    known = not np.isnan(boxes.centers[rows]).any() and (boxes.sizes[rows] > 0).all()
    if not (known and (np.abs(angles) <= _RIGHT_ANGLE).all()):
        raise InvalidSubmission("A box has a size that is not above 0, or is too far away for its corners to be exact.")


def _scene_scores(
    truth: Boxes3D, prediction: Boxes3D, thresholds: Sequence[float], average_precision: bool, *, from_origin: bool
) -> Iterator[float]:
    """The score of one scene at each threshold."""
    overlaps = {
        label: _overlap_3d(truth, prediction, label, min(thresholds), from_origin=from_origin)
        for label in sorted(set(truth.labels))
    }
    for threshold in thresholds:
        hits = [match_boxes(overlap, threshold, only_free=False) for overlap in overlaps.values()]
        if average_precision:
            numbers = [overlap.shape[1] for overlap in overlaps.values()]
            yield mean([_area_3d(np.cumsum(hit), number) for hit, number in zip(hits, numbers, strict=True)])
        else:
            hit = sum(int(each.sum()) for each in hits)
            involved = len(truth.labels) + len(prediction.labels) - hit
            yield hit / involved if involved else 1.0


def _overlap_3d(
    truth: Boxes3D, prediction: Boxes3D, label: str, least: float, *, from_origin: bool
) -> NDArray[np.float64]:
    """The IoU of each predicted box of a label, by falling score, with each true one; 0 if it must be below `least`.

    It is the common ground times the common height, of the joint volume. Corners are computed as seen from the true box
    or, less exactly, `from_origin`.
    """
    rows_of_label = np.flatnonzero(prediction.labels == label).tolist()
    ranked = sorted(
        rows_of_label, key=lambda row: float(prediction.scores[row]), reverse=True
    )  # NaN stays where Python leaves it
    rows = np.array(ranked, np.intp)[:, None]
    others = np.flatnonzero(truth.labels == label)[None]
    with np.errstate(all="ignore"):  # what is infinite overlaps with nothing
        (low, high), (other_low, other_high) = _heights(prediction, rows), _heights(truth, others)
        height = np.clip(np.minimum(high, other_high) - np.maximum(low, other_low), 0, None)
        volumes = prediction.sizes[rows].prod(axis=-1) + truth.sizes[others].prod(axis=-1)
        # Polygons are slow: they are cut only where the boxes could share enough ground and are near enough to.
        widths = np.minimum(prediction.sizes[rows, :2].prod(axis=-1), truth.sizes[others, :2].prod(axis=-1))
        reach = np.linalg.norm(prediction.sizes[rows, :2], axis=-1) + np.linalg.norm(truth.sizes[others, :2], axis=-1)
        distance = np.linalg.norm(prediction.centers[rows, :2] - truth.centers[others, :2], axis=-1)
        largest = widths * height * (1 + 1e-9)
        near = np.nonzero((distance < reach / 2) & (largest > 0) & (largest >= least * (volumes - largest)))
    overlap = np.zeros(volumes.shape)
    if len(near[0]):
        pairs = rows[near[0], 0], others[0, near[1]]
        common = height[near] * _common_ground(prediction, pairs[0], truth, pairs[1], from_origin=from_origin)
        overlap[near] = np.clip(common / (volumes[near] - common), 0, 1)
    return overlap


def _heights(boxes: Boxes3D, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    middle, half = boxes.centers[rows, 2], boxes.sizes[rows, 2] / 2
    return middle - half, middle + half


def _common_ground(
    boxes: Boxes3D,
    rows: NDArray[np.int64],
    others: Boxes3D,
    other_rows: NDArray[np.int64],
    *,
    from_origin: bool,
) -> NDArray[np.float64]:
    """The area that the turned rectangles under pairs of boxes share; `from_origin`, with shapely's errors."""
    try:
        import shapely
    except ImportError:
        raise MissingDependency("Overlap of rotated boxes", "mlebench") from None
    origin = np.zeros(2) if from_origin else others.centers[other_rows, :2]
    rectangle, other = (
        shapely.polygons(_footprints(*rectangles, origin)) for rectangles in ((boxes, rows), (others, other_rows))
    )
    shared: NDArray[np.float64] = shapely.area(shapely.intersection(rectangle, other))
    if not from_origin:
        empty = np.flatnonzero(shared == 0)
        lost = empty[shapely.relate_pattern(rectangle[empty], other[empty], "T********")]  # their insides intersect
        areas = shapely.area(rectangle[lost]) + shapely.area(other[lost])
        shared[lost] = areas - shapely.area(shapely.union(rectangle[lost], other[lost]))
    return shared


def _footprints(boxes: Boxes3D, rows: NDArray[np.int64], origin: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners of the rectangles that boxes cover on the ground, as seen from `origin`: (n, 4, 2)."""
    width, length, _ = boxes.sizes[rows].T / 2
    cosine, sine = np.cos(boxes.yaws[rows])[:, None], np.sin(boxes.yaws[rows])[:, None]
    ahead, aside = np.stack([length, length, -length, -length], 1), np.stack([-width, width, width, -width], 1)
    x, y = (boxes.centers[rows, :2] - origin).T[..., None]
    corners: NDArray[np.float64] = np.stack([x + ahead * cosine - aside * sine, y + ahead * sine + aside * cosine], -1)
    return corners
