"""Hindi and Tamil question answering: questions split at random."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Write answers in the form of a submission; `fixed` keeps words that pandas reads as missing."""
    questions = pandas_tables.read(job.raw / "train.csv", keep_default_na=job.edition == "v1")
    train, test = pandas_tables.split(questions, random_rows(len(questions), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns=["answer_start", "answer_text"]), job.public / "test.csv")
    answers = test[["id", "answer_text"]].rename(columns={"answer_text": "PredictionString"})
    pandas_tables.write(answers, job.private / "test.csv")
    pandas_tables.write(answers.assign(PredictionString="dummy text"), job.public / "sample_submission.csv")
