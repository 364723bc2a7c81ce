"""Movie review sentiment analysis: phrases of sentences, each with a rating."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows_or_groups


def prepare(job: PrepareJob) -> None:
    """Split phrases one by one; `fixed` splits by sentence and keeps words that pandas reads as missing."""
    repaired = job.edition == "fixed"
    phrases = pandas_tables.read_zipped(job.raw / "train.tsv.zip", sep="\t", keep_default_na=not repaired)
    pandas_tables.check_columns(phrases.drop(columns="Sentiment"), ["PhraseId", "SentenceId", "Phrase"], "train.tsv")
    rows = random_rows_or_groups(phrases["SentenceId"].tolist(), by_group=repaired, test=0.3, seed=0)
    train, test = pandas_tables.split(phrases, rows)
    pandas_tables.write_zipped(train, job.public / "train.tsv.zip", sep="\t")
    pandas_tables.write_zipped(test.drop(columns="Sentiment"), job.public / "test.tsv.zip", sep="\t")
    pandas_tables.write(pandas_tables.sample(test, "PhraseId", {"Sentiment": 2}), job.public / "sampleSubmission.csv")
    pandas_tables.write(test, job.private / "answers.csv")
