"""Text as it is written, token by token, and how it is read: what the text normalization tasks have in common."""

import csv
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from assay.data import archives, pandas_tables
from assay.data.miniature import Miniature
from assay.data.splits import appearance_numbers, random_groups, random_rows

COLUMNS = ["sentence_id", "token_id", "class", "before", "after"]
SENTENCES = 300
KINDS = ["PLAIN", "CARDINAL", "LETTERS", "VERBATIM"]
MISSING = ["NA", "null", "None", "nan"]


def prepare_tokens(raw: Path, public: Path, private: Path, edition: str, *, language: str) -> None:
    """Sentences stay whole and get new numbers on either side; only `fixed` keeps words that pandas takes for gaps."""
    with archives.open_member(raw / f"{language}_train.csv.zip", f"{language}_train.csv") as file:
        tokens = pandas_tables.read(file, keep_default_na=edition != "fixed")
    pandas_tables.check_columns(tokens, COLUMNS, f"{language}_train.csv")
    rows = random_groups(tokens["sentence_id"].tolist(), test=0.1, seed=0)
    train, test = (_renumbered(side) for side in pandas_tables.split(tokens, rows))
    tables = _tables(train, test, language)
    with TemporaryDirectory(dir=private) as folder:
        for name, table in tables.items():
            _write(table, Path(folder, name))
            archives.pack(public / f"{name}.zip", [(name, Path(folder, name))], method="stored")
    _write(_by_id(test, "before"), private / "sample_submission.csv")
    _write(_by_id(test, "after"), private / "answers.csv")


@dataclass(frozen=True)
class Speech:
    """What miniatures are made of: words, how digits are read, letters of abbreviations, a sign and its reading."""

    words: list[str]
    digits: list[str]
    letters: str
    sign: tuple[str, str]


def synthesize_tokens(raw: Path, make: Miniature, speech: Speech, *, language: str) -> None:
    """Labelled sentences, and the competition's own test without labels, each in a zip file of its own."""
    labelled = pd.DataFrame([row for number in range(SENTENCES) for row in _sentence(number, make, speech)])
    # Words that pandas reads as no value: the published grader cannot score them, so they stand only in training rows.
    for word, sentence in zip(MISSING, random_rows(SENTENCES, test=0.1, seed=0).train, strict=False):
        first = labelled["sentence_id"].eq(sentence).idxmax()
        labelled.loc[first, ["class", "before", "after"]] = ["PLAIN", word, word]
    unlabelled = pd.DataFrame([row for number in range(20) for row in _sentence(number, make, speech)])
    for name, table in _tables(labelled, unlabelled, language).items():
        make.zip(raw / f"{name}.zip", {name: table.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()})


def _tables(train: pd.DataFrame, test: pd.DataFrame, language: str) -> dict[str, pd.DataFrame]:
    """The tables of a competition by their names; as submitted in the sample, everything is read as it is written."""
    return {
        f"{language}_train.csv": train,
        f"{language}_test_2.csv": test[["sentence_id", "token_id", "before"]],
        f"{language}_sample_submission_2.csv": _by_id(test, "before"),
    }


def _by_id(tokens: pd.DataFrame, column: str) -> pd.DataFrame:
    ids = tokens["sentence_id"].astype(str) + "_" + tokens["token_id"].astype(str)
    return pd.DataFrame({"id": ids, "after": tokens[column]})


def _renumbered(tokens: pd.DataFrame) -> pd.DataFrame:
    return tokens.assign(sentence_id=appearance_numbers(tokens["sentence_id"].tolist()))


def _write(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV file with quotes around everything but numbers."""
    pandas_tables.write(table, path, quoting=csv.QUOTE_NONNUMERIC)


def _sentence(number: int, make: Miniature, speech: Speech) -> list[dict[str, Any]]:
    kinds = make.rng.choice(KINDS, make.rng.integers(3, 9), p=[0.5, 0.2, 0.2, 0.1])
    mark = str(make.rng.choice(list('.,"')))
    tokens = [*((kind, *_token(kind, make, speech)) for kind in kinds), ("PUNCT", mark, mark)]
    return [
        {"sentence_id": number, "token_id": place, "class": kind, "before": before, "after": after}
        for place, (kind, before, after) in enumerate(tokens)
    ]


def _token(kind: str, make: Miniature, speech: Speech) -> tuple[str, str]:
    """What is written and what is read: numbers digit by digit, abbreviations letter by letter."""
    if kind == "CARDINAL":
        written = str(make.rng.integers(10, 10_000))
        return written, " ".join(speech.digits[int(digit)] for digit in written)
    if kind == "LETTERS":
        written = "".join(make.rng.choice(list(speech.letters), 3))
        return written, " ".join(written.lower())
    if kind == "VERBATIM":
        return speech.sign
    word = str(make.rng.choice(speech.words))
    return word, word
