"""LLaMA inference as published: there is no data here, and the time that the script reports is graded."""

from assay.data.job import PrepareJob


def prepare(job: PrepareJob) -> None:
    """Write nothing: the published weights are no longer offered, so the starter draws weights and texts."""
