"""A first try: average each quarter of the image, and fit a shallow decision tree to the four numbers."""

import os

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))


def features(names: pd.Series) -> np.ndarray:
    pictures = np.stack([np.asarray(Image.open(f"data/{name}"), dtype=float) for name in names])
    return pictures.reshape(-1, 2, 4, 2, 4).mean((2, 4)).reshape(-1, 4)


train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
kept = train.sample(frac=0.8, random_state=SEED)
held_out = train.drop(kept.index)
model = DecisionTreeClassifier(max_depth=5, random_state=SEED).fit(features(kept["image"]), kept["label"])
print(f"accuracy on the held-out fifth: {model.score(features(held_out['image']), held_out['label']):.4f}")

test["label"] = model.predict(features(test["image"]))
test.to_csv("submission.csv", index=False)
