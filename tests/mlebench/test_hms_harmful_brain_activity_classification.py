import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    copy_files,
    copy_folders,
    prepare_raw,
    read_prepared,
    read_table,
    split,
    to_csv,
    write_file,
)
from graders import require, require_columns

from assay.grading import grade_submission

VOTES = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"]
COLUMNS = [
    "eeg_id", "eeg_sub_id", "eeg_label_offset_seconds", "spectrogram_id", "spectrogram_sub_id",
    "spectrogram_label_offset_seconds", "label_id", "patient_id", "expert_consensus", *VOTES,
]  # fmt: skip


class TestHmsHarmfulBrainActivityClassification(Competition):
    name = "hms-harmful-brain-activity-classification"
    id = "eeg_id"
    targets = tuple(VOTES)
    predictions = "distribution"
    fixed_changes = ("public/test.csv",)

    def prepare_reference(self, raw: Path) -> Files:
        windows = pd.read_csv(raw / "train.csv")
        sides = split(windows["spectrogram_id"].unique(), test_size=0.1)
        train, test = (windows[windows["spectrogram_id"].isin(ids)] for ids in sides)
        shares = test[VOTES].to_numpy() / test[VOTES].to_numpy().sum(axis=1, keepdims=True)
        gold = pd.DataFrame({"eeg_id": test["eeg_id"].to_numpy(), **dict(zip(VOTES, shares.T, strict=True))})
        files = {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test[["spectrogram_id", "eeg_id", "patient_id"]]),
            "public/sample_submission.csv": to_csv(gold.assign(**dict.fromkeys(VOTES, 1 / 6))),
            "private/test.csv": to_csv(test),
            "private/gold_submission.csv": to_csv(gold),
            **copy_folders(raw, "public", ["example_figures"]),
        }
        for side, table in (("train", train), ("test", test)):
            for kind in ("eeg", "spectrogram"):
                names = [f"{id}.parquet" for id in table[f"{kind}_id"].unique()]
                files |= copy_files(raw / f"train_{kind}s", f"public/{side}_{kind}s", names)
        return files

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "eeg_id", *VOTES)
        require(len(submission) == len(answers))
        require(all(round(total, 5) == 1 for total in submission[VOTES].sum(axis=1)))
        require(set(submission["eeg_id"]) == set(answers["eeg_id"]))
        predicted, true = (table.sort_values("eeg_id").drop(columns="eeg_id") for table in (submission, answers))
        require(pd.api.types.is_numeric_dtype(predicted.to_numpy()) and predicted.select_dtypes(bool).empty)
        require(
            bool(predicted.min().min() >= 0 and predicted.max().max() <= 1 and np.allclose(predicted.sum(axis=1), 1))
        )
        p = true[VOTES].to_numpy() / true[VOTES].to_numpy().sum(axis=1, keepdims=True)
        q = np.clip(predicted[VOTES].to_numpy(), 1e-15, 1 - 1e-15)
        terms = p * np.log(np.where(p == 0, 1, p) / q)
        return float(np.nansum(np.where(p == 0, 0, terms), axis=1).mean())

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        whole = dict.fromkeys(VOTES, "") | {"lpd_vote": "0.25", "other_vote": "0.75"}
        yield "missing values next to a whole", table.change(lambda _: whole)
        yield "one row with missing values", table.change(lambda _: whole, [3])
        near = whole | {"lpd_vote": "0.250004"}
        yield "almost one", table.change(lambda _: near, [3])
        tie = whole | {"lpd_vote": "0.250005"}
        yield "a sum that Python and NumPy round to different sides", table.change(lambda _: tie, [3])
        certain = dict.fromkeys(VOTES, "False") | {"lpd_vote": "True"}
        yield "booleans", table.change(lambda _: certain)
        yield "booleans and gaps", table.change(lambda _: {"lpd_vote": "", "gpd_vote": "True"})
        yield (
            "a further column of false",
            table.write([row | {"note": "False"} for row in table.rows], [*table.header, "note"]),
        )

    def test_fixed_says_which_window_a_row_is_about(self, miniatures: Miniatures) -> None:
        ambiguous = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            files = read_prepared(prepared)
            gold = read_table(files["private/gold_submission.csv"])
            assert grade_submission(to_csv(gold), prepared, home=miniatures.home).score == 0
            ambiguous[edition] = bool(read_table(files["public/test.csv"]).duplicated().any())
        assert ambiguous == {"v1": True, "fixed": False}

    def test_fixed_pairs_the_windows_of_a_recording_in_their_order(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        gold = read_table((prepared.private / "gold_submission.csv").read_bytes())
        # Recordings in another order, but the windows of each in theirs.
        moved = gold.sort_values("eeg_id", ascending=False, kind="stable")
        assert grade_submission(to_csv(moved), prepared, home=miniatures.home).score == 0

    def test_column_types_are_inferred_from_the_whole_table_and_rows_without_votes_are_empty(self, raw: Path) -> None:
        count = 36
        numbers = np.arange(count)
        table = pd.DataFrame(dict.fromkeys(COLUMNS, numbers % 5)).assign(
            eeg_id=numbers // 2 + 10**9, spectrogram_id=numbers // 4 + 7, expert_consensus="LPD, other"
        )
        table.loc[[4, 5], "label_id"] = np.nan
        table.loc[numbers % 7 == 3, VOTES] = 0
        write_file(raw / "train.csv", to_csv(table[sorted(COLUMNS)]))
        for kind in ("eeg", "spectrogram"):
            for id in table[f"{kind}_id"].unique():
                write_file(raw / f"train_{kind}s" / f"{id}.parquet")
        write_file(raw / "example_figures/deep/x.pdf")
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
