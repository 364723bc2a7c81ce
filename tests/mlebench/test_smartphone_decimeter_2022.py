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
    prepare_raw,
    read_inexactly,
    read_tree,
    split,
    to_csv,
    write_file,
)
from graders import require, require_columns

from assay.grading import grade_submission

COLUMNS = ["tripId", "UnixTimeMillis", "LatitudeDegrees", "LongitudeDegrees"]
TRUTH = "LatitudeDegrees,UnixTimeMillis,LongitudeDegrees\n"


class TestSmartphoneDecimeter2022(Competition):
    name = "smartphone-decimeter-2022"
    id = "tripId"
    targets = ("LatitudeDegrees", "LongitudeDegrees")
    predictions = "number"
    fixed_changes = ("public/test/*/supplemental/*",)

    def prepare_reference(self, raw: Path) -> Files:
        dates: dict[str, list[str]] = {}
        for drive in sorted(path.name for path in (raw / "train").iterdir()):
            year, month, day, *_ = drive.split("-")
            dates.setdefault(f"{year}-{int(month):02d}-{int(day):02d}", []).append(drive)
        train, test = split(sorted(dates), test_size=0.1)
        files = {f"public/metadata/{path}": content for path, content in read_tree(raw / "metadata").items()}
        tables = []
        for side, chosen in (("train", train), ("test", test)):
            for drive in sorted(drive for date in chosen for drive in dates[date]):
                for path, content in read_tree(raw / "train" / drive).items():
                    if side == "train" or not path.endswith("ground_truth.csv"):
                        files[f"public/{side}/{drive}/{path}"] = content
                for phone in sorted((raw / "train" / drive).iterdir()) if side == "test" else ():
                    table = read_inexactly(phone / "ground_truth.csv")
                    tables.append(table.assign(tripId=f"{drive}-{phone.name}")[COLUMNS])
        answers = pd.concat(tables)
        sample = answers.assign(LatitudeDegrees=37.904611315634504, LongitudeDegrees=-86.48107806249548)
        return files | {"private/test.csv": to_csv(answers), "public/sample_submission.csv": to_csv(sample)}

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, *COLUMNS)
        require(len(submission) == len(answers))
        scores = []
        for trip in answers["tripId"].unique():
            true, predicted = (side[side["tripId"] == trip] for side in (answers, submission))
            require(len(true) == len(predicted))
            (lat, lon), (lat2, lon2) = (
                [np.deg2rad(side[name].to_numpy()) for name in self.targets] for side in (predicted, true)
            )
            chord = np.sin((lat2 - lat) / 2) ** 2 + np.cos(lat) * np.cos(lat2) * np.sin((lon2 - lon) / 2) ** 2
            distance = 2 * 6_371_000 * np.arcsin(np.sqrt(chord))
            scores.append((np.quantile(distance, 0.5) + np.quantile(distance, 0.95)) / 2)
        return float(np.mean(scores))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        # NumPy's deg2rad reads a column of booleans as half-precision numbers, Assay as ordinary ones.
        odd = ("True", "false")
        for label, text in super().perturbations(table, draw):
            if not any(f"× '{word}'" in label or f"'{word}' in all" in label for word in odd):
                yield label, text
        yield "times missing", table.change(lambda _: {"UnixTimeMillis": ""})
        yield "times wrong", table.change(lambda _: {"UnixTimeMillis": "x"})
        yield "no times", table.write(header=[name for name in COLUMNS if name != "UnixTimeMillis"])
        yield "rows reversed", table.write(table.rows[::-1])

    def test_drives_are_sorted_by_name_and_unpadded_dates_are_the_same_date(self, raw: Path) -> None:
        drives = ("2020-5-15-A-1-X", "2020-05-15-A-1", "2020-5-15-A-1", "2021-12-1-B")
        for number, drive in enumerate(drives):
            write_file(raw / f"train/{drive}/phone/ground_truth.csv", f"{TRUTH}{number}.50,{number},2.0\n".encode())
        write_file(raw / "train/2020-5-15-A-1/phone/ground_truth.csv", f"{TRUTH}7.5,,2.0\n".encode())
        write_file(raw / "train/readme.txt")
        (raw / "train/2020-05-15-A-1/spare").mkdir()
        (raw / "metadata/empty").mkdir(parents=True)
        files = prepare_raw(self.name, raw)
        (test,) = split(["2020-05-15", "2021-12-01"], test_size=0.1)[1]
        expected = {
            "2020-05-15": [
                "2020-05-15-A-1-phone,1.0,1.5,2.0",
                "2020-5-15-A-1-phone,,7.5,2.0",
                "2020-5-15-A-1-X-phone,0.0,0.5,2.0",
            ],
            "2021-12-01": ["2021-12-1-B-phone,3,3.5,2.0"],
        }
        assert files["private/test.csv"].decode().splitlines() == [",".join(COLUMNS), *expected[test]]
        sides = {"2020-05-15": "train", "2021-12-01": "train"} | {test: "test"}
        assert files[f"public/{sides['2020-05-15']}/2020-05-15-A-1/spare/"] == b""
        test_folder = {"2020-05-15": "2020-5-15-A-1", "2021-12-01": "2021-12-1-B"}[test]
        assert files[f"public/test/{test_folder}/phone/"] == b""
        assert files["public/metadata/empty/"] == b""
        assert not [path for path in files if "readme" in path]

    @pytest.mark.parametrize("edition", ["v1", "fixed"])
    def test_rows_are_paired_by_time_and_tracks_hidden_in_fixed(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        perfect = pd.read_csv(prepared.private / "test.csv")
        straight, reversed_rows = (
            grade_submission(to_csv(table), prepared, home=miniatures.home) for table in (perfect, perfect[::-1])
        )
        assert straight.score == 0.0
        assert (reversed_rows.score == 0.0) == (edition == "fixed")
        assert bool(list(prepared.public.glob("test/**/span_log.nmea"))) == (edition == "v1")
