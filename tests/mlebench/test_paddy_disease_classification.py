from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, read_prepared, read_table, split, to_csv
from graders import accuracy_score, align, require_columns


class TestPaddyDiseaseClassification(Competition):
    name = "paddy-disease-classification"
    id = "image_id"
    targets = ("label",)
    predictions = "class"
    fixed_changes = ("public/sample_submission.csv",)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), train_size=0.75)
        photos = {path.name: path.read_bytes() for path in (raw / "train_images").rglob("*.jpg")}
        labelled = zip(train["label"], train["image_id"], strict=True)
        return {
            **{f"public/train_images/{label}/{name}": photos[name] for label, name in labelled},
            **{f"public/test_images/{name}": photos[name] for name in test["image_id"]},
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test[["image_id"]].assign(label="")),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "image_id", "label")
        predicted, true = align(submission, answers, "image_id")
        # As a list of Python objects: an empty label is an empty text, also where the others are numbers.
        labels = ["" if pd.isna(label) else label for label in predicted["label"]]
        return accuracy_score(true["label"].to_numpy(), np.asarray(labels))

    def test_the_fixed_sample_answers_with_a_class_that_exists(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        sample = read_table(read_prepared(prepared)["public/sample_submission.csv"])
        assert set(sample["label"]) == {"normal"} < set(prepared.task.submission.columns["label"].values or ())
