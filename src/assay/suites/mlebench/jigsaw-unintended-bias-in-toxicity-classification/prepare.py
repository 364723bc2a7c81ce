"""Jigsaw unintended bias: the competition's own split, whose test ratings were released."""

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob

RATED_TEST = "test_private_expanded.csv"
COLUMNS = 45


def prepare(job: PrepareJob) -> None:
    """Copy the training comments and the rated test comments byte for byte."""
    test = pandas_tables.read(job.raw / RATED_TEST)
    if len(test.columns) != COLUMNS:
        raise SourceError(f"{RATED_TEST} has {len(test.columns)} columns; expected are {COLUMNS}")
    files.copy([(job.raw / "train.csv", job.public / "train.csv")])
    files.copy([(job.raw / RATED_TEST, job.private / "test.csv")])
    pandas_tables.write(test[["id", "comment_text"]], job.public / "test.csv")
    pandas_tables.write(pandas_tables.sample(test, "id", {"prediction": 0.0}), job.public / "sample_submission.csv")
