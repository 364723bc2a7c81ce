"""VinBigData chest X-rays: images split at random; of the boxes by several radiologists, some are the answers."""

import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

KEYS = ["image_id", "class_id"]
BOX = ["x_min", "y_min", "x_max", "y_max"]
NO_FINDING = 14


def prepare(job: PrepareJob) -> None:
    """Ask for the boxes of each test image; the answers are kept as a table and as a perfect submission."""
    boxes = pandas_tables.read(job.raw / "train.csv")
    images = boxes["image_id"].unique()
    train, test = (images[side] for side in random_rows(len(images), test=0.1, seed=0))
    visible, hidden = (boxes[boxes["image_id"].isin(side)] for side in (train, test))
    answers = _first_radiologist(hidden) if job.edition == "fixed" else pandas_tables.first_per_key(hidden, KEYS)
    answers = answers.fillna(0)
    answers.loc[answers["class_id"] == NO_FINDING, ["x_max", "y_max"]] = 1.0
    # With ids, because these decide the type of a row: where all of it is numbers, a class is written as 14.0.
    rows = answers[["image_id", "class_id", *BOX]].to_numpy()
    texts = [f"{kind} 1.0 {' '.join(map(str, box))}" for _, kind, *box in rows]
    gold = pd.DataFrame({"image_id": answers["image_id"], "PredictionString": texts})
    gold = gold.groupby("image_id")["PredictionString"].agg(" ".join).reset_index()
    sample = pd.DataFrame({"image_id": test, "PredictionString": f"{NO_FINDING} 1 0 0 1 1"})
    pandas_tables.write(visible, job.public / "train.csv")
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    pandas_tables.write(answers, job.private / "answers.csv")
    pandas_tables.write(gold, job.private / "gold_submission.csv")
    files.copy_by_id(job.raw / "train", job.public / "train", train, ".dicom")
    files.copy_by_id(job.raw / "train", job.public / "test", test, ".dicom")


def _first_radiologist(boxes: pd.DataFrame) -> pd.DataFrame:
    """Return all boxes of the radiologist who comes first for an image and class, in the order of the keys."""
    first = boxes.groupby(KEYS)["rad_id"].transform("first")
    kept = boxes[boxes["rad_id"] == first].drop_duplicates().sort_values(KEYS, kind="stable")
    return kept[[*KEYS, *kept.columns.drop(KEYS)]]
