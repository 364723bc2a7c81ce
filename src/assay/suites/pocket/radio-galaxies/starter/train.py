"""A first attempt: a shallow tree on the brightness of each image."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))


def features(names: pd.Series) -> np.ndarray:
    images = np.stack([np.asarray(Image.open(Path("data") / name), dtype=float) for name in names])
    return np.column_stack([images.mean((1, 2)), images.std((1, 2))])


train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
kept = train.sample(frac=0.8, random_state=SEED)
held_out = train.drop(kept.index)
model = DecisionTreeClassifier(max_depth=3, random_state=SEED).fit(features(kept["image"]), kept["label"])
score = f1_score(held_out["label"], model.predict(features(held_out["image"])), average="macro")
print(f"macro F1 on the held-out fifth: {score:.4f}")

test["label"] = model.predict(features(test["image"]))
test[["image", "label"]].to_csv("submission.csv", index=False)
