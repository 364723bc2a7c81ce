"""Metrics of segmentation masks, one mask per row.

All but the Hausdorff distance are counted from runs, so an image of a billion pixels costs no more than its runs.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import MissingDependency
from assay.formats import Mask

_BLOCK = 8  # voxels along each side
_PREDICTED_TOO_MUCH = 10  # times the true voxels: such a prediction is as wrong as can be


def mean_dice(truth: Sequence[Mask], prediction: Sequence[Mask], *, both_empty: float = 1.0) -> float:
    """The mean over images of Dice's coefficient: `2 |T and P| / (|T| + |P|)`.

    An image where truth and prediction have no pixel counts as `both_empty`. NaN for no images.
    """
    return _mean([_dice(true, given, both_empty) for true, given in zip(truth, prediction, strict=True)])


def global_dice(truth: Sequence[Mask], prediction: Sequence[Mask]) -> float:
    """Dice's coefficient of all images as one: `2 sum |T and P| / (sum |T| + sum |P|)`.

    NaN where no image has a pixel, true or predicted.
    """
    shared = sum(true.overlap(given) for true, given in zip(truth, prediction, strict=True))
    total = sum(mask.area for mask in truth) + sum(mask.area for mask in prediction)
    return 2 * shared / total if total else math.nan


def fbeta_pixel(truth: Sequence[Mask], prediction: Sequence[Mask], *, beta: float = 0.5) -> float:
    """The mean over images of F-beta: `(1 + beta²) |T and P| / (beta² |T| + |P|)`.

    It is the harmonic mean of precision and recall over pixels, where recall weighs beta times as much. NaN for no
    images, and where one has no pixel, true or predicted.
    """
    scores = []
    for true, given in zip(truth, prediction, strict=True):
        weighed = beta**2 * true.area + given.area
        scores.append((1 + beta**2) * true.overlap(given) / weighed if weighed else math.nan)
    return _mean(scores)


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
    for true, given in zip(truth, prediction, strict=True):
        shared = true.overlap(given)
        union = true.area + given.area - shared
        if true.area == 0:
            scores.append(float(given.area == 0))
            continue
        if given.area == 0 and empty_prediction_is_full:
            shared, union = true.area, true.pixels
        # In twentieths and whole numbers, so that an image exactly at a threshold is not above it.
        scores.append(sum(20 * shared > twentieths * union for twentieths in range(10, 20)) / 10)
    return _mean(scores)


def dice_hausdorff(
    truth: Sequence[Mask],
    prediction: Sequence[Mask],
    *,
    volumes: Sequence[str],
    slices: Sequence[str],
    classes: Sequence[str],
    dice_weight: float = 0.4,
    hausdorff_weight: float = 0.6,
    merge_classes: bool = False,
) -> float:
    """Overlap of slices and distance of volumes in one number: `dice_weight D + hausdorff_weight (1 - H)`.

    A row is one class in one slice of a volume: `volumes`, `slices` and `classes` name them. D is the mean of Dice's
    coefficient over the rows where truth or prediction has a pixel. H is the mean over volumes and classes of the
    Hausdorff distance: slices are stacked in the order of their names, each axis is scaled to length 1, and the
    greatest distance from a voxel of either side to the nearest of the other is divided by `sqrt(3)`, the diagonal.
    Where only one side has voxels, or over 10 times as many are predicted as are true, the distance is 1; where
    neither has, it is left out. NaN where no row has a pixel.

    With `merge_classes` a volume is one object, whatever class its voxels have. The published grader of
    uw-madison-gi-tract-image-segmentation does this.
    """
    pairs = list(zip(truth, prediction, strict=True))
    dice = [_dice(true, given, math.nan) for true, given in pairs]
    objects: dict[tuple[str, str], list[int]] = {}
    for row, (volume, name) in enumerate(zip(volumes, classes, strict=True)):
        objects.setdefault((volume, "" if merge_classes else name), []).append(row)
    distances = [
        _hausdorff(_stacked([truth[row] for row in rows], names), _stacked([prediction[row] for row in rows], names))
        for rows in objects.values()
        if (names := [slices[row] for row in rows])
    ]
    return dice_weight * _mean_of_numbers(dice) + hausdorff_weight * (1 - _mean_of_numbers(distances))


def _stacked(masks: Sequence[Mask], names: Sequence[str]) -> NDArray[np.bool_]:
    """The masks as one volume of shape (slices, height, width), those of one slice laid over each other."""
    place = {name: depth for depth, name in enumerate(sorted(set(names)))}
    volume = np.zeros((len(place), masks[0].height, masks[0].width), bool)
    for mask, name in zip(masks, names, strict=True):
        if len(mask.starts):
            volume[place[name]] |= mask.decode()
    return volume


def _hausdorff(truth: NDArray[np.bool_], prediction: NDArray[np.bool_]) -> float:
    true, given = int(truth.sum()), int(prediction.sum())
    if true == 0 and given == 0:
        return math.nan
    if true == 0 or given == 0 or given > _PREDICTED_TOO_MUCH * true:
        return 1.0
    return max(_farthest(truth, prediction), _farthest(prediction, truth)) / math.sqrt(3)


def _farthest(volume: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """The greatest distance from a voxel of `volume` to the nearest one of `other`, each axis scaled to length 1."""
    outside = np.argwhere(volume & ~other)
    if len(outside) == 0:
        return 0.0
    try:
        from scipy import ndimage, spatial
    except ImportError:
        raise MissingDependency("The Hausdorff distance", "mlebench") from None
    # Nearest to a voxel outside is always one on the surface: from any other, a step towards it stays inside.
    surface = np.argwhere(other & ~ndimage.binary_erosion(other))
    tree, scaled = spatial.KDTree(surface / volume.shape), outside / volume.shape
    # One voxel of each block is measured first; the others cannot be farther than it by more than they are from it.
    blocks = np.ravel_multi_index(tuple(outside.T // _BLOCK), volume.shape)
    _, first, block = np.unique(blocks, return_index=True, return_inverse=True)
    measured, _ = tree.query(scaled[first])
    at_most = measured[block] + np.linalg.norm(scaled - scaled[first][block], axis=1)
    farther, _ = tree.query(scaled[at_most > measured.max()])
    return float(max(measured.max(), farther.max(initial=0.0)))


def _dice(truth: Mask, prediction: Mask, both_empty: float) -> float:
    total = truth.area + prediction.area
    return 2 * truth.overlap(prediction) / total if total else both_empty


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores) if scores else math.nan


def _mean_of_numbers(scores: Sequence[float]) -> float:
    return _mean([score for score in scores if not math.isnan(score)])
