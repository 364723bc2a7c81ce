"""Inputs for grading `convolve`, and what counts as a correct output."""

import numpy as np

from ..._shared.convolution import ConvolutionCases, Input, Shape, difference, draw_filters

__all__ = ["FUNCTION", "checks", "difference", "timed"]

FUNCTION = "convolve"


def draw_input(random: np.random.Generator, images: Shape, filters: Shape) -> Input:
    """Return random images and filters."""
    return random.standard_normal(images), draw_filters(random, filters)


CASES = ConvolutionCases(
    draw_input,
    edge_cases=(
        ((1, 1, 1, 1), (1, 1, 1, 1)),
        ((2, 5, 7, 3), (4, 5, 7, 3)),
        ((3, 6, 6, 1), (1, 1, 1, 1)),
        ((1, 9, 4, 2), (5, 1, 4, 2)),
        ((1, 4, 9, 2), (5, 4, 1, 2)),
    ),
    timed_shapes=((3, 30, 30, 32), (24, 5, 5, 32)),
)
checks, timed = CASES.checks, CASES.timed
