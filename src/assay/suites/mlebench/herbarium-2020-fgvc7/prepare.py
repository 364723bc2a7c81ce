"""Herbarium 2020: photographs of plant specimens, split species by species."""

from assay.data.job import PrepareJob

from .._shared.coco_split import prepare_numbered


def prepare(job: PrepareJob) -> None:
    """Use a fifth of each species as the test set; the raw metadata is not UTF-8."""
    prepare_numbered(job, folder="nybg2020", extra="regions", encoding="latin-1")
