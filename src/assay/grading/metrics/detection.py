"""Metrics of objects found in images and scenes: points, boxes and upright boxes in space. One image per row."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission, MissingDependency
from assay.formats import Boxes, Boxes3D, Points

_THRESHOLDS_3D = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_RIGHT_ANGLE = 1e-8  # the greatest scalar product of two sides that counts as 0
_COCO_LARGEST = 1e5**2
_COCO_RECALLS = np.linspace(0, 1, 101)


def point_in_box_f1(truth: Sequence[Boxes], prediction: Sequence[Points]) -> float:
    """F1 of the boxes that contain a point of their label: `2 hits / (boxes + points)`, over all pages.

    Boxes are processed in order, and each takes the first point of its label that is inside, not on its border, and
    was not taken before. 0 where there is nothing at all.
    """
    hits = boxes = points = 0
    for true, given in zip(truth, prediction, strict=True):
        boxes, points = boxes + len(true.labels), points + len(given.labels)
        for label in set(true.labels):
            hits += _boxes_hit(true.corners[true.labels == label], given.places[given.labels == label])
    return 2 * hits / (boxes + points) if boxes + points else 0.0


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
    for label in _labels(truth):
        scores, hits, number = [], [], 0
        for true, given in zip(truth, prediction, strict=True):
            mine, corners = _ranked(given, label), true.corners[true.labels == label]
            hit = _hits(_iou(_sized(mine.corners), _sized(corners)), threshold, only_free=misses_at_zero)
            number += len(corners)
            scores.append(mine.scores)
            hits.append(hit)
            if misses_at_zero:
                nothing = len(hit) == len(corners) == 0
                hits.append(np.zeros(1, bool) if nothing else np.ones(len(corners) - hit.sum(), bool))
                scores.append(np.zeros(len(hits[-1])))
        areas.append(_area_by_score(np.concatenate(hits), np.concatenate(scores), number, raised=not misses_at_zero))
    return _mean(areas)


def coco_map_iou40(
    truth: Sequence[Boxes],
    prediction: Sequence[Boxes],
    *,
    threshold: float = 0.4,
    max_boxes: int = 100,
    corners_as_sizes: bool = False,
    first_truth_never_counts: bool = False,
    images: Sequence[str] | None = None,
    places: Sequence[int] | None = None,
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
    are joined: it counts once, with the boxes of all of them. `places` are the positions of the rows in the file, and
    the very first box in the file leaves the true box that it hits to be hit again.
    """
    first_found = None if places is None or not len(places) else int(np.argmin(places))
    if images is not None:
        truth, prediction, first_found = _join_rows(truth, prediction, images, first_found)
    first = next((row for row, true in enumerate(truth) if len(true.labels)), None)
    areas = []
    for label in _labels(truth):
        scores, hits, counted, number = [], [], [], 0
        for row, (true, given) in enumerate(zip(truth, prediction, strict=True)):
            ranks, wanted = _rank(given, label)[:max_boxes], true.labels == label
            lost = 0 if first_truth_never_counts and row == first and wanted[0] else None
            again = ranks.tolist().index(0) if row == first_found and 0 in ranks else None
            corners, true_corners = given.corners[ranks], true.corners[wanted]
            overlap = _iou(_sized(corners, as_sizes=corners_as_sizes), _sized(true_corners, as_sizes=corners_as_sizes))
            ignored = _is_ignored(true_corners)
            hit, free = _coco_hits(overlap, threshold, ignored, lost=lost, again=again)
            scores.append(given.scores[ranks])
            hits.append(hit)
            counted.append(hit | ~(free | _is_ignored(corners)))
            number += int((~ignored).sum())
        order = np.argsort(-np.concatenate(scores), kind="stable")
        order = order[np.concatenate(counted)[order]]
        if number:
            areas.append(_coco_area(np.concatenate(hits)[order], number))
    return _mean(areas)


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
    for true, given in pairs:
        if check_corners:
            _check_corners(given, np.flatnonzero(np.isin(given.labels, list(set(true.labels)))))
        scores.extend(_scene_scores(true, given, thresholds, average_precision, from_origin=check_corners))
    return _mean(scores)


def _boxes_hit(corners: NDArray[np.float64], places: NDArray[np.float64]) -> int:
    """How many boxes find a point of their own, all being of one label."""
    hits, free = 0, np.ones(len(places), bool)
    for box in corners:
        inside = free & (places > box[:2]).all(axis=1) & (places < box[2:]).all(axis=1)
        if inside.any():
            free[inside.argmax()] = False
            hits += 1
    return hits


def _labels(truth: Sequence[Boxes]) -> list[str]:
    return sorted({label for boxes in truth for label in boxes.labels})


