"""A first try: random scores between 0 and 1, without looking at the essays."""

import os

import numpy as np
import pandas as pd

SEED = int(os.environ.get("SEED", "0"))
TRAITS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]


class Model:
    """Predict scores at random; replace this with a model."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(SEED)

    def fit(self, texts: pd.Series, marks: pd.DataFrame) -> None:
        pass

    def predict(self, texts: pd.Series) -> np.ndarray:
        return self.random.random((len(texts), len(TRAITS)))


def mcrmse(true: pd.DataFrame, predicted: np.ndarray) -> float:
    """Return the root mean squared error, averaged over the traits."""
    return float(np.sqrt(((true.to_numpy() - predicted) ** 2).mean(axis=0)).mean())


train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
held_out = train.sample(frac=0.1, random_state=SEED)
kept = train.drop(held_out.index)
model = Model()
model.fit(kept["full_text"], kept[TRAITS])
for name, part in (("training essays", kept), ("held-out tenth", held_out)):
    print(f"MCRMSE on the {name}: {mcrmse(part[TRAITS], model.predict(part['full_text'])):.4f}")

test[TRAITS] = model.predict(test["full_text"])
test[["text_id", *TRAITS]].to_csv("submission.csv", index=False)
