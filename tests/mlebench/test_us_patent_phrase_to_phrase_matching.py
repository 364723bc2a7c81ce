from pathlib import Path

import pandas as pd
from competition import Competition, Files, Miniatures, prepare_raw, read_text_table, split, to_csv, write_file
from graders import align, require_columns
from scipy.stats import pearsonr

from assay.grading import grade_submission


class TestUsPatentPhraseToPhraseMatching(Competition):
    name = "us-patent-phrase-to-phrase-matching"
    id = "id"
    targets = ("score",)
    predictions = "number"
    fixed_changes = ("public/train.csv", "public/test.csv", "private/test.csv")

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="score")),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(score=0)),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "score")
        predicted, true = align(submission, answers, "id")
        return float(pearsonr(predicted["score"], true["score"])[0])

    def test_numbers_are_written_in_their_shortest_form(self, raw: Path) -> None:
        scores = ["1", ".5", "0.50", "0.250", "0"]
        rows = [f"a{number:015x},anchor,{number},A{number},{scores[number % 5]}" for number in range(30)]
        write_file(raw / "train.csv", "\n".join(["id,anchor,target,context,score", *rows]).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_keeps_phrases_that_look_missing(self, miniatures: Miniatures) -> None:
        targets = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            targets[edition] = set(read_text_table((prepared.public / "train.csv").read_bytes())["target"])
        assert "" in targets["v1"] and "null" not in targets["v1"]
        assert "null" in targets["fixed"] and "" not in targets["fixed"]

    def test_the_answers_score_1_and_the_constant_sample_0_only_in_fixed(self, miniatures: Miniatures) -> None:
        samples = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = to_csv(pd.read_csv(prepared.private / "test.csv")[["id", "score"]])
            assert grade_submission(answers, prepared, home=miniatures.home).score == 1
            sample = (prepared.public / "sample_submission.csv").read_bytes()
            grade = grade_submission(sample, prepared, home=miniatures.home)
            samples[edition] = grade.not_finite or grade.score
        assert samples == {"v1": "nan", "fixed": 0}
