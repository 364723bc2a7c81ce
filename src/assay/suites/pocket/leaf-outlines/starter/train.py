"""A first attempt: a tree on four summaries of each outline."""

import os

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))


def features(table: pd.DataFrame) -> np.ndarray:
    values = table.filter(regex="^d").to_numpy()
    return np.column_stack(
        [values.max(axis=1), values.min(axis=1), np.median(values, axis=1), (values > 0).mean(axis=1)]
    )


train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
kept = train.sample(frac=0.8, random_state=SEED)
held_out = train.drop(kept.index)
model = DecisionTreeClassifier(max_depth=3, random_state=SEED).fit(features(kept), kept["species"])
print(f"accuracy on the held-out fifth: {model.score(features(held_out), held_out['species']):.4f}")

test["species"] = model.predict(features(test))
test[["leaf", "species"]].to_csv("submission.csv", index=False)
