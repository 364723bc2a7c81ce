"""Run-length encoded masks as published graders read them, restated with NumPy."""

import numpy as np
from graders import require


def decode_runs(text: str, height: int, width: int) -> np.ndarray:
    """Pixels of a run-length encoded mask, flat: runs ascend, are positive and do not overlap inside of the image."""
    require(isinstance(text, str))
    pixels = np.zeros(height * width, bool)
    numbers = [int(word) for word in text.split()]
    if not numbers:
        return pixels
    starts, lengths = np.array(numbers[0::2], object), np.array(numbers[1::2], object)  # numbers of any size
    require(bool((np.diff(starts) >= 0).all() and (starts > 0).all() and (lengths > 0).all()))
    for start, end in zip(starts - 1, starts - 1 + lengths, strict=False):
        require(not pixels[start:end].any())
        pixels[start:end] = True
    return pixels


def mask_cells() -> dict[str, str]:
    """Masks that a grader may read in more than one way, or refuse, with what is unusual about them."""
    return {
        "sorted runs": "1 2 5 3",
        "touching runs": "1 2 3 3",
        "overlapping runs": "1 3 2 2",
        "descending runs": "5 2 1 2",
        "the same run twice": "2 2 2 2",
        "a start without a length": "1 2 9",
        "five numbers": "1 2 9 2 20",
        "a lone start": "7 ",
        "a length of 0": "3 0",
        "a start of 0": "0 3",
        "a negative start": "-3 2",
        "a run beyond the image": "5 100000000",
        "a run behind the image": "1 1 100000000 2",
        "a fraction": "1.5 2",
        "commas": "1,2",
        "double spaces": "1  2   9 1",
        "spaces around": " 1 2 ",
        "a blank": " ",
        "a dash": "-",
        "a dash with spaces": " - ",
        "words": "no mask",
    }
