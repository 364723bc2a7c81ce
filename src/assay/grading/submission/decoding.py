"""From the text of a cell to what it stands for, by the codec that a column names.

Masks, points and boxes become objects that their metrics take. Words, whole numbers and spans are only checked, as
their metrics take text.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import formats
from assay.core.errors import InvalidSubmission
from assay.tasks import Codec

_PARSERS: Mapping[str, Callable[..., object]] = {
    "mask": formats.parse_mask,
    "points": formats.parse_points,
    "rectangles": formats.parse_rectangles,
    "boxes": formats.parse_boxes,
    "boxes_3d": formats.parse_boxes_3d,
    "words": formats.parse_words,
    "integers": formats.parse_integers,
    "span": formats.parse_span,
}


def decoded(
    texts: Iterable[str], codec: Codec, of_row: Mapping[str, NDArray[Any]], where: Callable[[int], str]
) -> NDArray[np.object_]:
    """What each text stands for. `of_row` holds the parameters that each row has its own of, as an image's height.

    `where` names a row, given its number, at the beginning of a message.
    """
    parse = _PARSERS[codec.name]
    common = {key: value for key, value in codec.params.items() if key != "single_spaces"}
    own = {key: values.astype(np.int64).tolist() for key, values in of_row.items()}
    objects = []
    for row, text in enumerate(texts):
        place = where(row)
        if codec.params.get("single_spaces") and text != " ".join(text.split()):
            raise InvalidSubmission(f"{place}: there must be single spaces between words, and no other blanks.")
        objects.append(parse(text, where=place, **common, **{key: values[row] for key, values in own.items()}))
    result = np.empty(len(objects), object)
    result[:] = objects
    return result
