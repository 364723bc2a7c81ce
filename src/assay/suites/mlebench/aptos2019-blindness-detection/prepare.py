"""Makes the aptos2019-blindness-detection task: graded photographs of the retina split at random."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Only the graded photographs are of use: the competition's own test grades were never released."""
    grades = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(grades, random_rows(len(grades), test=0.1, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="id_code", sample={"diagnosis": 0}, whole_sample=True, public=job.public, private=job.private
    )
    for side, table in (("train", train), ("test", test)):
        names = [f"{code}.png" for code in table["id_code"]]
        files.copy((job.raw / "train_images" / name, job.public / f"{side}_images" / name) for name in names)
