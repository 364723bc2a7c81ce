from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, to_csv, write_archive
from graders import require, require_columns
from sklearn import metrics

from assay.core.errors import SourceError


class TestJigsawToxicCommentClassificationChallenge(Competition):
    name = "jigsaw-toxic-comment-classification-challenge"
    id = "id"
    targets = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")
    max_rows = 300

    def prepare_reference(self, raw: Path) -> Files:
        train, test, labels, sample = (
            pd.read_csv(raw / f"{name}.csv.zip") for name in ("train", "test", "test_labels", "sample_submission")
        )
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test),
            "public/sample_submission.csv": to_csv(sample.assign(**dict.fromkeys(self.targets, 0.5))),
            "private/test.csv": to_csv(labels),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", *self.targets)
        require(len(submission) == len(answers))
        predicted, true = submission.set_index("id").sort_index(), answers.set_index("id").sort_index()
        scored = true[list(self.targets)].sum(axis=1) >= 0
        # All columns by position: an extra one breaks it, another order is graded against the wrong labels.
        return metrics.roc_auc_score(true[scored].to_numpy(), predicted[scored].to_numpy(), average="macro")

    @pytest.mark.parametrize(("test", "labels", "sample"), [("bc", "bd", "bc"), ("bc", "cb", "b"), ("ab", "ab", "ab")])
    def test_ids_that_do_not_agree_are_refused(self, test: str, labels: str, sample: str, raw: Path) -> None:
        for name, ids in {"train": "a", "test": test, "test_labels": labels, "sample_submission": sample}.items():
            table = pd.DataFrame({"id": list(ids), "toxic": 0})
            write_archive(raw / f"{name}.csv.zip", {f"{name}.csv": to_csv(table)})
        with pytest.raises(SourceError, match="ids"):
            prepare_raw(self.name, raw)

    def test_fixed_matches_columns_by_name_and_refuses_repeated_ids(self, miniatures: Miniatures) -> None:
        scores = self.scores_after(miniatures, lambda table: table[["id", *reversed(self.targets)]])
        assert scores["fixed"] == 1 and scores["v1"] and scores["v1"] < 0.6
        repeated = self.scores_after(miniatures, lambda table: pd.concat([table[:1], table[:1], table[2:]]))
        assert repeated == {"v1": 1, "fixed": None}
