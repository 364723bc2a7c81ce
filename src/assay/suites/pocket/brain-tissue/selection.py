"""Brain tissue: slices with a mask move to the test slices, without their masks."""

import polars as pl

from assay.data.polars_tables import read, write
from assay.data.selection import SelectionJob
from assay.formats.png import read_png

from .prepare import encode


def split(job: SelectionJob) -> pl.DataFrame:
    """Hide random slices; their numbers are unused among test slices, because all slices are numbered together."""
    names = sorted(path.name for path in (job.source / "train").iterdir())
    count = round(len(names) * job.task.selection.share)
    hidden = sorted(job.random.permutation(names)[:count].tolist())
    job.copy(
        "test.csv", "sample_submission.csv", *(f"{folder}/{name}" for folder in ("train", "masks") for name in hidden)
    )
    for name in hidden:
        job.copy_file(f"train/{name}", f"test/{name}")
    test, sample = read(job.source / "test.csv"), read(job.source / "sample_submission.csv")
    slices = pl.DataFrame({"slice": [f"test/{name}" for name in hidden]})
    write(pl.concat([test, slices]), job.public / "test.csv")
    write(pl.concat([sample, slices.with_columns(mask=pl.lit("1 1"))]), job.public / "sample_submission.csv")
    masks = [encode(read_png((job.source / "masks" / name).read_bytes()) > 127) for name in hidden]
    return slices.with_columns(pl.Series("mask", masks))
