import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, copy_files, prepare_raw, split, to_csv, write_file
from graders import require, require_columns
from sklearn import metrics

from assay.grading import grade_submission


class TestPredictVolcanicEruptionsIngvOe(Competition):
    name = "predict-volcanic-eruptions-ingv-oe"
    id = "segment_id"
    targets = ("time_to_eruption",)
    predictions = "number"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(time_to_eruption=0)),
            "private/test.csv": to_csv(test),
            **copy_files(raw / "train", "public/train", [f"{id}.csv" for id in train["segment_id"]]),
            **copy_files(raw / "train", "public/test", [f"{id}.csv" for id in test["segment_id"]]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "segment_id", "time_to_eruption")
        require(set(submission["segment_id"]) == set(answers["segment_id"]))
        joined = submission.merge(answers, on="segment_id", suffixes=("_predicted", "_true"))
        error = metrics.mean_absolute_error(joined["time_to_eruption_true"], joined["time_to_eruption_predicted"])
        return round(error)

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        yield "finite times with an infinite sum", table.change(lambda _: {"time_to_eruption": "1.7e308"})

    def test_a_missing_time_makes_all_times_fractional(self, raw: Path) -> None:
        (raw / "train.csv").write_text("segment_id,time_to_eruption\n7,10\n3,\n12,30\n")
        for id in (3, 7, 12, 99):
            write_file(raw / f"train/{id}.csv", str(id).encode())
        assert prepare_raw(self.name, raw) == {
            "public/train.csv": b"segment_id,time_to_eruption\n3,\n7,10.0\n",
            "public/sample_submission.csv": b"segment_id,time_to_eruption\n12,0\n",
            "private/test.csv": b"segment_id,time_to_eruption\n12,30.0\n",
            "public/train/3.csv": b"3",
            "public/train/7.csv": b"7",
            "public/test/12.csv": b"12",
        }

    @pytest.mark.parametrize("edition", ("v1", "fixed"))
    def test_repeating_the_best_row_helps_in_v1_only(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "test.csv")
        wrong = answers.assign(time_to_eruption=answers["time_to_eruption"] + 1000)
        wrong.loc[0] = answers.loc[0]
        repeated = pd.concat([wrong, *[wrong.head(1)] * 100])
        honest, gamed = (grade_submission(to_csv(table), prepared, home=miniatures.home) for table in (wrong, repeated))
        assert honest.score == round(1000 * (len(answers) - 1) / len(answers))
        if edition == "v1":
            assert gamed.score == round(1000 * (len(answers) - 1) / len(repeated))
        else:
            assert not gamed.valid_submission
