"""Metrics of a language model, whose rows are numbers about a text."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric


@metric("bits per byte", "lower", depends_on="probabilities", range=(0, math.inf))
def bits_per_byte(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The cross-entropy of a language model per byte: `sum(bits) / sum(bytes)`, over all texts together.

    Truth is the length of each text in bytes, prediction the bits that the model spends on it: the sum of
    `-log2 p(token)` over tokens that spell all of it. A text counts by its length. Unlike perplexity, which is
    `2 ** (bits / tokens)`, this does not change with how a text is cut into tokens. Knowing nothing costs 8 bits per
    byte. NaN without a byte.
    """
    total = truth.sum(dtype=np.float64)
    return float(prediction.sum(dtype=np.float64) / total) if total else float("nan")


@metric("perplexity", "lower", depends_on="probabilities", range=(1, math.inf))
def perplexity(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The perplexity of a language model: `2 ** (sum(bits) / sum(tokens))`, of the two columns of the prediction.

    Truth has no part in it. It depends on the tokenizer: more tokens for the same text and the same bits lower it. NaN
    without a token, and infinite where it is beyond what a float can hold.
    """
    bits, tokens = prediction.reshape(-1, 2).sum(axis=0, dtype=np.float64)
    if not tokens:
        return float("nan")
    return float(2 ** (bits / tokens)) if bits / tokens < 1024 else float("inf")
