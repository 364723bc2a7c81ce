from pathlib import Path

import pandas as pd
from competition import Competition, Files, Miniatures, split, to_csv
from graders import require_columns
from sklearn import metrics


class TestNewYorkCityTaxiFarePrediction(Competition):
    name = "new-york-city-taxi-fare-prediction"
    id = "key"
    targets = ("fare_amount",)
    predictions = "number"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=9914)
        return {
            "public/labels.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="fare_amount")),
            "public/sample_submission.csv": to_csv(test[["key"]].assign(fare_amount=11.35)),
            "public/GCP-Coupons-Instructions.rtf": (raw / "GCP-Coupons-Instructions.rtf").read_bytes(),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "key", "fare_amount")
        predicted, true = submission.sort_values("key"), answers.sort_values("key")
        return metrics.root_mean_squared_error(true["fare_amount"], predicted["fare_amount"])

    def test_fixed_compares_keys(self, miniatures: Miniatures) -> None:
        scores = self.scores_after(miniatures, lambda table: table.assign(key=table["key"] + "x"))
        assert scores == {"v1": 0, "fixed": None}
