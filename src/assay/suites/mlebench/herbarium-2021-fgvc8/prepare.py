"""Herbarium 2021: photographs of plant specimens, split species by species."""

from assay.data.job import PrepareJob

from .._shared.coco_split import prepare_numbered


def prepare(job: PrepareJob) -> None:
    """Use a fifth of each species as the test set."""
    prepare_numbered(job, extra="institutions")
