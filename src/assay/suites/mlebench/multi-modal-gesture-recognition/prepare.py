"""Multi-modal gestures: the recordings of the last training archive are the test."""

import io
import random
import zipfile
from pathlib import Path

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import by_predicate
from assay.formats.mat import clear_field
from assay.formats.tar import list_tar, rewrite_tar_gz

TEST = "training4.tar.gz"
COPIED = [
    *(f"{part}{number}.tar.gz" for part in ("training", "validation") for number in (1, 2, 3)),
    *("devel01-40.7z", "valid_all_files_combined.7z", "sample_code_mmrgc.zip"),
]


def prepare(job: PrepareJob) -> None:
    """Split the labels by the names of the test recordings; `fixed` removes the labels inside of these."""
    names = {name for name in list_tar(job.raw / TEST) if name.endswith(".zip") and "/" not in name}
    ids = sorted(Path(name).stem[-4:] for name in names)
    labels = pandas_tables.read(job.raw / "training.csv", dtype={"Id": str, "Sequence": str})
    train, test = pandas_tables.split(labels, by_predicate(labels["Id"].isin(ids).to_numpy()))
    if len(test) != len(ids):
        raise SourceError(f"training.csv holds {len(test)} rows for the {len(ids)} recordings of {TEST}")
    pandas_tables.write(train, job.public / "training.csv")
    pandas_tables.write(test, job.private / "test.csv")
    pandas_tables.write(pd.DataFrame({"Id": ids}), job.public / "test.csv")
    draw = random.Random(0)
    guesses = [" ".join(map(str, draw.sample(range(1, 21), 20))) for _ in ids]
    pandas_tables.write(pd.DataFrame({"Id": ids, "Sequence": guesses}), job.public / "randomPredictions.csv")
    files.copy((job.raw / name, job.public / name) for name in COPIED)
    if job.edition == "fixed":
        rewrite_tar_gz(job.raw / TEST, job.public / "test.tar.gz", _hide_labels)
    else:
        files.copy([(job.raw / TEST, job.public / "test.tar.gz")])


def _hide_labels(name: str, content: bytes) -> bytes:
    """Return the archive of a recording with the labels removed from its MATLAB file."""
    if not name.endswith(".zip"):
        return content
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as recording, zipfile.ZipFile(changed, "w") as hidden:
        for member in recording.infolist():
            data = recording.read(member)
            hidden.writestr(member, clear_field(data, "Labels") if member.filename.endswith(".mat") else data)
    return changed.getvalue()
