from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, copy_files, prepare_raw, read_parquet, split, to_csv, write_file
from graders import require

from assay.core.errors import SourceError
from assay.grading import grade_submission

ANGLES = ["azimuth", "zenith"]


class TestIcecubeNeutrinosInDeepIce(Competition):
    name = "icecube-neutrinos-in-deep-ice"
    id = "event_id"
    targets = ("azimuth", "zenith")
    predictions = "number"

    def prepare_reference(self, raw: Path) -> Files:
        events = pd.read_parquet(raw / "train_meta.parquet", engine="fastparquet")
        train, test = split(events["batch_id"].unique(), test_size=0.1)
        files = {"public/sensor_geometry.csv": (raw / "sensor_geometry.csv").read_bytes()}
        for path in (raw / "train").glob("*.parquet"):
            number = int(path.stem.split("_")[-1])
            for side, batches in (("train", train), ("test", test)):
                if number in batches:
                    files |= copy_files(raw / "train", f"public/{side}", [path.name])
        answers = events[events["batch_id"].isin(test)]
        return files | {
            "public/train_meta.parquet": to_parquet(events[events["batch_id"].isin(train)], raw),
            "public/test_meta.parquet": to_parquet(answers.drop(columns=ANGLES), raw),
            "public/sample_submission.csv": to_csv(answers[["event_id"]].assign(azimuth=1, zenith=1)),
            "private/test.csv": to_csv(answers[["event_id", *ANGLES]]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(set(submission.columns) == {"event_id", *ANGLES})
        require(all(submission[name].dtype.kind in "iuf" for name in ANGLES))
        require(bool(np.isfinite(submission[ANGLES].to_numpy(float)).all()))
        require(len(submission) == len(answers))
        require(set(submission["event_id"]) == set(answers["event_id"]))
        (phi, theta), (phi2, theta2) = (
            [side.sort_values("event_id")[name].to_numpy() for name in ANGLES] for side in (answers, submission)
        )
        flat = np.sin(theta) * np.sin(theta2) * (np.cos(phi) * np.cos(phi2) + np.sin(phi) * np.sin(phi2))
        return float(np.mean(np.arccos(np.clip(flat + np.cos(theta) * np.cos(theta2), -1, 1))))

    @pytest.mark.parametrize("order", ["raw", "reversed"])
    def test_other_types_orders_and_names_are_prepared_as_published(self, raw: Path, order: str) -> None:
        """Numbers may be 32 bits wide or missing, there may be further columns, and files of other batches."""
        events = pd.DataFrame(
            {
                "zenith": np.array([0.4, 1.1, 2.7, 0.1, 3.0], np.float32),
                "note": ["a", None, "b,c", "d", "e"],
                "batch_id": np.array([7, 2, 7, 5, 2], np.int32),
                "event_id": [50, 40, 10, 20, 30],
                "azimuth": [1e-7, 1 / 3, np.nan, 6.0, 2.5],
                "last_pulse_index": pd.array([1, 2, None, 4, 5], "Int64"),
            }
        )
        if order == "reversed":
            events = events[events.columns[::-1]]
        events.to_parquet(raw / "train_meta.parquet", engine="fastparquet", index=False)
        for name in ("batch_7", "pulses_batch_02", "batch_5", "batch_99"):
            write_file(raw / f"train/{name}.parquet", name.encode())
        write_file(raw / "train/readme.txt")
        write_file(raw / "sensor_geometry.csv", b"anything")
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert {path for path in files if "/train/" in path or "/test/" in path} < {
            f"public/{side}/{name}.parquet"
            for side in ("train", "test")
            for name in ("batch_7", "pulses_batch_02", "batch_5")
        }

    @pytest.mark.parametrize(
        ("batches", "events", "names", "message"),
        [
            ([1, 2], [5, 5], ["batch_1", "batch_2"], "event_id in several batches"),
            ([1, 2], [5, 6], ["batch_1"], "0 files of the 1"),
            ([1, 2], [5, 6], ["batch_1", "batch_2", "batch_01", "batch_02"], "2 files of the 1"),
            ([1, 2], [5, 6], ["batch_1", "batch_two"], "does not end in the number"),
        ],
    )
    def test_raw_data_that_the_published_preparation_refuses_is_refused(
        self, raw: Path, batches: list[int], events: list[int], names: list[str], message: str
    ) -> None:
        table = pd.DataFrame({"batch_id": batches, "event_id": events, "azimuth": 1.0, "zenith": 1.0})
        table.to_parquet(raw / "train_meta.parquet", engine="fastparquet", index=False)
        write_file(raw / "sensor_geometry.csv")
        for name in names:
            write_file(raw / f"train/{name}.parquet")
        with pytest.raises(SourceError, match=message):
            prepare_raw(self.name, raw)

    @pytest.mark.parametrize("edition", ["v1", "fixed"])
    def test_an_event_in_place_of_another_is_refused_in_fixed(
        self, miniatures: Miniatures, edition: str, tmp_path: Path
    ) -> None:
        prepared = miniatures.prepared(self.name, edition)
        perfect = to_csv(pd.read_csv(prepared.private / "test.csv"))
        assert grade_submission(perfect, prepared, home=miniatures.home).score == 0.0
        (tmp_path / "test.csv").write_text("event_id,azimuth,zenith\n1,0.5,1.0\n1,0.5,1.0\n2,0.5,1.0\n")
        other = b"event_id,azimuth,zenith\n1,0.5,1.0\n2,0.5,1.0\n2,0.5,1.0\n"
        grade = grade_submission(other, replace(prepared, private=tmp_path), home=miniatures.home)
        assert grade.valid_submission == (edition == "v1")


def to_parquet(table: pd.DataFrame, folder: Path) -> bytes:
    """Return a table as the published preparation writes it."""
    path = folder.parent / "reference.parquet"
    table.to_parquet(path, engine="fastparquet", index=False)
    return read_parquet(path) or b""
