from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, prepare_raw, split, to_csv, write_file
from graders import align, require_columns
from sklearn import metrics

from assay.core.errors import SourceError
from assay.grading import grade_submission

COLUMNS = ["id", "breath_id", "R", "C", "time_step", "u_in", "u_out", "pressure"]


class TestVentilatorPressurePrediction(Competition):
    name = "ventilator-pressure-prediction"
    id = "id"
    targets = ("pressure",)
    predictions = "number"

    def prepare_reference(self, raw: Path) -> Files:
        breaths = [breath for _, breath in pd.read_csv(raw / "train.csv").groupby("breath_id")]
        train, test = (pd.concat(side, ignore_index=True) for side in split(breaths, test_size=0.1))
        for side in (train, test):
            side["id"] = range(1, len(side) + 1)
        return {
            "public/train.csv": to_csv(train, float_format="%.10g"),
            "public/test.csv": to_csv(test.drop(columns="pressure"), float_format="%.10g"),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(pressure=0)),
            "private/test.csv": to_csv(test, float_format="%.10g"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "pressure")
        predicted, true = align(submission, answers, "id")
        scored = (true["u_out"] == 0).to_numpy()
        return float(metrics.mean_absolute_error(true["pressure"][scored], predicted["pressure"][scored]))

    def perturbations(self, table: Table, draw: Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for number in range(0, len(table.rows), 7):
            for cell in ("", "x", "inf"):
                yield f"{cell!r} in row {number}", table.change(lambda _: {"pressure": cell}, [number])  # noqa: B023

    def test_interleaved_breaths_are_grouped_and_numbers_are_rounded_to_ten_digits(self, raw: Path) -> None:
        draw = np.random.default_rng(0)
        numbers = np.array([0.0, 100.0, 5.837491705069121, 0.00001, 1e15, -3.0])
        table = pd.DataFrame({"id": draw.permutation(300), "breath_id": draw.choice([3, 11, 2, 100, 25, 7], 300)})
        table = table.assign(
            R=5, C=draw.choice([10, 50], 300), time_step=draw.random(300), u_in=draw.choice(numbers, 300)
        )
        table = table.assign(u_out=draw.integers(0, 2, 300), pressure=draw.choice(numbers, 300))
        write_file(raw / "train.csv", to_csv(table[COLUMNS]))
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_another_column_is_refused(self, raw: Path) -> None:
        header = ",".join([*COLUMNS, "more"])
        write_file(raw / "train.csv", f"{header}\n1,1,5,10,0,0,0,1,9\n2,2,5,10,0,0,0,1,9\n".encode())
        with pytest.raises(SourceError, match="has the columns"):
            prepare_raw(self.name, raw)

    @pytest.mark.parametrize("edition", ["v1", "fixed"])
    def test_the_answers_score_0(self, edition: str, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = to_csv(pd.read_csv(prepared.private / "test.csv")[["id", "pressure"]])
        assert grade_submission(answers, prepared, home=miniatures.home).score == 0
