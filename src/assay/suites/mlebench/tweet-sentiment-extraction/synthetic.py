"""A miniature of the tweets: words that express a sentiment are always the same few, among made-up ones."""

import csv

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.data.splits import random_rows

TWEETS = 400
EXPRESSIONS = {
    "positive": ("love it!", "so happy", "great, really great", "awesome"),
    "negative": ("hate it", "so sad...", 'a "bad" day', "sucks"),
}
UNUSUAL = ("null", "N/A", "None", "")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Of a neutral tweet all is selected; a few training tweets are empty or look like missing values to pandas."""
    sentiments = [("neutral", "positive", "negative")[label] for label in make.labels(TWEETS, 3)]
    texts, selected = [], []
    for sentiment in sentiments:
        words = (
            " ".join(EXPRESSIONS[sentiment][make.rng.integers(4)] for _ in range(1)) if sentiment in EXPRESSIONS else ""
        )
        before, after = make.words(int(make.rng.integers(1, 6))), make.words(int(make.rng.integers(1, 6)))
        texts.append(f" {before}, {words} {after}" if words else f"{before} – {after}")
        selected.append(words or texts[-1])
    train = random_rows(TWEETS, test=0.1, seed=0).train
    for row, text in zip(train.tolist(), UNUSUAL, strict=False):
        texts[row], selected[row], sentiments[row] = text, text, "neutral"
    columns = {"textID": make.hex_ids(TWEETS, 10), "text": texts, "selected_text": selected, "sentiment": sentiments}
    make.csv(job.raw / "train.csv", columns, quoting=csv.QUOTE_NONNUMERIC)
