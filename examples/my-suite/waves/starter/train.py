"""A first attempt: a straight line through a random half of the data."""

import os

import pandas as pd
from sklearn.linear_model import LinearRegression

train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
half = train.sample(frac=0.5, random_state=int(os.environ.get("SEED", "0")))
model = LinearRegression().fit(half[["a", "b"]], half["height"])
test["height"] = model.predict(test[["a", "b"]])
test[["point", "height"]].to_csv("submission.csv", index=False)
