from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, copy_files, prepare_raw, split, to_csv, write_file
from graders import align, require, require_columns
from sklearn.metrics import root_mean_squared_error

from assay.core.errors import SourceError
from assay.grading import grade_submission


class TestPetfinderPawpularityScore(Competition):
    name = "petfinder-pawpularity-score"
    id = "Id"
    targets = ("Pawpularity",)
    predictions = "number"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        draws = np.random.default_rng(0).uniform(1, 100, len(test)).round(2)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="Pawpularity")),
            "public/sample_submission.csv": to_csv(test[["Id"]].assign(Pawpularity=draws)),
            "private/test.csv": to_csv(test),
            **copy_files(raw / "train", "public/train", train["Id"] + ".jpg"),
            **copy_files(raw / "train", "public/test", test["Id"] + ".jpg"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "Id", "Pawpularity")
        for table in (submission, answers):
            require(bool(((table["Pawpularity"] >= 1) & (table["Pawpularity"] <= 100)).all()))
        predicted, true = align(submission, answers, "Id")
        return root_mean_squared_error(true["Pawpularity"], predicted["Pawpularity"])

    def test_first_draws_of_the_sample_are_the_published_ones(self, raw: Path) -> None:
        ids = [f"p{number}" for number in range(30)]
        table = pd.DataFrame({"Id": ids, "Blur": [0, 1] * 15, "Note": "a, b", "Pawpularity": range(1, 31)})
        write_file(raw / "train.csv", to_csv(table))
        for id in ids:
            write_file(raw / "train" / f"{id}.jpg", id.encode())
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        sample = files["public/sample_submission.csv"].decode().split()
        assert [row.partition(",")[2] for row in sample[1:]] == ["64.06", "27.71", "5.06"]

    def test_the_score_must_be_the_last_column(self, raw: Path) -> None:
        write_file(raw / "train.csv", b"Id,Pawpularity,Blur\na,1,0\nb,2,0\n")
        with pytest.raises(SourceError, match="Pawpularity"):
            prepare_raw(self.name, raw)

    @pytest.mark.parametrize(("edition", "valid"), (("v1", False), ("fixed", True)))
    def test_fixed_accepts_numbers_outside_the_range(self, miniatures: Miniatures, edition: str, valid: bool) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "test.csv")[["Id", "Pawpularity"]]
        assert grade_submission(to_csv(answers), prepared, home=miniatures.home).score == 0
        below = to_csv(answers.assign(Pawpularity=0.5))
        grade = grade_submission(below, prepared, home=miniatures.home)
        assert grade.valid_submission is valid
