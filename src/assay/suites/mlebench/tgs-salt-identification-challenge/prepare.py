"""TGS salt identification: seismic images and masks of salt in one archive, split at random and sorted by id."""

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split the images; `fixed` also gives the depths of the test images."""
    archive = job.raw / "competition_data.zip"
    masks = pandas_tables.read_zipped(archive, "competition_data/train.csv").astype(object).fillna("")
    rows = random_rows(len(masks), test=0.25, seed=0)
    train, test = (side.sort_values("id") for side in pandas_tables.split(masks, rows))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test, job.private / "test.csv")
    sample = test.drop(columns="rle_mask").assign(rle_mask="1 1")
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    depths = pandas_tables.read(job.raw / "depths.csv")
    known = masks if job.edition == "fixed" else train
    pandas_tables.write(depths[depths["id"].isin(known["id"])].sort_values("id"), job.public / "depths.csv")
    images = [(f"images/{id}.png", side) for side, table in (("train", train), ("test", test)) for id in table["id"]]
    images += [(f"masks/{id}.png", "train") for id in train["id"]]
    archives.extract(archive, ((f"competition_data/train/{name}", job.public / side / name) for name, side in images))
