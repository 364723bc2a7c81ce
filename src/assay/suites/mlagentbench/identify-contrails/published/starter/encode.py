"""Run-length encoding of masks: starts and lengths of runs, counted from 1 down the columns."""

import numpy as np


def rle_encode(x: np.ndarray, fg_val: int = 1) -> list[int]:
    """Return start and length of each run of `fg_val` in a mask of shape (height, width), one after the other."""
    flat = np.concatenate([[False], x.ravel(order="F") == fg_val, [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1]).reshape(-1, 2)
    return [int(number) for start, end in edges for number in (start + 1, end - start)]


def list_to_string(x: list[int]) -> str:
    """Return the numbers with spaces in between; `-` if there are none."""
    return " ".join(map(str, x)) or "-"


def rle_decode(mask_rle: str, shape: tuple[int, int] = (256, 256)) -> np.ndarray:
    """Return the mask, 1 where it is marked and 0 elsewhere, of a text that `list_to_string` wrote."""
    img = np.zeros(shape[0] * shape[1], dtype=np.uint8)
    numbers = [] if mask_rle == "-" else [int(word) for word in mask_rle.split()]
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        img[start - 1 : start - 1 + length] = 1
    return img.reshape(shape, order="F")
