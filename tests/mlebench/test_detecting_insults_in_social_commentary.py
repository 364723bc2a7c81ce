from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, to_csv, write_file
from graders import roc_auc

from assay.core.errors import SourceError


class TestDetectingInsultsInSocialCommentary(Competition):
    name = "detecting-insults-in-social-commentary"
    id = "Comment"
    targets = ("Insult",)

    def prepare_reference(self, raw: Path) -> Files:
        test = pd.read_csv(raw / "test_with_solutions.csv")
        return {
            "public/train.csv": (raw / "train.csv").read_bytes(),
            "public/test.csv": to_csv(test[["Date", "Comment"]]),
            "public/sample_submission_null.csv": to_csv(test[["Insult", "Date", "Comment"]].assign(Insult=0)),
            "private/test.csv": (raw / "test_with_solutions.csv").read_bytes(),
            "private/gold_submission.csv": to_csv(test[["Insult", "Date", "Comment"]]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "Comment", "Insult")

    @pytest.mark.parametrize(
        ("train", "test"),
        [
            (("Insult,Comment,Date", "a,b"), ("Insult,Date,Comment,Usage", "c,x", "d,x")),
            (("Insult,Date,Comment", "a"), ("Insult,Date,Comment", "c", "d")),
            (("Insult,Date,Comment", "a", "b"), ("Insult,Date,Comment,Usage", "a,x", "d,x")),
            (("Insult,Date,Comment", "a", "NA"), ("Insult,Date,Comment,Usage", "c,x", "None,x")),
        ],
    )
    def test_other_columns_or_comments_on_both_sides_are_refused(
        self, train: tuple[str, ...], test: tuple[str, ...], raw: Path
    ) -> None:
        for name, (header, *comments) in {"train": train, "test_with_solutions": test}.items():
            lines = [header, *(f"{row % 2},,{comment}" for row, comment in enumerate(comments))]
            write_file(raw / f"{name}.csv", "".join(f"{line}\n" for line in lines).encode())
        with pytest.raises(SourceError, match=r"train\.csv|test_with_solutions\.csv"):
            prepare_raw(self.name, raw)

    def test_equal_comments_are_paired_in_their_order_in_fixed_only(self, miniatures: Miniatures) -> None:
        scores = self.scores_after(miniatures, lambda table: pd.concat([table[100:], table[:100]]))
        assert scores["fixed"] == 1 and scores["v1"] and scores["v1"] < 1
