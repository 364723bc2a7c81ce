"""Inputs for grading `decode`, and what counts as a correct output."""

from collections.abc import Iterator

import numpy as np

__all__ = ["FUNCTION", "checks", "difference", "timed"]

FUNCTION = "decode"
Input = tuple[np.ndarray, ...]


def draw_input(random: np.random.Generator, *, prompt: int, steps: int, width: int, layers: int, tokens: int) -> Input:
    """Return a prompt, the number of steps, and the weights of a random model."""
    scale = 1 / np.sqrt(width)
    return (
        random.integers(0, tokens, prompt),
        np.array(steps),
        random.standard_normal((tokens, width)),
        random.standard_normal((layers, 4, width, width)) * scale,
        random.standard_normal((layers, 2, width, 2 * width)) * scale,
    )


def checks(random: np.random.Generator) -> Iterator[Input]:
    """Yield the smallest sizes, a few unpredictable ones, and the one that is timed."""
    yield draw_input(random, prompt=1, steps=1, width=4, layers=1, tokens=3)
    yield draw_input(random, prompt=1, steps=5, width=8, layers=1, tokens=7)
    for _ in range(4):
        prompt, steps, layers = random.integers(1, 6, size=3).tolist()
        width, tokens = int(random.integers(8, 24)), int(random.integers(5, 50))
        yield draw_input(random, prompt=prompt, steps=steps, width=width, layers=layers, tokens=tokens)
    yield timed(random)


def timed(random: np.random.Generator) -> Input:
    """Return an input of the size that is timed."""
    return draw_input(random, prompt=16, steps=32, width=48, layers=3, tokens=200)


def difference(output: np.ndarray, expected: np.ndarray) -> str | None:
    """Return what is wrong with an output, or None."""
    wrong = np.asarray(output) != expected
    return f"{wrong.mean():.1%} of the tokens for an unseen input are wrong" if wrong.any() else None
