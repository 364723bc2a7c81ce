"""A first attempt: a line through the mean length of words and the number of commas."""

import os

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

SEED = int(os.environ.get("SEED", "0"))


def features(texts: pd.Series) -> np.ndarray:
    return np.column_stack([texts.str.len(), texts.str.count(","), texts.str.count("[.]")])


train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
kept = train.sample(frac=0.8, random_state=SEED)
held_out = train.drop(kept.index)
model = LinearRegression().fit(features(kept["text"]), kept["year"])
errors = np.abs(model.predict(features(held_out["text"])) - held_out["year"])
print(f"mean absolute error on the held-out fifth: {errors.mean():.2f} years")

test["year"] = model.predict(features(test["text"]))
test[["passage", "year"]].to_csv("submission.csv", index=False)
