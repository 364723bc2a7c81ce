"""A miniature of the specimens: small photographs, brighter the further down the list of species."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

from .._shared.specimens import write_herbarium

SIZES = {7: 6, 3: 1, 155: 2, 15504: 4, 20: 5, 31: 31, 45: 3, 112: 30, 2040: 30, 9: 30, 501: 25}


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Sizes that are split by each rule: one, two to four, and more specimens. No species has the number 0."""
    write_herbarium(job.raw / "nybg2020", make, SIZES, extra="regions", reference="region_id", encoding="latin-1")
