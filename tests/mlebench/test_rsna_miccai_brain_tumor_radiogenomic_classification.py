from pathlib import Path

import pandas as pd
from competition import Competition, Files, copy_folders, prepare_raw, split, to_csv, write_file
from graders import roc_auc


class TestRsnaMiccaiBrainTumorRadiogenomicClassification(Competition):
    name = "rsna-miccai-brain-tumor-radiogenomic-classification"
    id = "BraTS21ID"
    targets = ("MGMT_value",)

    def prepare_reference(self, raw: Path) -> Files:
        table = pd.read_csv(raw / "train_labels.csv", dtype={"BraTS21ID": str, "MGMT_value": int})
        train, test = split(table, test_size=0.1)
        return {
            "public/train_labels.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(MGMT_value=0.5)),
            "private/test.csv": to_csv(test),
            **copy_folders(raw / "train", "public/train", train["BraTS21ID"]),
            **copy_folders(raw / "train", "public/test", test["BraTS21ID"]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "BraTS21ID", "MGMT_value")

    def test_further_columns_and_empty_folders_are_kept_and_labels_are_whole(self, raw: Path) -> None:
        ids = [f"{number:05d}" for number in range(13)]
        table = pd.DataFrame({"site": ["a,b"] * 13, "MGMT_value": [0.0, 1.0, *[0.0] * 11], "BraTS21ID": ids})
        write_file(raw / "train_labels.csv", to_csv(table))
        for id in ids:
            write_file(raw / "train" / id / "FLAIR/Image-1.dcm", id.encode())
            (raw / "train" / id / "T1w").mkdir()
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
