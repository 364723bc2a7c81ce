from pathlib import Path

import pandas as pd
from competition import Competition, Files, split, to_csv
from graders import roc_auc


class TestTabularPlaygroundSeriesMay2022(Competition):
    name = "tabular-playground-series-may-2022"
    id = "id"
    targets = ("target",)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=100_000)
        train["id"] = range(len(train))
        test["id"] = range(len(train), len(train) + len(test))
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="target")),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(target=0.5)),
            "private/test.csv": to_csv(test),
            "private/gold_submission.csv": to_csv(test[["id", "target"]]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "id", "target")
