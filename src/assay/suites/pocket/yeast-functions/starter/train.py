"""A first attempt: naive Bayes for each label, fitted to half of the training rows."""

import os

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB

SEED = int(os.environ.get("SEED", "0"))

train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
features = [name for name in test if name != "gene"]
labels = [name for name in train if name not in test]
kept = train.sample(frac=0.5, random_state=SEED)
held_out = train.drop(kept.index)
scores = []
for label in labels:
    model = GaussianNB().fit(kept[features], kept[label])
    scores.append(f1_score(held_out[label], model.predict(held_out[features]), zero_division=0))
    test[label] = model.predict(test[features])
print(f"mean F1 on the held-out half: {np.mean(scores):.4f}")
test[["gene", *labels]].to_csv("submission.csv", index=False)
