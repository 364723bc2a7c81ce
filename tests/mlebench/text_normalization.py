"""The text normalization challenges, which differ in their language only."""

import csv
from functools import partial
from pathlib import Path
from typing import ClassVar

import pandas as pd
from competition import Competition, Files, Miniatures, read_prepared, read_table, split, to_csv
from graders import align, require_columns
from sklearn import metrics


class TextNormalization(Competition):
    """What both languages share."""

    language: ClassVar[str]
    id = "id"
    targets = ("after",)
    predictions = "class"
    fixed_changes = ("public/*",)

    def prepare_reference(self, raw: Path) -> Files:
        language, sides = self.language, []
        tokens = pd.read_csv(raw / f"{language}_train.csv.zip")
        for sentences in split(tokens["sentence_id"].unique(), test_size=0.1):
            side = tokens[tokens["sentence_id"].isin(sentences)].copy()
            numbers = {old: new for new, old in enumerate(side["sentence_id"].unique())}
            sides.append(side.assign(sentence_id=side["sentence_id"].map(numbers)))
        train, test = sides
        test["id"] = test["sentence_id"].astype(str) + "_" + test["token_id"].astype(str)
        quoted = partial(to_csv, quoting=csv.QUOTE_NONNUMERIC)
        sample = quoted(test[["id", "before"]].rename(columns={"before": "after"}))
        files = {
            f"{language}_train.csv": quoted(train),
            f"{language}_test_2.csv": quoted(test[["sentence_id", "token_id", "before"]]),
            f"{language}_sample_submission_2.csv": sample,
        }
        return {
            **{f"public/{name}.zip/{name}": content for name, content in files.items()},
            "private/answers.csv": quoted(test[["id", "after"]]),
            "private/sample_submission.csv": sample,
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "after")
        predicted, true = align(submission, answers, "id")
        # `astype(str)` as in pandas 2, where a missing value becomes the word "nan".
        texts = [[str(value) for value in side["after"].tolist()] for side in (true, predicted)]
        return metrics.accuracy_score(*texts)

    def test_fixed_keeps_words_that_look_like_missing_values(self, miniatures: Miniatures) -> None:
        path = f"public/{self.language}_train.csv.zip/{self.language}_train.csv"
        v1, fixed = (
            read_table(read_prepared(miniatures.prepared(self.name, edition))[path], keep_default_na=False)
            for edition in ("v1", "fixed")
        )
        lost = v1["before"] == ""
        assert sorted(fixed["before"][lost]) == sorted(fixed["after"][lost]) == ["NA", "None", "nan", "null"]
        pd.testing.assert_frame_equal(v1[~lost], fixed[~lost])
