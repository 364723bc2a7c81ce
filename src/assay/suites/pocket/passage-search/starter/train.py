"""A first attempt: candidates with as many capital letters and commas as the query come first."""

import os

import numpy as np
import pandas as pd

SEED = int(os.environ.get("SEED", "0"))
CANDIDATES = [f"c{number}" for number in range(20)]


def describe(texts: pd.Series) -> np.ndarray:
    return np.column_stack([texts.str.count("[A-Z]"), texts.str.count(","), texts.str.len() / 10])


def rank(table: pd.DataFrame) -> list[str]:
    query = describe(table["text"])
    distance = np.column_stack([np.abs(describe(table[name]) - query).sum(axis=1) for name in CANDIDATES])
    return [" ".join(CANDIDATES[column] for column in row) for row in np.argsort(distance, axis=1, kind="stable")]


train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
part = train.sample(frac=0.5, random_state=SEED)
positions = [row.split().index(right) + 1 for row, right in zip(rank(part), part["ranking"], strict=True)]
print(f"mean average precision on half of the training queries: {np.mean(1 / np.array(positions)):.4f}")

test["ranking"] = rank(test)
test[["query", "ranking"]].to_csv("submission.csv", index=False)
