from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, split, to_csv, write_file
from graders import align, require, require_columns
from sklearn import metrics

from assay.core.errors import SourceError
from assay.grading import grade_submission


class TestLearningAgencyLabAutomatedEssayScoring2(Competition):
    name = "learning-agency-lab-automated-essay-scoring-2"
    id = "essay_id"
    targets = ("score",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        grades = np.random.RandomState(42).randint(1, 7, size=len(test))
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test[["essay_id", "full_text"]]),
            "public/sample_submission.csv": to_csv(test[["essay_id"]].assign(score=grades)),
            "private/answers.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "essay_id", "score")
        require(len(submission) > 0)
        predicted, true = align(submission, answers, "essay_id")
        return metrics.cohen_kappa_score(true["score"].values, predicted["score"].values, weights="quadratic")

    def test_a_missing_text_or_score_is_written_as_pandas_writes_it(self, raw: Path) -> None:
        texts = ["NA", "a\r\nb", "  a, b", 'say "x"', "\tz"] * 4
        rows = [f"{number:05d}a,{quote(text)},{number % 6 + 1}" for number, text in enumerate(texts)]
        write_file(raw / "train.csv", "\r\n".join(["essay_id,full_text,score", *rows, "x,y,"]).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_another_column_is_refused(self, raw: Path) -> None:
        write_file(raw / "train.csv", b"essay_id,full_text,score,more\na,b,1,2\nc,d,1,2\n")
        with pytest.raises(SourceError, match="has the columns"):
            prepare_raw(self.name, raw)

    def test_fixed_measures_distance_by_value(self, miniatures: Miniatures, tmp_path: Path) -> None:
        """Grades 1, 2, 6 predicted as 1, 2, 2. By hand: 1 - 3·16/60 by value; 1 - 3·1/9 where 2 and 6 are adjacent."""
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            private = tmp_path / edition
            write_file(private / "answers.csv", b"essay_id,full_text,score\na,x,1\nb,x,2\nc,x,6\n")
            prepared = replace(prepared, private=private)
            content = b"essay_id,score\na,1\nb,2\nc,2\n"
            scores[edition] = grade_submission(content, prepared, home=miniatures.home).score
        assert scores == {"v1": 0.66667, "fixed": 0.2}

    @pytest.mark.parametrize("edition", ("v1", "fixed"))
    def test_the_answers_score_1(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = to_csv(pd.read_csv(prepared.private / "answers.csv")[["essay_id", "score"]])
        assert grade_submission(answers, prepared, home=miniatures.home).score == 1


def quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
