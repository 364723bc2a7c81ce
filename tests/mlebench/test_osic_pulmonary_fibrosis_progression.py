import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    copy_folders,
    prepare_raw,
    read_exactly,
    read_prepared,
    read_table,
    split,
    to_csv,
    write_file,
)
from graders import require, require_columns

from assay.grading import grade_submission

PERFECT = -np.log(100 * np.sqrt(2))  # with a confidence of 100 and no error


class TestOsicPulmonaryFibrosisProgression(Competition):
    name = "osic-pulmonary-fibrosis-progression"
    id = "Patient_Week"
    targets = ("FVC", "Confidence")
    perfect = PERFECT
    max_rows = 1000

    def prepare_reference(self, raw: Path) -> Files:
        measured = read_exactly(raw / "train.csv")
        groups = [group for _, group in measured.groupby("Patient")]
        train, test = (pd.concat(side) for side in split(groups, test_size=0.1))
        first = test.sort_values("Weeks").groupby("Patient").first().reset_index()
        weeks = range(test["Weeks"].min(), test["Weeks"].max() + 1)
        patients = test["Patient"].unique()
        grid = pd.DataFrame([(patient, week) for patient in patients for week in weeks], columns=["Patient", "Weeks"])
        answers = grid.merge(test, on=["Patient", "Weeks"], how="left")
        names = [f"{patient}_{week}" for patient, week in zip(answers["Patient"], answers["Weeks"], strict=True)]
        answers = answers.assign(Patient_Week=names, Confidence=100)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(first),
            "public/sample_submission.csv": to_csv(answers.assign(FVC=2000)[["Patient_Week", "FVC", "Confidence"]]),
            "private/test.csv": to_csv(answers),
            **copy_folders(raw / "train", "public/train", train["Patient"].unique()),
            **copy_folders(raw / "train", "public/test", patients),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "Patient_Week", "FVC", "Confidence")
        require(set(submission["Patient_Week"]) <= set(answers["Patient_Week"]))
        numeric = submission[["FVC", "Confidence"]].dtypes.map(pd.api.types.is_numeric_dtype)
        require(bool(numeric.all()))
        last = answers[answers["FVC"].notna()].sort_values(["Patient", "Weeks"]).groupby("Patient").tail(3)
        truth = last.set_index("Patient_Week")["FVC"]
        rows = submission[submission["Patient_Week"].isin(truth.index)]
        # Both sides are subtracted as arrays, which fails where a row repeats, unless a single answer is left.
        require(rows["Patient_Week"].is_unique or rows["Patient_Week"].nunique() == 1)
        error = np.minimum(np.abs(rows["FVC"] - truth.loc[rows["Patient_Week"]].to_numpy()), 1000).to_numpy()
        spread = np.maximum(rows["Confidence"].fillna(0), 70).to_numpy()
        return float(np.mean(-np.sqrt(2) * error / spread - np.log(np.sqrt(2) * spread)))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        yield "one row alone", table.write(table.rows[:1])
        for number, row in enumerate(table.rows):
            if row["Patient_Week"].startswith(table.rows[0]["Patient_Week"].partition("_")[0]):
                yield f"row {number} alone", table.write([row])
                yield f"row {number} three times", table.write([row] * 3)
                yield f"row {number} twice", table.write([*table.rows, row])

    def test_fixed_requires_every_row(self, miniatures: Miniatures) -> None:
        valid = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = read_table(read_prepared(prepared)["private/test.csv"])
            columns = ["Patient_Week", "FVC", "Confidence"]
            whole = grade_submission(to_csv(answers[columns]), prepared, home=miniatures.home)
            assert whole.score == pytest.approx(PERFECT, abs=5e-6)
            part = to_csv(answers.loc[answers["FVC"].notna(), columns])
            valid[edition] = grade_submission(part, prepared, home=miniatures.home).valid_submission
        assert valid == {"v1": True, "fixed": False}

    @pytest.mark.parametrize("gaps", [False, True])
    def test_whole_numbers_stay_so_unless_a_week_is_missing(self, raw: Path, gaps: bool) -> None:
        rows = [
            (patient, week, 2000 - week, 0.5, 60, "Male", 'Ex-smoker, "heavy"')
            for patient in ("b", "c", "a")
            for week in range(-1, 4)
            if not (gaps and week == 2)
        ]
        columns = ["Patient", "Weeks", "FVC", "Percent", "Age", "Sex", "SmokingStatus"]
        write_file(raw / "train.csv", to_csv(pd.DataFrame(rows, columns=columns)[["SmokingStatus", *columns[:-1]]]))
        for patient in "abc":
            (raw / "train" / patient / "empty").mkdir(parents=True)
        prepared = prepare_raw(self.name, raw)
        assert prepared == self.prepare_reference(raw)
        assert (b".0,0.5,60.0" in prepared["private/test.csv"]) == gaps
