"""Shared by the two text normalization competitions: written text, token by token, and how it is read aloud."""

import csv
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob, SynthesisJob
from assay.data.miniature import Miniature
from assay.data.splits import appearance_numbers, random_groups, random_rows

COLUMNS = ["sentence_id", "token_id", "class", "before", "after"]
SENTENCES = 300
KINDS = ["PLAIN", "CARDINAL", "LETTERS", "VERBATIM"]
MISSING = ["NA", "null", "None", "nan"]


def prepare_tokens(job: PrepareJob, *, language: str) -> None:
    """Keep sentences whole and renumber them on each side; only `fixed` keeps words that pandas reads as missing."""
    tokens = pandas_tables.read_zipped(job.raw / f"{language}_train.csv.zip", keep_default_na=job.edition != "fixed")
    pandas_tables.check_columns(tokens, COLUMNS, f"{language}_train.csv")
    rows = random_groups(tokens["sentence_id"].tolist(), test=0.1, seed=0)
    train, test = (_renumber(side) for side in pandas_tables.split(tokens, rows))
    tables = _tables(train, test, language)
    with TemporaryDirectory(dir=job.private) as folder:
        for name, table in tables.items():
            _write(table, Path(folder, name))
            archives.pack(job.public / f"{name}.zip", [(name, Path(folder, name))], method="stored")
    _write(_by_id(test, "before"), job.private / "sample_submission.csv")
    _write(_by_id(test, "after"), job.private / "answers.csv")


@dataclass(frozen=True)
class Speech:
    """Vocabulary of a miniature: words, spoken digits, letters for abbreviations, a sign and how it is read."""

    words: list[str]
    digits: list[str]
    letters: str
    sign: tuple[str, str]


def synthesize_tokens(job: SynthesisJob, make: Miniature, speech: Speech, *, language: str) -> None:
    """Write labeled sentences and the competition's own unlabeled test set, each in its own zip file."""
    labelled = pd.DataFrame([row for number in range(SENTENCES) for row in _sentence(number, make, speech)])
    # The published grader cannot score words that pandas reads as missing, so they occur only in training rows.
    for word, sentence in zip(MISSING, random_rows(SENTENCES, test=0.1, seed=0).train, strict=False):
        first = labelled["sentence_id"].eq(sentence).idxmax()
        labelled.loc[first, ["class", "before", "after"]] = ["PLAIN", word, word]
    unlabelled = pd.DataFrame([row for number in range(20) for row in _sentence(number, make, speech)])
    for name, table in _tables(labelled, unlabelled, language).items():
        make.zip(job.raw / f"{name}.zip", {name: table.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()})


def _tables(train: pd.DataFrame, test: pd.DataFrame, language: str) -> dict[str, pd.DataFrame]:
    """Return the tables by name; the sample submission repeats every token as it is written."""
    return {
        f"{language}_train.csv": train,
        f"{language}_test_2.csv": test[["sentence_id", "token_id", "before"]],
        f"{language}_sample_submission_2.csv": _by_id(test, "before"),
    }


def _by_id(tokens: pd.DataFrame, column: str) -> pd.DataFrame:
    ids = tokens["sentence_id"].astype(str) + "_" + tokens["token_id"].astype(str)
    return pd.DataFrame({"id": ids, "after": tokens[column]})


def _renumber(tokens: pd.DataFrame) -> pd.DataFrame:
    return tokens.assign(sentence_id=appearance_numbers(tokens["sentence_id"].tolist()))


def _write(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV file with quotes around everything but numbers."""
    pandas_tables.write(table, path, quoting=csv.QUOTE_NONNUMERIC)


def _sentence(number: int, make: Miniature, speech: Speech) -> list[dict[str, Any]]:
    kinds = make.rng.choice(KINDS, make.rng.integers(3, 9), p=[0.5, 0.2, 0.2, 0.1])
    mark = str(make.rng.choice(list('.,"')))
    tokens = [*((kind, *_token(kind, make, speech)) for kind in kinds), ("PUNCT", mark, mark)]
    return [
        {"sentence_id": number, "token_id": token, "class": kind, "before": before, "after": after}
        for token, (kind, before, after) in enumerate(tokens)
    ]


def _token(kind: str, make: Miniature, speech: Speech) -> tuple[str, str]:
    """Return the written and the spoken form: numbers digit by digit, abbreviations letter by letter."""
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
