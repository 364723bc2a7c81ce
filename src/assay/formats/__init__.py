"""What a cell of a submission may hold: masks as runs, points, boxes in two or three axes, and lists of words.

Each `parse_` function takes the text of one cell and `where` it stands, as in `submission.csv, id 'a1'`, which begins
the sentence of the `InvalidSubmission` it raises. Blanks between the numbers of a cell may be of any length. What is
parsed is bounded by the length of the text, and never by the numbers written in it.
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
