"""Formats that tasks and grading share. Start with `masks` and `boxes`, which parse the cells of a submission.

Each `parse_` function takes the text of one cell and `where` it is, e.g. `submission.csv, id 'a1'`, with which the
message of its `InvalidSubmission` begins. Numbers in a cell are separated by any whitespace. Time and memory are
bounded by the length of the text, never by the numbers in it.
"""

from assay.formats.boxes import (
    Boxes,
    Boxes3D,
    Points,
    parse_boxes,
    parse_boxes_3d,
    parse_points,
    parse_rectangles,
)
from assay.formats.masks import Mask, encode_mask, mask_from_pixels, parse_mask
from assay.formats.texts import parse_integers, parse_span, parse_words

__all__ = [
    "Boxes",
    "Boxes3D",
    "Mask",
    "Points",
    "encode_mask",
    "mask_from_pixels",
    "parse_boxes",
    "parse_boxes_3d",
    "parse_integers",
    "parse_mask",
    "parse_points",
    "parse_rectangles",
    "parse_span",
    "parse_words",
]
