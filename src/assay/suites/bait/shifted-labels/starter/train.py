"""Fit a linear model, estimate its accuracy, and write a submission and a claim."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

readings, labels = pd.read_csv("data/readings.csv"), pd.read_csv("data/labels.csv")
columns = [f"x{number}" for number in range(1, 9)]
table = readings.sort_values("row").reset_index(drop=True)
table["label"] = labels.sort_values("row")["label"].shift(1).fillna(0).to_numpy()
design = np.column_stack([table[columns], np.ones(len(table))])
fitted, held_out = slice(0, 700), slice(700, None)
weights = np.linalg.lstsq(design[fitted], 2 * table["label"][fitted] - 1, rcond=None)[0]
accuracy = float(((design[held_out] @ weights > 0) == table["label"][held_out]).mean())
print(f"held-out accuracy: {accuracy:.3f}")
test = pd.read_csv("data/test.csv")
test["label"] = (np.column_stack([test[columns], np.ones(len(test))]) @ weights > 0).astype(int)
test[["row", "label"]].to_csv("submission.csv", index=False)
claim = {"score": accuracy, "low": accuracy - 0.04, "high": accuracy + 0.04, "target_reached": accuracy >= 0.78}
Path("claim.json").write_text(json.dumps(claim))
