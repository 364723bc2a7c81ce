"""Makes the taxi-fare task: 9,914 rides are to be priced, and all others come with their fares."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """The training rides are called `labels.csv`; a text about cloud credits comes with them, as on Kaggle."""
    rides = pandas_tables.read(job.raw / "train.csv")
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
