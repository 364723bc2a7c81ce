from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, copy_files, prepare_raw, read_exactly, split, to_csv, write_file
from graders import require, require_columns
from sklearn import metrics

from assay.core.errors import SourceError
from assay.grading import grade_submission

TARGET = "scalar_coupling_constant"
SIDE_TABLES = [
    "structures", "dipole_moments", "magnetic_shielding_tensors", "mulliken_charges", "potential_energy",
    "scalar_coupling_contributions",
]  # fmt: skip


class TestChampsScalarCoupling(Competition):
    name = "champs-scalar-coupling"
    id = "id"
    targets = (TARGET,)
    predictions = "number"
    perfect = np.log(1e-9)  # errors count as at least 1e-9
    fixed_changes = ("public/structures.csv", "public/structures/*.xyz")

    def prepare_reference(self, raw: Path) -> Files:
        molecules = list(read_exactly(raw / "train.csv").groupby("molecule_name"))
        train, test = (pd.concat([rows for _, rows in side]) for side in split(molecules, test_size=0.1))
        files = {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns=TARGET)),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(**{TARGET: 0})),
            "private/answers.csv": to_csv(test),
            **copy_files(raw, "public", [f"structures/{name}.xyz" for name in train["molecule_name"].unique()]),
        }
        for name in SIDE_TABLES:
            table = read_exactly(raw / f"{name}.csv")
            files[f"public/{name}.csv"] = to_csv(table[table["molecule_name"].isin(train["molecule_name"])])
        return files

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", TARGET)
        require(set(submission["id"]) == set(answers["id"]))
        joined = answers.merge(submission[["id", TARGET]], on="id", suffixes=("_true", "_predicted"))
        errors = [
            metrics.mean_absolute_error(rows[f"{TARGET}_true"], rows[f"{TARGET}_predicted"])
            for _, rows in joined.groupby("type")
        ]
        return float(np.log(errors).mean())

    def test_numbers_are_reformatted_and_molecules_without_pairs_dropped(self, raw: Path) -> None:
        names = [17, 3, 204, 9, 110]
        pairs = [f"{row},{names[row * row % 5]},{row % 3},1,1JHC,{row}.{row}000" for row in range(30)]
        header = "id,molecule_name,atom_index_0,atom_index_1,type,scalar_coupling_constant"
        write_file(raw / "train.csv", "\r\n".join([header, *pairs]).encode())
        for table in SIDE_TABLES:
            rows = [f"{name},-0.0000000000,1.2420,0.0000100,{name},NA" for name in [1, *names, 2]]
            write_file(raw / f"{table}.csv", "\n".join(["molecule_name,a,b,c,d,e", *rows]).encode())
        for name in names:
            write_file(raw / f"structures/{name}.xyz", b"anything\r\n")
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_a_training_molecule_that_a_table_lacks_is_an_error(self, raw: Path, miniatures: Miniatures) -> None:
        original = miniatures.prepared(self.name).folder / "raw"
        for table in ("train", *SIDE_TABLES):
            write_file(raw / f"{table}.csv", (original / f"{table}.csv").read_bytes())
        energy = (original / "potential_energy.csv").read_text().splitlines(keepends=True)
        write_file(raw / "potential_energy.csv", "".join(energy[:20]).encode())
        with pytest.raises(SourceError, match=r"potential_energy.csv lacks \d+ molecules"):
            prepare_raw(self.name, raw)

    @pytest.mark.parametrize(("edition", "published"), (("v1", set()), ("fixed", {True})))
    def test_fixed_publishes_the_structures_of_test_molecules(
        self, miniatures: Miniatures, edition: str, published: set[bool]
    ) -> None:
        public = miniatures.prepared(self.name, edition).public
        test = pd.read_csv(public / "test.csv")["molecule_name"].unique()
        structures = set(pd.read_csv(public / "structures.csv")["molecule_name"])
        assert {name in structures for name in test} - {False} == published
        assert {(public / f"structures/{name}.xyz").exists() for name in test} - {False} == published
        assert set(test).isdisjoint(pd.read_csv(public / "scalar_coupling_contributions.csv")["molecule_name"])

    def test_fixed_has_a_floor_and_counts_a_pair_once(self, miniatures: Miniatures) -> None:
        """The logarithm of the floor, 1e-9, is -20.72327."""
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = pd.read_csv(prepared.private / "answers.csv")[["id", TARGET]]
            perfect, repeated = (
                grade_submission(to_csv(table), prepared, home=miniatures.home)
                for table in (answers, pd.concat([answers.assign(**{TARGET: 0.5}), answers]))
            )
            scores[edition] = (perfect.not_finite or perfect.score, repeated.valid_submission)
        assert scores == {"v1": ("-inf", True), "fixed": (-20.72327, False)}
