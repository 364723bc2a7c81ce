"""A miniature of the specimens: small photographs, brighter the further down the list of species."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

from .._shared.specimens import write_herbarium

SIZES = {99: 4, 64499: 6, 3: 1, 150: 2, 7: 5, 100: 31, 15504: 3, 1200: 30, 5: 30, 777: 30, 32001: 25}


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Sizes that are split by each rule: one, two to four, and more specimens. No species has the number 0."""
    write_herbarium(job.raw, make, SIZES, extra="institutions", reference="institution_id")
