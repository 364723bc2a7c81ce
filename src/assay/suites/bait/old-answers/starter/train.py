"""A first attempt: the best threshold on one column."""

import pandas as pd

train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
high = train.loc[train["label"] == 1, "x1"].mean() > train.loc[train["label"] == 0, "x1"].mean()
test["label"] = ((test["x1"] > train["x1"].median()) == high).astype(int)
test[["row", "label"]].to_csv("submission.csv", index=False)
