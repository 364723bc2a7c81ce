"""There is no raw data, so the miniature is the task itself."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write nothing: texts and weights are drawn when a submission is graded."""
