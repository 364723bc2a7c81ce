"""Inputs for grading `convolve`, and what counts as a correct output."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Input = tuple[np.ndarray, ...]
Shape = tuple[int, ...]
Shapes = tuple[Shape, Shape]

TOLERANCE = 1e-4


@dataclass(frozen=True)
class ConvolutionCases:
    """Inputs to check and time a convolution with; `draw` makes one from the shapes of images and filters."""

    draw: Callable[[np.random.Generator, Shape, Shape], Input]
    edge_cases: Sequence[Shapes]
    timed_shapes: Shapes

    def checks(self, random: np.random.Generator) -> Iterator[Input]:
        """Yield the edge cases of the contract, a few unpredictable shapes, and the shape that is timed."""
        for images, filters in self.edge_cases:
            yield self.draw(random, images, filters)
        for _ in range(5):
            batch, channels, count, tall, wide = random.integers(1, 6, size=5)
            height, width = tall + random.integers(0, 9), wide + random.integers(0, 9)
            yield self.draw(random, (batch, height, width, channels), (count, tall, wide, channels))
        yield self.timed(random)

    def timed(self, random: np.random.Generator) -> Input:
        """Return an input of the size that is timed."""
        return self.draw(random, *self.timed_shapes)


def difference(output: np.ndarray, expected: np.ndarray) -> str | None:
    """Return what is wrong with an output, or None; NaN is wrong like any other value."""
    right = np.abs(output - expected) <= TOLERANCE
    if right.all():
        return None
    share = 1 - right.mean()
    return f"{share:.1%} of the output for an unseen input is off by more than {TOLERANCE:g}"


def draw_filters(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Return random filters, scaled so that responses to standard normal images are of the order of 1."""
    return random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
