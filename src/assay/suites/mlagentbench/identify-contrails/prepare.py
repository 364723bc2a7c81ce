"""Identify contrails: the validation records are the test set, and their masks the answers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from assay.data import files
from assay.data.job import PrepareJob
from assay.data.polars_tables import write
from assay.formats import encode_mask, mask_from_pixels

MASK = "human_pixel_masks.npy"


def prepare(job: PrepareJob) -> None:
    """Write every file of the task; the metadata of the validation records is that of the test."""
    described = {"train_metadata.json": "train_metadata.json", "validation_metadata.json": "test_metadata.json"}
    files.copy((job.raw / name, job.public / new) for name, new in described.items())
    write(prepare_records(job), job.public / "sample_submission.csv")


def prepare_records(job: PrepareJob) -> pl.DataFrame:
    """Write the records and the answers, and return a submission without any contrail.

    Only the nine bands of a test record are copied: the competition's validation folder also holds its mask.
    """
    records = sorted(folder.name for folder in (job.raw / "validation").iterdir() if folder.is_dir())
    files.copy_tree(job.raw / "train", job.public / "train")
    files.copy(
        (band, job.public / "test" / record / band.name)
        for record in records
        for band in (job.raw / "validation" / record).glob("band_*.npy")
    )
    answers = describe_masks(job.raw / "validation", records)
    write(answers, job.private / "answers.csv")
    return answers.select("record_id", pl.lit("-").alias("encoded_pixels"))


def describe_masks(folder: Path, records: Sequence[str]) -> pl.DataFrame:
    """Return the answers of records: their masks as text, and the size of each."""
    masks = [np.load(folder / record / MASK)[..., 0] for record in records]
    return pl.DataFrame(
        {
            "record_id": records,
            "encoded_pixels": [encode_mask(mask_from_pixels(mask), empty="-") for mask in masks],
            "height": [mask.shape[0] for mask in masks],
            "width": [mask.shape[1] for mask in masks],
        }
    )
