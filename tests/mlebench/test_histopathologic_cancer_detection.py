from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, copy_files, prepare_raw, read_inexactly, split, to_csv, write_file
from graders import roc_auc


class TestHistopathologicCancerDetection(Competition):
    name = "histopathologic-cancer-detection"
    id = "id"
    targets = ("label",)

    def prepare_reference(self, raw: Path) -> Files:
        labels, unlabelled = read_inexactly(raw / "train_labels.csv"), len(list((raw / "test").glob("*.tif")))
        train_ids, test_ids = split(labels["id"], test_size=unlabelled / (len(labels) + unlabelled))
        train, test = (labels[labels["id"].isin(ids)] for ids in (train_ids, test_ids))
        return {
            "public/train_labels.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(label=0)),
            "private/answers.csv": to_csv(test),
            **copy_files(raw / "train", "public/train", train["id"] + ".tif"),
            **copy_files(raw / "train", "public/test", test["id"] + ".tif"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "id", "label")

    def test_the_sample_keeps_extra_columns_in_their_order(self, raw: Path) -> None:
        ids = [f"p{number}" for number in range(20)]
        table = pd.DataFrame({"site": "a,b", "label": [0, 1] * 10, "id": ids, "size": np.linspace(0, 1, 20)})
        write_file(raw / "train_labels.csv", to_csv(table))
        for path in [*(f"train/{id}.tif" for id in ids), *(f"test/{number}.tif" for number in range(8))]:
            write_file(raw / path)
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
