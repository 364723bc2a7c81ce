"""Nomad2018 transparent conductors: materials under new numbers, each with a file of its atoms' positions."""

from pathlib import PurePosixPath

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

SAMPLE = {"formation_energy_ev_natom": 0.1779, "bandgap_energy_ev": 1.8892}


def prepare(job: PrepareJob) -> None:
    """Number both sides from 1 in the order of the split, and the folders of the atoms' positions with them.

    A raw folder is named by its material's number; whatever its one file is called, the new one is `geometry.xyz`.
    """
    materials = pandas_tables.read_zipped(job.raw / "train.csv.zip")
    sides = pandas_tables.split(materials, random_rows(len(materials), test=0.1, seed=0))
    paths = (PurePosixPath(name) for name in archives.list_names(job.raw / "train.zip", below="train/", suffix=".xyz"))
    atoms = {int(path.parent.name): str(path) for path in paths if len(path.parts) == 3}
    tables, moves = [], []
    for name, side in zip(("train", "test"), sides, strict=True):
        table, pairs = pandas_tables.renumber(side, "id", start=1)
        tables.append(table)
        moves += [
            (atoms.get(old, f"train/{old}/geometry.xyz"), job.public / name / str(new) / "geometry.xyz")
            for old, new in pairs
        ]
    archives.extract(job.raw / "train.zip", moves)
    pandas_tables.write_csv_split(*tables, public=job.public, private=job.private, id="id", sample=SAMPLE)
