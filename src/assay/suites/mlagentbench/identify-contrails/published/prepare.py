"""Identify contrails as published: the validation records, under the name `test`, without their masks."""

import numpy as np
import polars as pl

from assay.data import files
from assay.data.job import PrepareJob
from assay.data.polars_tables import write
from assay.formats import encode_mask, mask_from_pixels

from ..prepare import MASK


def prepare(job: PrepareJob) -> None:
    """Keep the competition's names of files; its sample submission names its own test records, which are not here."""
    records = sorted(folder.name for folder in (job.raw / "validation").iterdir() if folder.is_dir())
    files.copy_tree(job.raw / "train", job.public / "train")
    files.copy(
        (band, job.public / "test" / record / band.name)
        for record in records
        for band in (job.raw / "validation" / record).glob("band_*.npy")
    )
    shown = ("train_metadata.json", "validation_metadata.json", "sample_submission.csv")
    files.copy((job.raw / name, job.public / name) for name in shown)

    masks = [np.load(job.raw / "validation" / record / MASK)[..., 0] for record in records]
    answers = pl.DataFrame(
        {
            "record_id": records,
            "encoded_pixels": [encode_mask(mask_from_pixels(mask), empty="-") for mask in masks],
            "height": [mask.shape[0] for mask in masks],
            "width": [mask.shape[1] for mask in masks],
        }
    )
    write(answers, job.private / "answers.csv")
    write(answers.select("record_id", pl.lit("-").alias("encoded_pixels")), job.private / "sample_submission.csv")
