"""What metrics of boxes in images share: ranking, overlap and hits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.formats import Boxes


def list_labels(truth: Sequence[Boxes]) -> list[str]:
    return sorted({label for boxes in truth for label in boxes.labels})


def rank_boxes(boxes: Boxes, label: str) -> NDArray[np.intp]:
    """The numbers of the boxes of one label by falling score, equal ones in the order given."""
    rows = np.flatnonzero(boxes.labels == label)
    return rows[np.argsort(-boxes.scores[rows], kind="stable")]


def to_sizes(corners: NDArray[np.float64], *, as_sizes: bool = False) -> NDArray[np.float64]:
    """Boxes as x, y, width, height."""
    return corners if as_sizes else np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])


def compute_iou(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """The IoU of each of `boxes` with each of `others`, all as x, y, width, height."""
    boxes, others = boxes[:, None], others[None]
    with np.errstate(all="ignore"):  # published graders accept infinite numbers and NaN, which count for nothing here
        least = np.fmax(boxes[..., :2], others[..., :2])
        sides = np.fmin(boxes[..., :2] + boxes[..., 2:], others[..., :2] + others[..., 2:]) - least
        common, apart = sides.prod(axis=-1), (sides <= 0).any(axis=-1)
        joint = boxes[..., 2:].prod(axis=-1) + others[..., 2:].prod(axis=-1) - common
        overlap: NDArray[np.float64] = np.divide(common, joint, out=np.zeros_like(common), where=~apart)
    return overlap


def match_boxes(overlap: NDArray[np.float64], threshold: float, *, only_free: bool) -> NDArray[np.bool_]:
    """Which boxes (rows, by falling score) hit a true box (columns), each of which can be hit once."""
    hits, taken = np.zeros(len(overlap), bool), np.zeros(overlap.shape[1], bool)
    for row in np.flatnonzero((overlap > threshold).any(axis=1)):
        open_to = np.where(taken, -1.0, overlap[row]) if only_free else overlap[row]
        best = int(open_to.argmax())
        hits[row] = open_to[best] > threshold and not taken[best]
        taken[best] |= hits[row]
    return hits
