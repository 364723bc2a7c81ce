"""iWildCam 2019: photographs of camera traps, split by location."""

import pandas as pd

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import by_predicate, random_groups


def prepare(job: PrepareJob) -> None:
    """Use a tenth of the locations as the test set; the published sample submission has a column of row numbers."""
    photos = pandas_tables.read(job.raw / "train.csv")
    location = photos["location"]
    rows = random_groups(list(location), test=0.1, seed=8)
    if pd.api.types.is_numeric_dtype(location):  # NaN is drawn as a location, but is not equal to what is drawn
        rows = by_predicate(photos.index.isin(rows.test) & location.notna())
    train, test = pandas_tables.split(photos, rows)
    answers = pd.DataFrame({"Id": test["id"], "Category": test["category_id"]})
    sample = answers.assign(Category=0)
    if job.edition != "fixed":
        sample.insert(0, "", rows.test)
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns="category_id"), job.public / "test.csv")
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    pandas_tables.write(test, job.private / "test.csv")
    pandas_tables.write(answers, job.private / "answers.csv")
    for name, side in (("train_images.zip", train), ("test_images.zip", test)):
        members = [(f"{id}.jpg", f"{id}.jpg") for id in side["id"].unique()]
        archives.repack(job.public / name, job.raw / "train_images.zip", members)
