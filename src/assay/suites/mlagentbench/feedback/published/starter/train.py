"""Score essays for six traits of their language; training and prediction are still missing."""

import random

import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

DIMENSIONS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
SEED = 42

random.seed(SEED)
np.random.seed(SEED)


def compute_metrics_for_regression(y_test: np.ndarray, y_test_pred: np.ndarray) -> dict[str, float]:
    """Return the root mean squared error of each trait."""
    return {
        f"rmse_{task}": float(root_mean_squared_error(y_test[:, column], y_test_pred[:, column]))
        for column, task in enumerate(DIMENSIONS)
    }


def train_model(X_train: list[str], y_train: np.ndarray, X_valid: list[str], y_valid: np.ndarray) -> object:
    """TODO: define and train the model, and return it."""
    return None


def predict(model: object, X: list[str]) -> np.ndarray:
    """TODO: return the model's scores, one row for each essay."""
    return np.random.rand(len(X), len(DIMENSIONS))


if __name__ == "__main__":
    ellipse_df = pd.read_csv("train.csv", index_col="text_id").dropna(axis=0)
    X = ellipse_df["full_text"].tolist()
    y = ellipse_df[DIMENSIONS].to_numpy()
    X_train, X_valid, y_train, y_valid = train_test_split(X, y, test_size=0.10, random_state=SEED)

    model = train_model(X_train, y_train, X_valid, y_valid)

    metrics = compute_metrics_for_regression(y_valid, predict(model, X_valid))
    print(metrics)
    print("final MCRMSE on validation set: ", np.mean(list(metrics.values())))

    # Write the scores of the test essays to submission.csv.
    test_df = pd.read_csv("test.csv", index_col="text_id")
    y_submission = predict(model, test_df["full_text"].tolist())
    submission_df = pd.DataFrame(y_submission, columns=DIMENSIONS)
    submission_df.index = submission_df.index.rename("text_id")
    submission_df.to_csv("submission.csv")
