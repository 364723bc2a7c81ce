"""A miniature of the sentences: random words, and occasionally one that only one of the authors uses."""

import csv

import pandas as pd

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

OWN_WORDS = {"EAP": "raven", "HPL": "eldritch", "MWS": "creature"}
SENTENCES = 300


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write a table with every field quoted, as on Kaggle; half of the sentences contain commas and quotes."""
    authors = [list(OWN_WORDS)[label] for label in make.labels(SENTENCES, len(OWN_WORDS))]
    texts = []
    for author in authors:
        own = OWN_WORDS[author] if make.rng.random() < 0.95 else "naïve"
        spoken = f', "{make.words(3)}"' if make.rng.random() < 0.5 else f" {make.words(3)}"
        texts.append(f"{make.words(6).capitalize()}{spoken} {own}; {make.words(8)}.")
    numbers = make.rng.choice(100_000, SENTENCES, replace=False)
    table = pd.DataFrame({"id": [f"id{number:05d}" for number in numbers], "text": texts, "author": authors})
    make.zip(job.raw / "train.zip", {"train.csv": table.to_csv(index=False, quoting=csv.QUOTE_ALL).encode()})
