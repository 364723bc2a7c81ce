"""A miniature of the movie review data: a phrase is as positive as its last word."""

import pandas as pd

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SENTENCES = 120
RATINGS = [
    ["dreadful", "worthless", "unbearable"],
    ["dull", "clumsy", "uneven"],
    ["long", "French", "animated"],
    ["charming", "funny", "fresh"],
    ["brilliant", "wonderful", "a masterpiece"],
]
UNUSUAL = ["null", "None", 'a " film', "fast , loud , and long"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write sentences and phrases of them, as a tab-separated table inside a zip file."""
    rows = []
    for sentence, rating in enumerate(make.labels(SENTENCES, len(RATINGS)), 1):
        words = [*make.words(5).split(" "), str(make.rng.choice(RATINGS[rating]))]
        rows += [(sentence, " ".join(words[start:]), int(rating)) for start in (0, 2, 4)]
        rows.append((sentence, UNUSUAL[sentence - 1] if sentence <= len(UNUSUAL) else " ".join(words[:3]), 2))
    phrases = pd.DataFrame(rows, columns=["SentenceId", "Phrase", "Sentiment"])
    phrases.insert(0, "PhraseId", range(1, len(phrases) + 1))
    make.zip(job.raw / "train.tsv.zip", {"train.tsv": phrases.to_csv(index=False, sep="\t").encode()})
