"""Overlap of slices and distance of volumes."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission, MissingDependency
from assay.formats import Mask
from assay.grading.metrics import metric
from assay.grading.metrics.combine import exact_mean
from assay.grading.metrics.segmentation import mask_dice

_SLICE = "_slice_"  # what follows the name of the volume in the name of a slice
_BLOCK = 8  # voxels along each side
_PREDICTED_TOO_MUCH = 10  # times the true voxels: such a prediction is as wrong as can be


@metric(
    "weighted mean of the Dice coefficient (0.4) and one minus the 3D Hausdorff distance (0.6)",
    "higher",
    depends_on="masks",
)
def dice_hausdorff(
    truth: Sequence[Mask],
    prediction: Sequence[Mask | None],
    *,
    slices: Sequence[str],
    classes: Sequence[str],
    dice_weight: float = 0.4,
    hausdorff_weight: float = 0.6,
    merge_classes: bool = False,
    predicted_slices: Sequence[str] | None = None,
    max_pairs: int = 2**18,
) -> float:
    """Overlap of slices and distance of volumes in one number: `dice_weight D + hausdorff_weight (1 - H)`.

    A row is one class in one slice of a volume: `classes` and `slices` name them, as in `case1_day0_slice_0001`, where
    `case1_day0` is the volume. D is the mean of Dice's coefficient over the rows where truth or prediction has a pixel.
    H is the mean over volumes and classes of the Hausdorff distance: slices are stacked in the order of their names,
    each axis is scaled to length 1, and the greatest distance from a voxel of either side to the nearest of the other
    is divided by `sqrt(3)`, the diagonal. Where only one side has voxels, or over 10 times as many are predicted as are
    true, the distance is 1; where neither has, it is left out. NaN where no row has a pixel.

    With `merge_classes` a volume is one object, whatever class its voxels have. With `predicted_slices`, the names that
    a submission has for its rows, predicted volumes are stacked by them, and the n-th predicted volume is compared with
    the n-th true one; the last predictions may be None, for rows that were not submitted, and have no name. The
    published grader of uw-madison-gi-tract-image-segmentation does both.
    """
    pairs = [(true, predicted) for true, predicted in zip(truth, prediction, strict=True) if predicted is not None]
    dice = [mask_dice(true, predicted, math.nan) for true, predicted in pairs]
    kinds = [""] * len(truth) if merge_classes else classes
    true_volumes = _group_slices(truth, slices, kinds)
    submitted = [predicted for _, predicted in pairs]
    predicted_volumes = _group_slices(submitted, slices if predicted_slices is None else predicted_slices, kinds)
    distances = [
        _hausdorff(_stack(true), _stack(predicted), max_pairs)
        for true, predicted in zip(true_volumes, predicted_volumes, strict=False)
    ]
    return dice_weight * _mean_of_numbers(dice) + hausdorff_weight * (1 - _mean_of_numbers(distances))


def _group_slices(masks: Sequence[Mask], names: Sequence[str], kinds: Sequence[str]) -> list[list[list[Mask]]]:
    """The masks of each slice of each volume and kind; volumes and slices are in the order of the slices' names.

    All volumes must have slices of one size, also those that have no counterpart.
    """
    volumes: dict[tuple[str, str], dict[str, list[Mask]]] = {}
    for row in sorted(range(len(masks)), key=lambda row: names[row]):
        volume = volumes.setdefault((names[row].split(_SLICE)[0], kinds[row]), {})
        volume.setdefault(names[row], []).append(masks[row])
    for volume in volumes.values():
        if len({(mask.height, mask.width) for slice in volume.values() for mask in slice}) > 1:
            raise InvalidSubmission("The submission puts slices of different sizes into one volume.")
    return [list(volume.values()) for volume in volumes.values()]


def _stack(slices: Sequence[Sequence[Mask]]) -> NDArray[np.bool_]:
    """The slices as one volume of shape (slices, height, width), the masks of one laid over each other."""
    volume = np.zeros((len(slices), slices[0][0].height, slices[0][0].width), bool)
    for depth, masks in enumerate(slices):
        for mask in masks:
            if len(mask.starts):
                volume[depth] |= mask.decode()
    return volume


def _hausdorff(truth: NDArray[np.bool_], prediction: NDArray[np.bool_], max_pairs: int) -> float:
    true, predicted = int(truth.sum()), int(prediction.sum())
    if true == 0 and predicted == 0:
        return math.nan
    if true == 0 or predicted == 0 or predicted > _PREDICTED_TOO_MUCH * true:
        return 1.0
    scale = truth.shape
    shape = np.maximum(truth.shape, prediction.shape)
    truth, prediction = (np.pad(side, [(0, more) for more in shape - side.shape]) for side in (truth, prediction))
    farthest = [_farthest(*sides, scale, max_pairs) for sides in ((truth, prediction), (prediction, truth))]
    return max(farthest) / math.sqrt(3)


def _farthest(volume: NDArray[np.bool_], other: NDArray[np.bool_], scale: tuple[int, ...], max_pairs: int) -> float:
    """The greatest distance from a voxel of `volume` to the nearest one of `other`, in units of `scale` per axis.

    Up to `max_pairs` distances are computed one by one, sooner than SciPy is imported.
    """
    outside = np.argwhere(volume & ~other)
    if len(outside) == 0:
        return 0.0
    inside = np.argwhere(other)
    if len(outside) * len(inside) <= max_pairs:
        gaps = (outside / scale)[:, None] - inside / scale
        return float(np.sqrt((gaps**2).sum(axis=2)).min(axis=1).max())
    try:
        from scipy import ndimage, spatial
    except ImportError:
        raise MissingDependency("The Hausdorff distance", "mlebench") from None
    # Nearest to a voxel outside is always one on the surface: from any other, a step towards it stays inside.
    surface = np.argwhere(other & ~ndimage.binary_erosion(other))
    tree, scaled = spatial.KDTree(surface / scale), outside / scale
    # One voxel of each block is measured first; the others cannot be farther than it by more than they are from it.
    blocks = np.ravel_multi_index(tuple(outside.T // _BLOCK), volume.shape)
    _, first, block = np.unique(blocks, return_index=True, return_inverse=True)
    measured, _ = tree.query(scaled[first])
    at_most = measured[block] + np.linalg.norm(scaled - scaled[first][block], axis=1)
    farther, _ = tree.query(scaled[at_most > measured.max()])
    return float(max(measured.max(), farther.max(initial=0.0)))


def _mean_of_numbers(scores: Sequence[float]) -> float:
    return exact_mean([score for score in scores if not math.isnan(score)])
