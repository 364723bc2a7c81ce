"""A miniature of the English text normalization data: numbers, abbreviations and signs are read in other words."""

from pathlib import Path

from assay.data.miniature import Miniature
from assay.data.spoken import Speech, synthesize_tokens

ENGLISH = Speech(
    words=["river", "town", "was", "built", "near", "bridge", "known", "for", "small", "boats"],
    digits=["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
    letters="BCDFGHKLMPRST",
    sign=("&", "and"),
)


def synthesize(raw: Path, make: Miniature) -> None:
    """Labelled sentences, and the competition's own test without labels."""
    synthesize_tokens(raw, make, ENGLISH, language="en")
