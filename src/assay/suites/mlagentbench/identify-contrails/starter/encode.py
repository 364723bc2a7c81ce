"""Run-length encoding of masks: pairs of start and length, counted from 1 down the columns; an empty mask is `-`."""

import numpy as np


def encode(mask: np.ndarray) -> str:
    """Return the text of a mask of shape (height, width)."""
    flat = np.concatenate([[0], (mask != 0).ravel(order="F"), [0]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(flat)).reshape(-1, 2)
    return " ".join(f"{start + 1} {end - start}" for start, end in edges.tolist()) or "-"


def decode(text: str, height: int, width: int) -> np.ndarray:
    """Return the mask of a text."""
    flat = np.zeros(height * width, np.uint8)
    numbers = [] if text == "-" else [int(word) for word in text.split()]
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        flat[start - 1 : start - 1 + length] = 1
    return flat.reshape((height, width), order="F")
