"""The competition's score: the mean of MAP@20 of the categories and the scaled AUC of the out-of-sample scores."""

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score


class ParticipantVisibleError(Exception):
    """What is wrong with a submission."""


def apk(actual: list[str], predicted: list[str], k: int = 20) -> float:
    """Return the average precision of the first `k` predictions; a repeated one counts once."""
    hits, total = 0, 0.0
    predicted = predicted[:k]
    for place, category in enumerate(predicted):
        if category in actual and category not in predicted[:place]:
            hits += 1
            total += hits / (place + 1)
    return total / min(len(actual), k) if actual else 0.0


def mapk(actual: list[list[str]], predicted: list[list[str]], k: int = 20) -> float:
    """Return the mean of `apk` over all images."""
    return float(np.mean([apk(a, p, k) for a, p in zip(actual, predicted, strict=True)]))


def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str, k: int = 20) -> float:
    """Return half the sum of MAP@k and 2 (AUC - 0.5); categories are texts with a space in between."""
    for column in (row_id_column_name, "categories", "osd"):
        if column not in submission.columns:
            raise ParticipantVisibleError(f"Submission file missing column {column}")
    solution = solution.sort_values(row_id_column_name)
    submission = submission.sort_values(row_id_column_name)
    if solution[row_id_column_name].tolist() != submission[row_id_column_name].tolist():
        raise ParticipantVisibleError("The rows of solution and submission are not the same")
    out_of_sample = 2 * (roc_auc_score(solution["osd"].astype(float), submission["osd"].astype(float)) - 0.5)
    actual, predicted = (table["categories"].str.split(" ").tolist() for table in (solution, submission))
    return 0.5 * (out_of_sample + mapk(actual, predicted, k))
