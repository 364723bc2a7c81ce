"""A miniature of the Russian text normalization data: numbers, abbreviations and signs are read in other words."""

import csv
from pathlib import Path
from typing import Any

import pandas as pd

from assay.data.miniature import Miniature
from assay.data.splits import random_rows

SENTENCES = 300
KINDS = ["PLAIN", "CARDINAL", "LETTERS", "VERBATIM"]
WORDS = ["река", "город", "была", "мост", "около", "дома", "известен", "много", "лодок", "весной"]
DIGITS = ["ноль", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять"]
LETTERS = "БВГДЖЗКЛМПРСТ"
MISSING = ["NA", "null", "None", "nan"]


def synthesize(raw: Path, make: Miniature) -> None:
    """Labelled sentences, and the competition's own test without labels, each in a zip file of its own."""
    labelled = pd.DataFrame([row for number in range(SENTENCES) for row in _sentence(number, make)])
    # Words that pandas reads as no value: the published grader cannot score them, so they stand only in training rows.
    for word, sentence in zip(MISSING, random_rows(SENTENCES, test=0.1, seed=0).train, strict=False):
        first = labelled["sentence_id"].eq(sentence).idxmax()
        labelled.loc[first, ["class", "before", "after"]] = ["PLAIN", word, word]
    unlabelled = pd.DataFrame([row for number in range(20) for row in _sentence(number, make)])
    ids = unlabelled["sentence_id"].astype(str) + "_" + unlabelled["token_id"].astype(str)
    tables = {
        "ru_train.csv": labelled,
        "ru_test_2.csv": unlabelled[["sentence_id", "token_id", "before"]],
        "ru_sample_submission_2.csv": pd.DataFrame({"id": ids, "after": unlabelled["before"]}),
    }
    for name, table in tables.items():
        make.zip(raw / f"{name}.zip", {name: table.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()})


def _sentence(number: int, make: Miniature) -> list[dict[str, Any]]:
    kinds = make.rng.choice(KINDS, make.rng.integers(3, 9), p=[0.5, 0.2, 0.2, 0.1])
    mark = str(make.rng.choice(list('.,"')))
    tokens = [*((kind, *_token(kind, make)) for kind in kinds), ("PUNCT", mark, mark)]
    return [
        {"sentence_id": number, "token_id": place, "class": kind, "before": before, "after": after}
        for place, (kind, before, after) in enumerate(tokens)
    ]


def _token(kind: str, make: Miniature) -> tuple[str, str]:
    """What is written and what is read: numbers digit by digit, abbreviations letter by letter."""
    if kind == "CARDINAL":
        written = str(make.rng.integers(10, 10_000))
        return written, " ".join(DIGITS[int(digit)] for digit in written)
    if kind == "LETTERS":
        written = "".join(make.rng.choice(list(LETTERS), 3))
        return written, " ".join(written.lower())
    if kind == "VERBATIM":
        return "№", "номер"
    word = str(make.rng.choice(WORDS))
    return word, word
