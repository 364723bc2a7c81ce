"""Forecast the four UPDRS ratings of Parkinson's patients from the month of a visit alone."""

import numpy as np
import pandas as pd
from public_timeseries_testing_util import MockApi
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, cross_val_score

TARGET = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
PLUS = [0, 6, 12, 24]


def smapep1(y_true, y_pred) -> float:
    """Return the SMAPE of y + 1 in per cent; smaller is better. True values may be missing."""
    y_true, y_pred = np.asarray(y_true, float).ravel(), np.asarray(y_pred, float).ravel()
    known = np.isfinite(y_true)
    y_true, y_pred = y_true[known], y_pred[known]
    if (y_true < 0).any() or (y_pred < 0).any():
        raise ValueError("ratings are never below 0")
    return float(100 * np.mean(np.abs(y_pred - y_true) / ((y_true + y_pred) / 2 + 1)))


smapep1_scorer = make_scorer(smapep1, greater_is_better=False)


def get_predictions(my_train: pd.DataFrame, model: dict[str, RandomForestRegressor]) -> pd.DataFrame:
    """Return a rating for each visit, each part and 0, 6, 12 and 24 months after the visit."""
    my_train = my_train.fillna(0)
    final = []
    for u in TARGET:
        predicted = model[u].predict(my_train[["visit_month"]].to_numpy())
        for column, plus in enumerate(PLUS):
            name = my_train["visit_id"] + f"_{u}_plus_{plus}_months"
            final.append(pd.DataFrame({"prediction_id": name, "rating": predicted[:, column]}))
    return pd.concat(final).drop_duplicates(subset=["prediction_id", "rating"])


def get_training_rows(merged_data: pd.DataFrame, u: str) -> pd.DataFrame:
    """Return a row for each visit whose rating is known then and 6, 12 and 24 months later."""
    final = []
    for id_, visits in merged_data.groupby("patient_id", sort=False):
        rating = dict(zip(visits["visit_month"], visits[u], strict=True))
        for month in visits["visit_month"]:
            if all(month + plus in rating for plus in PLUS):
                final.append([month, id_, *(rating[month + plus] for plus in PLUS)])
    return pd.DataFrame(final, columns=["month", "patient_id", *(f"{u}+{plus}" for plus in PLUS)]).dropna()


if __name__ == "__main__":
    data_proteins = pd.read_csv("train_proteins.csv")
    data_clinical = pd.read_csv("train_clinical_data.csv")
    data_peptides = pd.read_csv("train_peptides.csv")
    data_supplemental = pd.read_csv("supplemental_clinical_data.csv")
    merged_data = pd.concat([data_clinical, data_supplemental])

    # TODO: clean the data and make features; so far only the month and the ratings are used
    data_for_train = {u: get_training_rows(merged_data, u) for u in TARGET}

    model = {}
    overall_score = []
    for i, u in enumerate(TARGET):
        X = data_for_train[u][["month"]].to_numpy()
        y = data_for_train[u].iloc[:, 2:6]
        model[u] = RandomForestRegressor().fit(X, y)
        print("Cross-validation scores")
        scores = -cross_val_score(
            RandomForestRegressor(), X, y, groups=data_for_train[u]["patient_id"],
            scoring=smapep1_scorer, cv=GroupKFold(n_splits=8), error_score="raise",
        )  # fmt: skip
        print([f"updrs_{i}:"], scores.round(1), scores.mean().round(1))
        overall_score.append(scores)
    print(f"Overall cv score of the group model: {np.array(overall_score).mean():.2f}")

    # Predict for the test set through the API, which writes submission.csv.
    env = MockApi()
    for test_clinical_data, _test_peptides, _test_proteins, sample_submission in env.iter_test():
        # TODO: set the ratings of sample_submission to your own predictions
        pred = get_predictions(test_clinical_data, model).round(0).set_index("prediction_id")["rating"]
        pred = pred[~pred.index.duplicated()]
        sample_submission["rating"] = pred.reindex(sample_submission["prediction_id"]).to_numpy()
        env.predict(sample_submission)
