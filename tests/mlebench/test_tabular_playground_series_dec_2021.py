from pathlib import Path

import pandas as pd
from competition import Competition, Files, split, to_csv
from graders import accuracy


class TestTabularPlaygroundSeriesDec2021(Competition):
    name = "tabular-playground-series-dec-2021"
    id = "Id"
    targets = ("Cover_Type",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="Cover_Type")),
            "public/sample_submission.csv": to_csv(test[["Id"]].assign(Cover_Type=2)),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "Id", "Cover_Type")
