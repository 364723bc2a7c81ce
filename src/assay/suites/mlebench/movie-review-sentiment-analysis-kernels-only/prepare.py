"""Makes the film review task: phrases of sentences, each with a rating."""

from pathlib import Path

from assay.data import archives, pandas_tables
from assay.data.splits import random_groups, random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """In `v1` phrases go to either side one by one; in `fixed` sentence by sentence, and every word is kept."""
    mended = edition == "fixed"
    with archives.open_member(raw / "train.tsv.zip", "train.tsv") as file:
        phrases = pandas_tables.read(file, sep="\t", keep_default_na=not mended)
    pandas_tables.check_columns(phrases.drop(columns="Sentiment"), ["PhraseId", "SentenceId", "Phrase"], "train.tsv")
    if mended:
        rows = random_groups(phrases["SentenceId"].tolist(), test=0.3, seed=0)
    else:
        rows = random_rows(len(phrases), test=0.3, seed=0)
    train, test = pandas_tables.split(phrases, rows)
    pandas_tables.write_zipped(train, public / "train.tsv.zip", sep="\t")
    pandas_tables.write_zipped(test.drop(columns="Sentiment"), public / "test.tsv.zip", sep="\t")
    pandas_tables.write(pandas_tables.sample(test, "PhraseId", {"Sentiment": 2}), public / "sampleSubmission.csv")
    pandas_tables.write(test, private / "answers.csv")