def _ranked(boxes: Boxes, label: str) -> Boxes:
    """The boxes of one label by falling score, equal ones in the order given."""
    rows = _rank(boxes, label)
    return Boxes(boxes.labels[rows], boxes.scores[rows], boxes.corners[rows])


def _rank(boxes: Boxes, label: str) -> NDArray[np.intp]:
    """The numbers of the boxes of one label by falling score, equal ones in the order given."""
    rows = np.flatnonzero(boxes.labels == label)
    return rows[np.argsort(-boxes.scores[rows], kind="stable")]


def _join_rows(
    truth: Sequence[Boxes], prediction: Sequence[Boxes], images: Sequence[str], first_found: int | None
) -> tuple[list[Boxes], list[Boxes], int | None]:
    """The truth of each image once, the boxes of all its rows, and the image that row `first_found` belongs to."""
    rows: dict[str, list[int]] = {}
    for row, image in enumerate(images):
        rows.setdefault(image, []).append(row)
    joined = [
        Boxes(*(np.concatenate([getattr(prediction[row], field.name) for row in same]) for field in fields(Boxes)))
        for same in rows.values()
    ]
    found = None if first_found is None else list(rows).index(images[first_found])
    return [truth[same[0]] for same in rows.values()], joined, found


def _sized(corners: NDArray[np.float64], *, as_sizes: bool = False) -> NDArray[np.float64]:
    """Boxes as x, y, width, height."""
    return corners if as_sizes else np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])


def _iou(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """The IoU of each of `boxes` with each of `others`, all as x, y, width, height."""
    one, other = boxes[:, None], others[None]
    with np.errstate(all="ignore"):  # published graders accept infinite numbers and NaN, which count for nothing here
        least = np.fmax(one[..., :2], other[..., :2])
        sides = np.fmin(one[..., :2] + one[..., 2:], other[..., :2] + other[..., 2:]) - least
        common, apart = sides.prod(axis=-1), (sides <= 0).any(axis=-1)
        joint = one[..., 2:].prod(axis=-1) + other[..., 2:].prod(axis=-1) - common
        overlap: NDArray[np.float64] = np.divide(common, joint, out=np.zeros_like(common), where=~apart)
    return overlap


def _hits(overlap: NDArray[np.float64], threshold: float, *, only_free: bool) -> NDArray[np.bool_]:
    """Which boxes (rows, by falling score) hit a true box (columns), each of which can be hit once."""
    hits, taken = np.zeros(len(overlap), bool), np.zeros(overlap.shape[1], bool)
    for row in np.flatnonzero((overlap > threshold).any(axis=1)):
        open_to = np.where(taken, -1.0, overlap[row]) if only_free else overlap[row]
        best = int(open_to.argmax())
        hits[row] = open_to[best] > threshold and not taken[best]
        taken[best] |= hits[row]
    return hits


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
        for place in order:
            if best is not None and ignored[place] and not ignored[best]:
                break
            if not taken[place] and not overlap[row, place] < least:
                least, best = overlap[row, place], place
        if best is not None:
            taken[best], hits[row], free[row] = row != again, best != lost and not ignored[best], ignored[best]
    return hits, free


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


def _area_3d(hit: NDArray[Any], number: int) -> float:
    """The same at each box, with recall divided before it is subtracted: this decides the published last digit."""
    recall = np.concatenate([[0.0], hit / number, [1.0]])
    precision = np.concatenate([[0.0], hit / (np.arange(len(hit)) + 1), [0.0]])
    raised = np.maximum.accumulate(precision[::-1])[::-1]
    steps = np.flatnonzero(np.diff(recall))
    return float(((recall[steps + 1] - recall[steps]) * raised[steps + 1]).sum())


def _coco_area(hits: NDArray[np.bool_], number: int) -> float:
    hit = np.cumsum(hits)
    precision = np.maximum.accumulate((hit / (np.arange(len(hits)) + 1))[::-1])[::-1]
    place = np.searchsorted(hit / number, _COCO_RECALLS, side="left")
    return float(np.append(precision, 0.0)[place].mean())


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
        hits = [_hits(overlap, threshold, only_free=False) for overlap in overlaps.values()]
        if average_precision:
            numbers = [overlap.shape[1] for overlap in overlaps.values()]
            yield _mean([_area_3d(np.cumsum(hit), number) for hit, number in zip(hits, numbers, strict=True)])
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
    found = np.flatnonzero(prediction.labels == label).tolist()
    ranked = sorted(
        found, key=lambda row: float(prediction.scores[row]), reverse=True
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


def _mean(scores: Sequence[float]) -> float:
    return float(np.mean(scores)) if scores else math.nan
