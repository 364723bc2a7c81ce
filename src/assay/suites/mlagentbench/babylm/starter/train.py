"""A first try: a small GPT with a few hundred tokens, trained from scratch for one epoch on a part of the text."""

import os
import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

sys.path.insert(0, "data")  # which contains the code that grades the checkpoint
from judge import bits
from model import LanguageModel, Settings, encode, joined, save

SEED = int(os.environ.get("SEED", "0"))
SETTINGS = Settings(layers=4, width=128, heads=4, inner=512, context=128)
MERGES = 256
LEARN_MERGES_FROM = 300_000
TRAIN_ON = 6_000_000
BATCH = 8
STEP = 1e-3
PIECE = 2048


def pieces(side: str, most: int) -> list[bytes]:
    """Return pieces of all sources in random order, up to this many bytes in total."""
    texts = [path.read_bytes() for path in sorted(Path("data", side).iterdir())]
    cut = [text[first : first + PIECE] for text in texts for first in range(0, len(text), PIECE)]
    return [cut[place] for place in np.random.permutation(len(cut))[: most // PIECE]]


def learn_merges(texts: list[bytes]) -> np.ndarray:
    """Learn byte-pair encoding: merge the most frequent pair of neighboring tokens, again and again."""
    tokens = np.frombuffer(b"".join(texts), np.uint8).astype(np.int32)
    merges = []
    for new in range(256, 256 + MERGES):
        pair = int(np.bincount(tokens[:-1] * new + tokens[1:]).argmax())
        merges.append(divmod(pair, new))
        tokens = joined(tokens, *merges[-1], new)
    return np.array(merges)


def bits_per_byte(model: LanguageModel, texts: list[bytes]) -> float:
    return float(bits(model, texts).sum() / sum(map(len, texts)))


torch.set_num_threads(1)  # With matrices this small, threads would mostly wait for each other.
torch.manual_seed(SEED)
np.random.seed(SEED)
train, dev = pieces("train", TRAIN_ON), pieces("dev", 40 * PIECE)
merges = learn_merges(train[: LEARN_MERGES_FROM // PIECE])
model = LanguageModel(SETTINGS, merges)

stream = np.concatenate([np.append(model.start, tokens) for tokens in encode(train, merges)])
length = SETTINGS.context + 1
windows = torch.from_numpy(stream[: len(stream) // length * length].astype(np.int64)).view(-1, length)
print(f"{len(train)} pieces of text, {len(stream) / PIECE / len(train):.3f} tokens per byte, {len(windows)} windows")

batches = torch.randperm(len(windows)).split(BATCH)
optimizer = torch.optim.AdamW(model.parameters(), lr=STEP)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / len(batches))
for step, batch in enumerate(batches, 1):
    x = windows[batch]
    # The start token is never predicted.
    y = x[:, 1:].masked_fill(x[:, 1:] == model.start, -100)
    loss = cross_entropy(model(x[:, :-1]).flatten(0, 1), y.flatten(), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 100 == 0 or step == len(batches):
        print(f"step {step} of {len(batches)}: loss {loss.item():.4f}", flush=True)

save("checkpoint.npz", model)
print(f"bits per byte of development text: {bits_per_byte(model.eval(), dev):.4f}")
