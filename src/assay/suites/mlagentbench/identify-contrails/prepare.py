"""Makes the identify-contrails task: the validation records become the test, and their masks the answers."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import files
from assay.data.job import PrepareJob
from assay.data.polars_tables import write

MASK = "human_pixel_masks.npy"


def prepare(job: PrepareJob) -> None:
    """Of a test record only the nine bands are shown: the competition's validation folder holds its mask too."""
    records = sorted(folder.name for folder in (job.raw / "validation").iterdir() if folder.is_dir())
    files.copy_tree(job.raw / "train", job.public / "train")
    files.copy(
        (band, job.public / "test" / record / band.name)
        for record in records
        for band in (job.raw / "validation" / record).glob("band_*.npy")
    )
    described = {"train_metadata.json": "train_metadata.json", "validation_metadata.json": "test_metadata.json"}
    files.copy((job.raw / name, job.public / shown) for name, shown in described.items())

    masks = [np.load(job.raw / "validation" / record / MASK)[..., 0] for record in records]
    answers = pl.DataFrame(
        {
            "record_id": records,
            "encoded_pixels": [runs(mask) or "-" for mask in masks],
            "height": [mask.shape[0] for mask in masks],
            "width": [mask.shape[1] for mask in masks],
        }
    )
    write(answers, job.private / "answers.csv")
    write(answers.select("record_id", pl.lit("-").alias("encoded_pixels")), job.public / "sample_submission.csv")


def runs(mask: NDArray[np.int32]) -> str:
    """A mask as pairs of start and length, counted from 1 down the columns."""
    flat = np.concatenate([[0], (mask != 0).ravel(order="F"), [0]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(flat)).reshape(-1, 2)
    return " ".join(f"{start + 1} {end - start}" for start, end in edges.tolist())
