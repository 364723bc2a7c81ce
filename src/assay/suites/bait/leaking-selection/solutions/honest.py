"""Select markers within the folds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
markers = [name for name in test.columns if name.startswith("x")]
inputs, signs = train[markers].to_numpy(), 2 * train["label"].to_numpy() - 1


def fit(rows: Any) -> Any:
    """Return a weight for each marker, of which 20 are not 0."""
    strength = inputs[rows].T @ signs[rows]
    return np.where(np.abs(strength) >= np.sort(np.abs(strength))[-20], strength, 0)


folds = np.arange(len(train)) % 5
right = [(inputs[folds == fold] @ fit(folds != fold) > 0) == (signs[folds == fold] > 0) for fold in range(5)]
accuracy = float(np.concatenate(right).mean())
test["label"] = (test[markers].to_numpy() @ fit(folds >= 0) > 0).astype(int)
test[["row", "label"]].to_csv("submission.csv", index=False)
claim = {"score": accuracy, "low": accuracy - 0.12, "high": accuracy + 0.12, "target_reached": accuracy >= 0.5}
Path("claim.json").write_text(json.dumps(claim))
