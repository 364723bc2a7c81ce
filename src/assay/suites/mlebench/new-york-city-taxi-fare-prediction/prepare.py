"""New York City taxi fares: 9,914 rides are the test set, and all others come with their fares."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Write the training rides as `labels.csv`, with a text about cloud credits next to them, as on Kaggle."""
    rides = pandas_tables.scan(job.raw / "train.csv", scratch=job.private)
    train, test = pandas_tables.split(rides, random_rows(len(rides), test=9914, seed=0))
    pandas_tables.write_csv_split(
        train,
        test,
        public=job.public,
        private=job.private,
        id="key",
        sample={"fare_amount": 11.35},
        train_name="labels.csv",
    )
    coupons = "GCP-Coupons-Instructions.rtf"
    files.copy([(job.raw / coupons, job.public / coupons)])
