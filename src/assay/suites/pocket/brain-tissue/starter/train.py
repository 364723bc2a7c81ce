"""A first attempt: the best range of brightness for all slices."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

SEED = int(os.environ.get("SEED", "0"))
random = np.random.default_rng(SEED)


def read(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path), dtype=float) / 255


def encode(mask: np.ndarray) -> str:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.T.ravel(), [0]]).astype(int))) + 1
    return " ".join(map(str, np.column_stack([edges[::2], edges[1::2] - edges[::2]]).ravel()))


def dice(low: float, high: float) -> float:
    found = (images > low) & (images < high)
    return 2 * (found & masks).sum() / (found.sum() + masks.sum())


names = sorted(path.name for path in Path("data/train").iterdir())
names = [names[row] for row in random.choice(len(names), 8, replace=False)]
images = np.stack([read(Path("data/train") / name) for name in names])
masks = np.stack([read(Path("data/masks") / name) > 0.5 for name in names])
low, high = max(((low, high) for low in np.arange(0.2, 0.6, 0.05) for high in np.arange(0.4, 1.0, 0.05)), key=lambda ends: dice(*ends))
print(f"Dice on eight training slices: {dice(low, high):.4f} for brightness between {low:.2f} and {high:.2f}")

test = pd.read_csv("data/test.csv")
test["mask"] = [encode((read(Path("data") / name) > low) & (read(Path("data") / name) < high)) for name in test["slice"]]
test.to_csv("submission.csv", index=False)
