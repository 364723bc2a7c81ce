"""Counts the bits that a checkpoint needs for texts: reads it and inputs/texts.npy, writes predictions.csv.

The bits of a text are the sum of -log2 p(token) over its tokens, which spell every byte of it once. Each text is alone:
its first token is predicted from the start token. Where a text has more tokens than the model's context, windows of a
context's length follow each other, half a length on, and only the tokens that are new in a window count: every token is
predicted from at least half a context of those before it, if there are that many.
"""

import csv
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from model import CheckpointError, LanguageModel, decode, encode, load

AT_ONCE = 4096
"""Tokens that go through the model together."""


class Window(NamedTuple):
    """Tokens of a text that go through the model together, from `begin` to `end`, and count from `new` on."""

    text: int
    begin: int
    new: int
    end: int


def bits(model: LanguageModel, texts: Sequence[bytes]) -> np.ndarray:
    """How many bits each text costs."""
    tokens = encode(texts, model.merges)
    if any(decode(found, model.merges) != text for found, text in zip(tokens, texts, strict=True)):
        raise CheckpointError("the tokens do not spell the text")
    todo = sorted(
        (window for text, found in enumerate(tokens) for window in windows(text, len(found), model)), key=size
    )
    costs = np.zeros(len(texts))
    with torch.inference_mode():
        for length, alike in groupby(todo, key=size):
            for batch in batches(list(alike), max(1, AT_ONCE // length)):
                spelt = [np.append(model.start, tokens[one.text])[one.begin : one.end + 1] for one in batch]
                rows = torch.from_numpy(np.stack(spelt).astype(np.int64))
                for one, cost in zip(batch, surprise(model(rows[:, :-1]), rows[:, 1:]).numpy(), strict=True):
                    costs[one.text] += cost[one.new - one.begin :].sum()
    if not np.isfinite(costs).all():
        raise CheckpointError("the model's scores are not finite")
    return costs


def surprise(scores: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """-log2 of the probability that softmax of the scores gives to the tokens.

    Scores are taken relative to the largest first: however large they are, probabilities then add up to 1.
    """
    scores = scores - scores.amax(dim=-1, keepdim=True)
    chosen = scores.gather(-1, tokens[..., None])[..., 0].double()
    return (scores.exp().sum(dim=-1, dtype=torch.float64).log() - chosen) / math.log(2)


def windows(text: int, length: int, model: LanguageModel) -> Iterator[Window]:
    """Windows in which each token of a text counts once."""
    context, new = model.settings.context, 0
    end = min(length, context)
    while new < length:
        yield Window(text, max(0, end - context), new, end)
        new, end = end, min(length, end + context // 2)


def size(window: Window) -> int:
    return window.end - window.begin


def batches(windows: list[Window], count: int) -> Iterator[list[Window]]:
    return (windows[first : first + count] for first in range(0, len(windows), count))


def main() -> None:
    """Judge the checkpoint, in one thread: sums are then taken in the same order on every machine."""
    torch.set_num_threads(1)
    try:
        found = bits(load(sys.argv[1]), [row.tobytes() for row in np.load("inputs/texts.npy", allow_pickle=False)])
    except CheckpointError as error:
        sys.exit(str(error))
    with Path("predictions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "bits"), *enumerate(found.tolist())])


if __name__ == "__main__":
    main()
