"""CIFAR-10: training images move behind the test images, without their labels."""

import numpy as np
import polars as pl

from assay.data.polars_tables import read, write
from assay.data.selection import SelectionJob

SAMPLE = "sample_submission.csv"


def split(job: SelectionJob) -> pl.DataFrame:
    """Hide random images; their numbers follow those of the test images."""
    images, labels, test = (
        np.load(job.source / f"{name}.npy") for name in ("train_images", "train_labels", "test_images")
    )
    hidden = np.zeros(len(labels), dtype=bool)
    hidden[job.random.permutation(len(labels))[: round(len(labels) * job.task.selection.share)]] = True
    np.save(job.public / "train_images.npy", images[~hidden])
    np.save(job.public / "train_labels.npy", labels[~hidden])
    np.save(job.public / "test_images.npy", np.concatenate([test, images[hidden]]))
    numbers = [str(number) for number in range(len(test), len(test) + hidden.sum())]
    answers = pl.DataFrame({"index": numbers, "label": [str(label) for label in labels[hidden]]})
    write(pl.concat([read(job.source / SAMPLE), answers.with_columns(label=pl.lit("0"))]), job.public / SAMPLE)
    return answers
