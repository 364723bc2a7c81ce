"""Inputs for grading `generate`, and what counts as a correct output.

Sums of 32-bit floats differ in their last digits with the order of summation. So that no honest optimization picks
another token, inputs are used only if the best token leads the next one clearly at every step: the texts are continued
here once, in double precision, to check it. Texts that run into a loop are rejected too, because they can be guessed.
"""

from collections.abc import Iterator

import numpy as np

FUNCTION = "generate"

Input = tuple[np.ndarray, ...]
Sizes = tuple[int, int, int, int, int, int, int, int]

_LEAD = 5e-4
_TIMED: Sizes = (2, 16, 112, 3, 96, 4, 256, 256)
_EDGES: tuple[Sizes, ...] = (
    (1, 1, 1, 1, 2, 1, 1, 2),
    (1, 1, 9, 2, 8, 4, 5, 30),
    (3, 12, 1, 1, 12, 1, 20, 40),
    (2, 5, 6, 4, 16, 2, 3, 50),
)
_LAST = 32
_DISTINCT = 8


def checks(random: np.random.Generator) -> Iterator[Input]:
    """Yield the edge cases of the contract, a few unpredictable sizes, and the size that is timed."""
    for sizes in _EDGES:
        yield _draw(random, sizes)
    for _ in range(4):
        batch, length, count, layers, heads, half, inner, more = (int(size) for size in random.integers(1, 7, size=8))
        yield _draw(random, (batch, length, 2 * count, layers, 2 * heads * half, heads, 4 * inner, 20 * more))
    yield timed(random)


def timed(random: np.random.Generator) -> Input:
    """Return an input of the size that is timed."""
    return _draw(random, _TIMED)


def difference(output: np.ndarray, expected: np.ndarray) -> str | None:
    """Return what is wrong with an output, or None."""
    right = output == expected
    if right.all():
        return None
    return f"{1 - right.mean():.1%} of the tokens for texts and weights it had not seen are not the most likely ones"


def model(random: np.random.Generator, layers: int, width: int, inner: int, vocabulary: int) -> Input:
    """Return random weights, large enough for attention to matter."""

    def weights(*shape: int, fan: int) -> np.ndarray:
        return (random.standard_normal(shape) * np.sqrt(2 / fan)).astype(np.float32)

    return (
        weights(vocabulary, width, fan=2),
        weights(layers, 4, width, width, fan=width),
        weights(layers, 3, width, inner, fan=max(width, inner)),
        (1 + 0.1 * random.standard_normal((2 * layers + 1, width))).astype(np.float32),
        weights(width, vocabulary, fan=width),
    )


def continued(
    prompts: np.ndarray, count: int, heads: int, embedding: np.ndarray, attention: np.ndarray, gated: np.ndarray,
    scales: np.ndarray, head: np.ndarray,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return the most likely tokens, and the smallest lead of the best token over the next one."""
    embedding, attention, gated, scales, head = (
        part.astype(np.float64) for part in (embedding, attention, gated, scales, head)
    )
    (batch, length), (layers, _, width, _) = prompts.shape, attention.shape
    half = width // heads // 2
    kept = np.zeros((layers, 2, length + count, batch, heads, 2 * half))
    speeds = 10000 ** -(np.arange(half) / half)
    tokens, lead = np.zeros((batch, length + count), dtype=np.int64), np.inf
    tokens[:, :length] = prompts
    for position in range(length + count - 1):
        cosine, sine = np.cos(position * speeds), np.sin(position * speeds)
        states = embedding[tokens[:, position]]
        for layer in range(layers):
            inner = _normalized(states, scales[2 * layer])
            query, key, value = ((inner @ part).reshape(batch, heads, -1) for part in attention[layer, :3])
            kept[layer, 0, position], kept[layer, 1, position] = _turned(key, cosine, sine), value
            keys, values = kept[layer, :, : position + 1]
            likeness = np.einsum("bhs,pbhs->bhp", _turned(query, cosine, sine), keys) / np.sqrt(2 * half)
            shares = np.exp(likeness - likeness.max(axis=-1, keepdims=True))
            shares /= shares.sum(axis=-1, keepdims=True)
            states = states + np.einsum("bhp,pbhs->bhs", shares, values).reshape(batch, -1) @ attention[layer, 3]
            inner = _normalized(states, scales[2 * layer + 1])
            opened = inner @ gated[layer, 0]
            states = states + (opened / (1 + np.exp(-opened)) * (inner @ gated[layer, 1])) @ gated[layer, 2].T
        if position >= length - 1:
            scores = _normalized(states, scales[-1]) @ head
            tokens[:, position + 1] = scores.argmax(axis=1)
            best = np.sort(scores, axis=1)[:, -2:]
            lead = min(lead, float((best[:, 1] - best[:, 0]).min()))
    return tokens[:, length:], lead


def _draw(random: np.random.Generator, sizes: Sizes) -> Input:
    """Draw random texts and weights until they are suitable for grading."""
    batch, length, count, layers, width, heads, inner, vocabulary = sizes
    while True:
        weights = model(random, layers, width, inner, vocabulary)
        prompts = random.integers(0, vocabulary, size=(batch, length))
        tokens, lead = continued(prompts, count, heads, *weights)
        varied = all(len(set(row)) >= _DISTINCT for row in tokens[:, -_LAST:]) or count < _LAST
        if lead >= _LEAD and varied:
            return prompts, np.array(count), np.array(heads), *weights


def _normalized(states: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return states / np.sqrt((states * states).mean(axis=-1, keepdims=True) + 1e-6) * scale


def _turned(states: np.ndarray, cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    first, second = np.split(states, 2, axis=-1)
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], axis=-1)
