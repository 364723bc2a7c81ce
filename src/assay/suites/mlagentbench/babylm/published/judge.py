"""Measure the loss of a checkpoint: reads it and inputs/text.npy, writes predictions.csv.

As in the published evaluation, all text is one stream of the checkpoint's own tokens, cut into blocks of the model's
context. Nothing is predicted across blocks, so the first token of each is free, and what is left at the end of the
stream does not count. Perplexity is by token, so it depends on how many tokens the tokenizer makes of the text.
"""

import csv
import sys
from pathlib import Path

import model
import numpy as np
import torch
from torch.nn import functional

# A model of GPT-2's size has 124 million weights and 50,257 tokens.
model.MOST_WEIGHTS = 150_000_000
model.MOST_MERGES = 50_000
AT_ONCE = 4096
"""Tokens that go through the model together."""


def blocks(network: model.LanguageModel, text: bytes) -> torch.Tensor:
    """Return the tokens of a text in blocks of the model's context."""
    tokens = model.encode([text], network.merges)[0]
    context = network.settings.context
    count = len(tokens) // context
    if not count:
        raise model.CheckpointError(f"the text is {len(tokens)} tokens long, which is less than one block of {context}")
    return torch.from_numpy(tokens[: count * context].astype(np.int64)).view(count, context)


def measure(network: model.LanguageModel, rows: torch.Tensor) -> tuple[float, int]:
    """Return the bits that all blocks cost, and the number of tokens that were predicted."""
    bits = 0.0
    with torch.inference_mode():
        for part in rows.split(max(1, AT_ONCE // rows.shape[1])):
            scores = network(part[:, :-1]).double()
            bits += float(functional.cross_entropy(scores.flatten(0, 1), part[:, 1:].flatten(), reduction="sum"))
    bits /= float(np.log(2))
    if not np.isfinite(bits):
        raise model.CheckpointError("the model's scores are not finite")
    return bits, rows.numel() - len(rows)


def main() -> None:
    """Judge the checkpoint, in one thread: sums are then taken in the same order on every machine."""
    torch.set_num_threads(1)
    text = np.load("inputs/text.npy", allow_pickle=False).tobytes()
    try:
        network = model.load(sys.argv[1])
        bits, tokens = measure(network, blocks(network, text))
    except model.CheckpointError as error:
        sys.exit(str(error))
    with Path("predictions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "bits", "tokens"), (0, bits, tokens)])


if __name__ == "__main__":
    main()
