"""Inputs for judging `convolve`, and what counts as the right output."""

from collections.abc import Iterator

import numpy as np

FUNCTION = "convolve"

Input = tuple[np.ndarray, np.ndarray, np.ndarray]
Shape = tuple[int, ...]

_TOLERANCE = 1e-4
_TIMED = ((32, 64, 64, 3), (8, 3, 3, 3))
_EDGES = (
    ((1, 1, 1, 1), (1, 1, 1, 1)),
    ((2, 5, 7, 3), (4, 5, 7, 3)),
    ((1, 2, 1, 2), (3, 6, 5, 2)),
    ((3, 6, 6, 1), (1, 1, 1, 1)),
    ((1, 9, 4, 2), (5, 1, 4, 2)),
    ((1, 4, 9, 2), (5, 4, 1, 2)),
)


def checks(random: np.random.Generator) -> Iterator[Input]:
    """The corners of the contract, a few shapes that nobody can foresee, and the shape that is timed."""
    for images, filters in _EDGES:
        yield _input(random, images, filters)
    for _ in range(5):
        batch, channels, count, tall, wide = random.integers(1, 6, size=5)
        height, width = tall + random.integers(0, 9), wide + random.integers(0, 9)
        yield _input(random, (batch, height, width, channels), (count, tall, wide, channels))
    yield timed(random)


def timed(random: np.random.Generator) -> Input:
    """An input of the size that is timed."""
    return _input(random, *_TIMED)


def difference(output: np.ndarray, expected: np.ndarray) -> str | None:
    """What is wrong with an output, or None; not-a-number is as wrong as any other number."""
    right = np.abs(output - expected) <= _TOLERANCE
    if right.all():
        return None
    share = 1 - right.mean()
    return f"{share:.1%} of the output for an input it had not seen is off by more than {_TOLERANCE:g}"


def _input(random: np.random.Generator, images: Shape, filters: Shape) -> Input:
    """Random arrays whose response is of the order of 1."""
    weights = random.standard_normal(filters) / np.sqrt(np.prod(filters[1:]))
    return random.standard_normal(images), weights, random.standard_normal(filters[0]) / 2
