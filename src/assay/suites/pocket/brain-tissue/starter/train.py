"""A first attempt: the pixels that are gray matter in many training slices, and are not dark in the slice."""

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


def is_bright(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path)) > 0.1 * 255


paths = sorted(Path("data/masks").iterdir())
masks = np.stack([np.asarray(Image.open(path)) > 0 for path in paths])
kept = random.permutation(len(masks))[: len(masks) * 3 // 4]
usual = masks[kept].mean(axis=0) > 0.35
held_out = np.delete(np.arange(len(masks)), kept)
predicted = np.stack([usual & is_bright(Path("data/train") / paths[slice].name) for slice in held_out])
scores = 2 * (masks[held_out] & predicted).sum(axis=(1, 2)) / (masks[held_out] + predicted.astype(int)).sum(axis=(1, 2))
print(f"mean Dice on held-out slices: {scores.mean():.4f}")

test = pd.read_csv("data/test.csv")
test["mask"] = [encode(usual & is_bright(Path("data") / name)) for name in test["slice"]]
test.to_csv("submission.csv", index=False)
