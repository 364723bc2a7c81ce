from dataclasses import replace
from pathlib import Path

import pandas as pd
from competition import Competition, Files, Miniatures, prepare_raw, read_text_table, split, to_csv, write_file
from graders import align, require_columns
from sklearn.metrics import jaccard_score
from sklearn.preprocessing import MultiLabelBinarizer

from assay.grading import grade_submission


class TestChaiiHindiAndTamilQuestionAnswering(Competition):
    name = "chaii-hindi-and-tamil-question-answering"
    id = "id"
    targets = ("PredictionString",)
    predictions = "class"
    fixed_changes = ("public/train.csv", "private/test.csv")

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns=["answer_start", "answer_text"])),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(PredictionString="dummy text")),
            "private/test.csv": to_csv(test[["id"]].assign(PredictionString=test["answer_text"])),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "PredictionString")
        predicted, true = align(submission, answers, "id")
        words = [
            [text.lower().split() for text in table["PredictionString"].astype(object).fillna("")]
            for table in (true, predicted)
        ]
        binarizer = MultiLabelBinarizer(sparse_output=True).fit([*words[0], *words[1]])
        return float(jaccard_score(*map(binarizer.transform, words), average="samples"))

    def test_text_of_any_kind_is_written_as_pandas_writes_it(self, raw: Path) -> None:
        cells = ["plain", '"a, b"', "1947", "12.50", "NA", '"a\r\nb"', "  x", ""]
        rows = [f"{number}x,{cells[number % 7]},why?,{cells[number % 8]},{number},tamil" for number in range(60)]
        header = "id,context,question,answer_text,answer_start,language"
        write_file(raw / "train.csv", "\r\n".join([header, *rows]).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_accepts_numbers_and_scores_no_words(self, miniatures: Miniatures, tmp_path: Path) -> None:
        scores: dict[str, list[float | None]] = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            private = tmp_path / edition
            write_file(private / "test.csv", b"id,PredictionString\na1,\nb2,x 7\n")
            prepared = replace(prepared, private=private)
            contents = (b"id,PredictionString\na1,\nb2,x 7\n", b"id,PredictionString\na1,5\nb2,7\n")
            grades = [grade_submission(text, prepared, home=miniatures.home) for text in contents]
            scores[edition] = [grade.score for grade in grades]
        assert scores == {"v1": [0.5, None], "fixed": [1.0, 0.25]}

    def test_fixed_keeps_answers_that_look_missing(self, miniatures: Miniatures) -> None:
        answers = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            train = read_text_table((prepared.public / "train.csv").read_bytes())["answer_text"]
            test = read_text_table((prepared.private / "test.csv").read_bytes())["PredictionString"]
            answers[edition] = {*train, *test}
        assert answers["fixed"] - answers["v1"] == {"NA", "null"}
