"""Predict the pointer that nodes of the same number have most often in the training graphs."""

import pandas as pd

train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
usual = train.groupby("node")["pointer"].agg(lambda pointers: pointers.mode()[0])
test["pointer"] = test["node"].map(usual).fillna(0).astype(int)
test[["node_id", "pointer"]].to_csv("submission.csv", index=False)
