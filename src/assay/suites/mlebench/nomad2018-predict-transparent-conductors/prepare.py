"""Makes the transparent-conductors task: materials under new numbers, each with a file of the places of its atoms."""

from pathlib import PurePosixPath

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

SAMPLE = {"formation_energy_ev_natom": 0.1779, "bandgap_energy_ev": 1.8892}


def prepare(job: PrepareJob) -> None:
    """Both sides are numbered from 1 in the order of the split, and the folders of the atoms' places with them.

    A raw folder is called by its material's number; whatever its one file is called, the new one is `geometry.xyz`.
    """
    with archives.open_member(job.raw / "train.csv.zip", "train.csv") as file:
        materials = pandas_tables.read(file)
    train, test = pandas_tables.split(materials, random_rows(len(materials), test=0.1, seed=0))
    found = (PurePosixPath(name) for name in archives.list_names(job.raw / "train.zip", below="train/", suffix=".xyz"))
    atoms = {int(path.parent.name): str(path) for path in found if len(path.parts) == 3}
    places = []
    for name, side in (("train", train), ("test", test)):
        old, side["id"] = list(side["id"]), range(1, len(side) + 1)
        places += [
            (atoms.get(before, f"train/{before}/geometry.xyz"), job.public / name / str(after) / "geometry.xyz")
            for before, after in zip(old, side["id"], strict=True)
        ]
    archives.extract(job.raw / "train.zip", places)
    pandas_tables.write_csv_split(train, test, public=job.public, private=job.private, id="id", sample=SAMPLE)
