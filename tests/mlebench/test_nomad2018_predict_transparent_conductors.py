from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, prepare_raw, read_archive, split, to_csv, write_archive
from graders import require, require_columns


class TestNomad2018PredictTransparentConductors(Competition):
    name = "nomad2018-predict-transparent-conductors"
    id = "id"
    targets = ("formation_energy_ev_natom", "bandgap_energy_ev")
    predictions = "number"

    def prepare_reference(self, raw: Path) -> Files:
        geometries = read_archive(raw / "train.zip")
        files: Files = {}
        train, test = split(pd.read_csv(raw / "train.csv.zip"), test_size=0.1)
        for name, side in (("train", train), ("test", test)):
            for number, old in enumerate(side["id"], 1):
                files[f"public/{name}/{number}/geometry.xyz"] = geometries[f"train/{old}/geometry.xyz"]
            side["id"] = range(1, len(side) + 1)
        sample = {"id": test["id"], "formation_energy_ev_natom": 0.1779, "bandgap_energy_ev": 1.8892}
        return files | {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns=list(self.targets))),
            "public/sample_submission.csv": to_csv(pd.DataFrame(sample)),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, *self.targets)
        require(len(submission) == len(answers))
        errors = []
        for name in self.targets:
            predicted = submission[name].astype(float) if submission[name].dtype == object else submission[name]
            require(bool(np.isfinite(predicted).all() and (predicted >= 0).all()))  # as scikit-learn 1.5 does
            # The logarithms of booleans have half precision.
            errors.append(np.sqrt(np.mean((np.log1p(answers[name]) - np.log1p(predicted)) ** 2)))
        return float(sum(errors) / 2)

    def test_the_places_of_atoms_are_found_under_any_name(self, raw: Path) -> None:
        materials = pd.DataFrame({"id": range(1, 21), "bandgap_energy_ev": 1.5, "formation_energy_ev_natom": 0.25})
        write_archive(raw / "train.csv.zip", {"train.csv": to_csv(materials)})
        geometries = {f"train/{id:03d}/atoms_{id}.xyz": str(id) for id in materials["id"]}
        others = {"train/5/deeper/geometry.xyz": "no", "train/6/readme.txt": "no"}
        write_archive(raw / "train.zip", {**geometries, **others})
        files = prepare_raw(self.name, raw)
        for side, rows in zip(("train", "test"), split(materials, test_size=0.1), strict=True):
            texts = [files[f"public/{side}/{new}/geometry.xyz"].decode() for new in range(1, len(rows) + 1)]
            assert texts == [str(old) for old in rows["id"]]

    def test_the_order_of_rows_matters_in_v1_only(self, miniatures: Miniatures) -> None:
        scores = self.scores_after(miniatures, lambda table: table[::-1])
        assert scores["fixed"] == 0 and scores["v1"] and scores["v1"] > 0.1
