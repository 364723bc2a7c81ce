"""A miniature of the English text normalization data: numbers, abbreviations and signs are read differently."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

from .._shared.text_normalization import Speech, synthesize_tokens

ENGLISH = Speech(
    words=["river", "town", "was", "built", "near", "bridge", "known", "for", "small", "boats"],
    digits=["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
    letters="BCDFGHKLMPRST",
    sign=("&", "and"),
)


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write labeled sentences and the competition's own unlabeled test set."""
    synthesize_tokens(job, make, ENGLISH, language="en")
