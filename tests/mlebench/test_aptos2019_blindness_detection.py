from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, copy_files, prepare_raw, read_exactly, split, to_csv, write_file
from graders import require, require_columns
from sklearn import metrics

from assay.grading import grade_submission


class TestAptos2019BlindnessDetection(Competition):
    name = "aptos2019-blindness-detection"
    id = "id_code"
    targets = ("diagnosis",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(read_exactly(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="diagnosis")),
            "public/sample_submission.csv": to_csv(test.assign(diagnosis=0)),
            "private/test.csv": to_csv(test),
            **copy_files(raw / "train_images", "public/train_images", train["id_code"] + ".png"),
            **copy_files(raw / "train_images", "public/test_images", test["id_code"] + ".png"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "diagnosis")
        require(len(submission) > 0 and set(submission["id_code"]) == set(answers["id_code"]))
        predicted, true = submission.sort_values("id_code"), answers.sort_values("id_code")
        return metrics.cohen_kappa_score(predicted["diagnosis"].values, true["diagnosis"].values, weights="quadratic")

    def test_the_sample_keeps_extra_columns_in_their_order(self, raw: Path) -> None:
        ids = [f"p{number}" for number in range(20)]
        table = pd.DataFrame({"site": "a,b", "diagnosis": [0, 1] * 10, "id_code": ids, "size": np.linspace(0, 1, 20)})
        write_file(raw / "train.csv", to_csv(table))
        for id in ids:
            write_file(raw / f"train_images/{id}.png")
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_measures_distance_by_value(self, miniatures: Miniatures, tmp_path: Path) -> None:
        """Grades 0, 1, 4 predicted as 0, 1, 1. By hand: 1 - 3·9/37 by value; 1 - 3·1/9 where 1 and 4 are adjacent."""
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            write_file(tmp_path / edition / "test.csv", b"id_code,diagnosis\na,0\nb,1\nc,4\n")
            prepared = replace(prepared, private=tmp_path / edition)
            content = b"id_code,diagnosis\na,0\nb,1\nc,1\n"
            scores[edition] = grade_submission(content, prepared, home=miniatures.home).score
        assert scores == {"v1": 0.66667, "fixed": 0.27027}
