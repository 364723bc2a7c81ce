from pathlib import Path

import pandas as pd
from competition import Competition, Files, read_archive, split, to_csv
from graders import roc_auc


class TestInvasiveSpeciesMonitoring(Competition):
    name = "invasive-species-monitoring"
    id = "name"
    targets = ("invasive",)

    def prepare_reference(self, raw: Path) -> Files:
        # The published archives hold an empty folder by mistake; ours hold the photos that the description promises.
        photos = read_archive(raw / "train.7z")
        train, test = split(pd.read_csv(raw / "train_labels.csv.zip"), test_size=0.2)
        sample = to_csv(test.assign(invasive=0.5))
        return {
            **{f"public/train.7z/train/{name}.jpg": photos[f"train/{name}.jpg"] for name in train["name"]},
            **{f"public/test.7z/test/{name}.jpg": photos[f"train/{name}.jpg"] for name in test["name"]},
            "public/train_labels.csv.zip/train_labels.csv": to_csv(train),
            "public/sample_submission.csv.zip/sample_submission.csv": sample,
            "private/sample_submission.csv": sample,
            "private/answers.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "name", "invasive")
