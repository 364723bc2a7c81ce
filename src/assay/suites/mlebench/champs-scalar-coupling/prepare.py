"""Scalar coupling: pairs of atoms, split by molecule, with tables about the molecules."""

import numpy as np
import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_sorted_groups

COLUMNS = ["id", "molecule_name", "atom_index_0", "atom_index_1", "type", "scalar_coupling_constant"]
STRUCTURES = "structures"
TRAIN_ONLY = [
    "dipole_moments",
    "magnetic_shielding_tensors",
    "mulliken_charges",
    "potential_energy",
    "scalar_coupling_contributions",
]


def prepare(job: PrepareJob) -> None:
    """Publish the tables of the training molecules; edition `fixed` adds the structures of the test molecules."""
    rows = pandas_tables.scan(job.raw / "train.csv", scratch=job.private)
    pandas_tables.check_columns(rows[sorted(rows.columns)], sorted(COLUMNS), "train.csv")
    rows = rows.take(np.flatnonzero(rows["molecule_name"].notna()))
    train, test = pandas_tables.split(rows, random_sorted_groups(rows["molecule_name"], test=0.1, seed=0))
    known = train["molecule_name"]
    with_structure = known if job.edition == "v1" else pd.concat([known, test["molecule_name"]])
    _write_molecules(job, STRUCTURES, with_structure)
    for table in TRAIN_ONLY:
        _write_molecules(job, table, known)
    files.copy_by_id(job.raw / STRUCTURES, job.public / STRUCTURES, with_structure.unique(), ".xyz")
    pandas_tables.write_csv_split(
        train,
        test,
        public=job.public,
        private=job.private,
        id="id",
        sample={"scalar_coupling_constant": 0},
        answers_name="answers.csv",
    )


def _write_molecules(job: PrepareJob, name: str, molecules: "pd.Series[str]") -> None:
    """Write the rows of these molecules in the order of the raw table."""
    table = pandas_tables.scan(job.raw / f"{name}.csv", scratch=job.private)
    missing = set(molecules) - set(table["molecule_name"])
    if missing:
        raise SourceError(f"{name}.csv lacks {len(missing):,} molecules of train.csv, such as {min(missing)}")
    pandas_tables.write(table.take(np.flatnonzero(table["molecule_name"].isin(molecules))), job.public / f"{name}.csv")
