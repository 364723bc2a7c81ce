"""Makes the film review task: phrases of sentences, each with a rating."""

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups, random_rows


def prepare(job: PrepareJob) -> None:
    """In `v1` phrases go to either side one by one; in `fixed` sentence by sentence, and every word is kept."""
    mended = job.edition == "fixed"
    with archives.open_member(job.raw / "train.tsv.zip", "train.tsv") as file:
        phrases = pandas_tables.read(file, sep="\t", keep_default_na=not mended)
    pandas_tables.check_columns(phrases.drop(columns="Sentiment"), ["PhraseId", "SentenceId", "Phrase"], "train.tsv")
    if mended:
        rows = random_groups(phrases["SentenceId"].tolist(), test=0.3, seed=0)
    else:
        rows = random_rows(len(phrases), test=0.3, seed=0)
    train, test = pandas_tables.split(phrases, rows)
    pandas_tables.write_zipped(train, job.public / "train.tsv.zip", sep="\t")
    pandas_tables.write_zipped(test.drop(columns="Sentiment"), job.public / "test.tsv.zip", sep="\t")
    pandas_tables.write(pandas_tables.sample(test, "PhraseId", {"Sentiment": 2}), job.public / "sampleSubmission.csv")
    pandas_tables.write(test, job.private / "answers.csv")
