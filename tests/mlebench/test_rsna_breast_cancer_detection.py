import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, copy_files, prepare_raw, split, to_csv, write_file
from graders import align, require, require_columns

from assay.grading import grade_submission

SHOWN = ["site_id", "patient_id", "image_id", "laterality", "view", "age", "implant", "machine_id", "prediction_id"]


class TestRsnaBreastCancerDetection(Competition):
    name = "rsna-breast-cancer-detection"
    id = "prediction_id"
    targets = ("cancer",)

    def prepare_reference(self, raw: Path) -> Files:
        images = pd.read_csv(raw / "train.csv")
        train_ids, test_ids = split(images["patient_id"].unique(), test_size=0.1, random_state=42)
        train, test = (images[images["patient_id"].isin(ids)] for ids in (train_ids, test_ids))
        test = test.assign(prediction_id=test["patient_id"].map(str) + "_" + test["laterality"])
        answers = test.groupby("prediction_id")["cancer"].first().reset_index()
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test[SHOWN]),
            "public/sample_submission.csv": to_csv(answers.assign(cancer=train["cancer"].mean())),
            "private/answers.csv": to_csv(answers),
            **copy_files(raw / "train_images", "public/train_images", self._names(train)),
            **copy_files(raw / "train_images", "public/test_images", self._names(test)),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "prediction_id", "cancer")
        predicted, true = align(submission, answers, "prediction_id")
        submitted, positive = predicted["cancer"], true["cancer"].to_numpy().astype(bool)
        require(not any(isinstance(value, str) for value in submitted))
        scores = np.array([float(value) for value in submitted])
        require(not (scores < 0).all())  # the published sums are then Python integers, and 0 / 0 fails
        scores = scores.clip(0, 1)
        if np.isnan(scores).any() or scores[positive].sum() == 0:
            return 0.0
        precision, recall = scores[positive].sum() / scores.sum(), scores[positive].sum() / positive.sum()
        return float(2 * precision * recall / (precision + recall))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        yield "negative and zero", table.change(lambda _: {"cancer": draw.choice(["0", "-0.5"])})
        yield "booleans with gaps", table.change(lambda _: {"cancer": draw.choice(["True", ""])})
        yield "above one", table.change(lambda row: {"cancer": repr(float(row["cancer"]) * 3)})

    def test_fixed_refuses_what_is_not_a_probability(self, miniatures: Miniatures) -> None:
        outcomes = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = pd.read_csv(prepared.private / "answers.csv")
            perfect = grade_submission(to_csv(answers), prepared, home=miniatures.home)
            assert perfect.score == 1
            for cell in (np.nan, 2.0):
                table = to_csv(answers.assign(cancer=[cell, *answers["cancer"][1:]]))
                grade = grade_submission(table, prepared, home=miniatures.home)
                outcomes[edition, cell] = grade.valid_submission
        assert list(outcomes.values()) == [True, True, False, False]

    @pytest.mark.parametrize("gaps", [False, True])
    def test_column_types_come_from_the_whole_table(self, raw: Path, gaps: bool) -> None:
        patients = np.repeat([7, 300, 20, 41, 5, 66, 13, 8, 99, 1000, 2], 3)
        table = pd.DataFrame({
            "note": ["x, y"] * 33, "cancer": np.resize([0, 1, 1, 0], 33), "patient_id": patients, "image_id": range(33),
            "laterality": ["L", "R", "L"] * 11, "view": "CC", "age": 61, "implant": 0, "machine_id": 4, "site_id": 2,
            "difficult_negative_case": True,
        })  # fmt: skip
        if gaps:
            table = table.astype({"cancer": float, "age": float, "difficult_negative_case": object})
            table.loc[[1, 2, 5], ["cancer", "age", "difficult_negative_case"]] = None
        write_file(raw / "train.csv", to_csv(table))
        for name in self._names(table):
            write_file(raw / "train_images" / name)
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def _names(self, table: pd.DataFrame) -> list[str]:
        return [f"{row.patient_id}/{row.image_id}.dcm" for row in table.itertuples()]
