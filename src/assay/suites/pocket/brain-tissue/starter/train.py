"""A first attempt: the pixels that are gray matter in many training slices, whatever the slice looks like."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

SEED = int(os.environ.get("SEED", "0"))
random = np.random.default_rng(SEED)


def encode(mask: np.ndarray) -> str:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.T.ravel(), [0]]).astype(int))) + 1
    return " ".join(map(str, np.column_stack([edges[::2], edges[1::2] - edges[::2]]).ravel()))


paths = sorted(Path("data/masks").iterdir())
masks = np.stack([np.asarray(Image.open(path)) > 0 for path in paths])
kept = random.permutation(len(masks))[:16]
usual = masks[kept].mean(axis=0) > 0.35
held_out = np.delete(masks, kept, axis=0)
scores = 2 * (held_out & usual).sum(axis=(1, 2)) / (held_out.sum(axis=(1, 2)) + usual.sum())
print(f"mean Dice on held-out slices: {scores.mean():.4f}")

test = pd.read_csv("data/test.csv")
test["mask"] = encode(usual)
test.to_csv("submission.csv", index=False)
