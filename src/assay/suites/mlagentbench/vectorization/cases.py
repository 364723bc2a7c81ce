"""Inputs for grading `convolve`, and what counts as a correct output."""

import numpy as np

from ..._shared.convolution import ConvolutionCases, Input, Shape, difference, draw_filters

__all__ = ["FUNCTION", "checks", "difference", "timed"]

FUNCTION = "convolve"


def draw_input(random: np.random.Generator, images: Shape, filters: Shape) -> Input:
    """Return random images, filters and biases."""
    weights = draw_filters(random, filters)
    return random.standard_normal(images), weights, random.standard_normal(filters[0]) / 2


CASES = ConvolutionCases(
    draw_input,
    edge_cases=(
        ((1, 1, 1, 1), (1, 1, 1, 1)),
        ((2, 5, 7, 3), (4, 5, 7, 3)),
        ((1, 2, 1, 2), (3, 6, 5, 2)),
        ((3, 6, 6, 1), (1, 1, 1, 1)),
        ((1, 9, 4, 2), (5, 1, 4, 2)),
        ((1, 4, 9, 2), (5, 4, 1, 2)),
    ),
    timed_shapes=((32, 64, 64, 3), (8, 3, 3, 3)),
)
checks, timed = CASES.checks, CASES.timed
