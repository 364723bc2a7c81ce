"""Labeled points and boxes: groups of words, as in `label confidence xmin ymin xmax ymax`, one group per object."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote

_MAX_COUNT = 10_000  # objects in one cell: far more than any real image has, far fewer than would be slow to compare
_MAX_NUMBER = 1e12  # limit for any number; its cube is still finite
_MAX_DIGITS = 64

_POINT = ("label", "x", "y")
_RECTANGLE = ("label", "x", "y", "width", "height")
_BOX = ("label", "confidence", "xmin", "ymin", "xmax", "ymax")
_BOX_3D = ("confidence", "center_x", "center_y", "center_z", "width", "length", "height", "yaw", "label")


@dataclass(frozen=True, eq=False)
class Points:
    """The labeled points of an image, `positions` of shape (n, 2)."""

    labels: NDArray[np.object_]
    positions: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Boxes:
    """The labeled boxes of an image, `corners` of shape (n, 4): xmin, ymin, xmax, ymax. True boxes have any score."""

    labels: NDArray[np.object_]
    scores: NDArray[np.float64]
    corners: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Boxes3D:
    """The labeled upright boxes of a scene: `centers` (n, 3), `sizes` (n, 3) as width, length, height, and `yaws`.

    A box's length is along its heading, which is the x axis turned by yaw radians about the z axis.
    """

    labels: NDArray[np.object_]
    scores: NDArray[np.float64]
    centers: NDArray[np.float64]
    sizes: NDArray[np.float64]
    yaws: NDArray[np.float64]


def parse_points(
    text: str,
    where: str,
    *,
    any_number: bool = False,
    split_at_spaces: bool = False,
    may_be_empty: bool = True,
    max_count: int = _MAX_COUNT,
) -> Points:
    """Parse the points in `label x y` groups, at most `max_count` of them.

    With `any_number` they may be infinite or NaN, and then are in no box. With `split_at_spaces` each space ends a
    word, also an empty one, and other whitespace is part of a word. The published grader of kuzushiji-recognition does
    both.
    """
    separator = " " if split_at_spaces else None
    labels, numbers = _parse_groups(text, _POINT, where, may_be_empty, max_count, separator, any_number=any_number)
    return Points(labels, numbers)


def parse_rectangles(text: str, where: str, *, may_be_empty: bool = True, max_count: int = _MAX_COUNT) -> Boxes:
    """Parse the boxes in `label x y width height` groups, at most `max_count` of them; x, y is the smallest corner."""
    labels, numbers = _parse_groups(text, _RECTANGLE, where, may_be_empty, max_count)
    corners = np.column_stack([numbers[:, :2], numbers[:, :2] + numbers[:, 2:]])
    return Boxes(labels, np.ones(len(labels)), corners)


def parse_boxes(
    text: str,
    where: str,
    *,
    whole_labels: bool = False,
    cut_labels: bool = False,
    any_number: bool = False,
    any_corner: bool = False,
    split_at_spaces: bool = False,
    may_be_empty: bool = True,
    max_count: int = _MAX_COUNT,
) -> Boxes:
    """Parse the boxes in `label confidence xmin ymin xmax ymax` groups, at most `max_count` of them.

    With `whole_labels` a label is an integer, and `3.0` is the same as `3`. A box whose xmax is below its xmin
    covers nothing, as does one of no width. With `cut_labels` the label `3.7` is `3`, too, and with `any_number` the
    others may be infinite or NaN: the published grader of vinbigdata-chest-xray-abnormalities-detection accepts both,
    and splits at each space (`split_at_spaces`), other whitespace being part of a word.
    That of siim-covid19-detection accepts corners that are infinite or NaN, but no such confidence (`any_corner`).
    """
    separator, any_value = " " if split_at_spaces else None, any_number or any_corner
    labels, numbers = _parse_groups(text, _BOX, where, may_be_empty, max_count, separator, any_number=any_value)
    if not (any_number or np.isfinite(numbers[:, 0]).all()):
        raise InvalidSubmission(f"{where}: the confidence of a box must be finite.")
    if whole_labels or cut_labels:
        labels = _to_integers(labels, where, cut=cut_labels)
    return Boxes(labels, numbers[:, 0], numbers[:, 1:])


def parse_boxes_3d(
    text: str,
    where: str,
    *,
    any_size: bool = False,
    any_number: bool = False,
    split_at_spaces: bool = False,
    may_be_empty: bool = True,
    max_count: int = _MAX_COUNT,
) -> Boxes3D:
    """Parse at most `max_count` groups of `confidence center_x center_y center_z width length height yaw label`.

    Sizes must be above 0 unless `any_size`. With `any_number` numbers may be infinite, except for the yaw, or NaN. With
    `split_at_spaces` each space ends a word, so that two in a row are an error, and other whitespace is part of a word;
    but a cell of whitespace is empty. The published grader of 3d-object-detection-for-autonomous-vehicles reads cells
    this way, and does not check all numbers.
    """
    separator = " " if split_at_spaces and text.strip() else None
    labels, numbers = _parse_groups(text, _BOX_3D, where, may_be_empty, max_count, separator, any_number=any_number)
    if np.isinf(numbers[:, 7]).any():
        raise InvalidSubmission(f"{where}: the yaw of a box must not be infinite.")
    sizes = numbers[:, 4:7]
    flat = [] if any_size else np.flatnonzero((sizes <= 0).any(axis=1)).tolist()
    if flat:
        listed = ", ".join(f"{size:g}" for size in sizes[flat[0]])
        must = "the width, length and height of a box must be above 0"
        raise InvalidSubmission(f"{where}: {must}; those of box {flat[0] + 1} are {listed}.")
    return Boxes3D(labels, numbers[:, 0], numbers[:, 1:4], sizes, numbers[:, 7])


def _parse_groups(
    text: str,
    layout: Sequence[str],
    where: str,
    may_be_empty: bool,
    max_count: int,
    separator: str | None = None,
    *,
    any_number: bool = False,
) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Return the label of each group, and its other words as numbers, which are finite unless `any_number`."""
    size, groups = len(layout), f"groups of {len(layout)}, {' '.join(layout)}"
    words = text.split(separator, max_count * size) if text else []
    if len(words) > max_count * size:
        raise InvalidSubmission(f"{where}: there are more than {max_count:,} {groups}.")
    if len(words) % size:
        raise InvalidSubmission(f"{where}: {groups}, are needed; {len(words):,} words are not a multiple of that.")
    if not words and not may_be_empty:
        raise InvalidSubmission(f"{where}: it is empty; {groups}, are needed.")
    at = layout.index("label")
    columns = [
        [_number(word, name, where, any_number=any_number) for word in words[index::size]]
        for index, name in enumerate(layout)
        if index != at
    ]
    labels = np.empty(len(words) // size, object)
    labels[:] = words[at::size]
    return labels, np.array(columns, np.float64).reshape(size - 1, -1).T


def _number(word: str, name: str, where: str, *, any_number: bool = False) -> float:
    try:
        value = float(word) if any_number or len(word) <= _MAX_DIGITS else math.nan
    except ValueError:
        value, any_number = math.nan, False
    if not (any_number or abs(value) <= _MAX_NUMBER):
        must = f"a number between -{_MAX_NUMBER:g} and {_MAX_NUMBER:g}"
        raise InvalidSubmission(f"{where}: {name} must be {must}, but is {quote(word)}.")
    return value


def _to_integers(labels: NDArray[np.object_], where: str, *, cut: bool) -> NDArray[np.object_]:
    whole = np.empty(len(labels), object)
    for row, label in enumerate(labels):
        value = _number(label, "label", where, any_number=cut)
        if not math.isfinite(value) or (value != int(value) and not cut):
            raise InvalidSubmission(f"{where}: label must be an integer, but is {quote(label)}.")
        whole[row] = str(int(value))
    return whole
