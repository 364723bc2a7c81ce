from pathlib import Path

import numpy as np
import pandas as pd
from competition import (
    Competition,
    Files,
    prepare_raw,
    read_archive,
    read_exactly,
    split,
    to_csv,
    write_archive,
    write_file,
)
from graders import roc_auc


class TestAerialCactusIdentification(Competition):
    name = "aerial-cactus-identification"
    id = "id"
    targets = ("has_cactus",)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(read_exactly(raw / "train.csv"), test_size=0.19)
        pictures = read_archive(raw / "train.zip")
        return {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(has_cactus=0.5)),
            "private/test.csv": to_csv(test),
            **{f"public/train.zip/{name}": pictures[f"train/{name}"] for name in train["id"]},
            **{f"public/test.zip/{name}": pictures[f"train/{name}"] for name in test["id"]},
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "id", "has_cactus")

    def test_the_sample_keeps_extra_columns_in_their_order(self, raw: Path) -> None:
        ids = [f"{number}.jpg" for number in range(20)]
        table = pd.DataFrame({"site": "a,b", "has_cactus": [0, 1] * 10, "id": ids, "size": np.linspace(0, 1, 20)})
        write_file(raw / "train.csv", to_csv(table))
        write_archive(raw / "train.zip", {f"train/{id}": id for id in ids})
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
