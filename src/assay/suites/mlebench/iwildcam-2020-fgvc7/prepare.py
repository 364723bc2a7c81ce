"""iWildCam 2020: photographs of camera traps with COCO annotations, split by location."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats.coco import Coco, read_coco

from .._shared.coco_split import check_keys

TEST_SHARE = 0.22


def prepare(job: PrepareJob) -> None:
    """Answer once per annotation; `fixed` answers once per image, by its first annotation."""
    coco = read_coco(job.raw / "iwildcam2020_train_annotations.json")
    check_keys(coco, {"annotations", "images", "categories", "info"})
    information = read_coco(job.raw / "iwildcam2020_test_information.json")
    check_keys(information, {"images", "categories", "info"})
    images, annotations = (pandas_tables.from_records(coco[key]) for key in ("images", "annotations"))
    train, test = (images[images["location"].isin(side)] for side in _split_locations(images["location"]))
    train_annotations, test_annotations = (
        annotations[annotations["image_id"].isin(side["id"])] for side in (train, test)
    )
    answers = test_annotations[["image_id", "category_id"]].set_axis(["Id", "Category"], axis=1)
    if job.edition == "fixed":
        answers = answers.drop_duplicates("Id")
    sample = answers.assign(Category=np.random.RandomState(0).randint(0, 676, size=len(answers)))
    pandas_tables.write(answers, job.private / "answers.csv")
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    categories, test_categories = (pandas_tables.from_records(source["categories"]) for source in (coco, information))
    train_content = {"annotations": train_annotations, "images": train, "categories": categories}
    test_content = {"images": test, "categories": test_categories}
    _write_json(train_content, coco, job.public / "iwildcam2020_train_annotations.json")
    _write_json(test_content, information, job.public / "iwildcam2020_test_information.json")
    detections = "iwildcam2020_megadetector_results.json"
    files.copy([(job.raw / detections, job.public / detections)])
    files.copy_by_id(job.raw / "train", job.public / "train", train["id"], ".jpg")
    files.copy_by_id(job.raw / "train", job.public / "test", test["id"], ".jpg")


def _split_locations(column: "pd.Series[str]") -> tuple[list[object], list[object]]:
    """Split the locations at random, then move the last ones until the test images are about the intended share.

    The share is of all images plus the test images, as if these came on top.
    """
    locations, sizes = column.unique(), column.value_counts(dropna=False)
    rows = random_rows(len(locations), test=TEST_SHARE, seed=0)
    train, test = ([locations[row] for row in side] for side in rows)
    count = int(sum(sizes.loc[location] for location in test))
    while count / (len(column) + count) < TEST_SHARE:
        test.append(train.pop())
        count += int(sizes.loc[test[-1]])
    while count / (len(column) + count) > TEST_SHARE:
        train.append(test.pop())
        count -= int(sizes.loc[train[-1]])
    return train, test


def _write_json(tables: dict[str, pd.DataFrame], source: Coco, path: Path) -> None:
    """Write tables as records, and the `info` of the raw file; a field that a record lacks is NaN, a null text null."""
    content = {key: table.to_dict(orient="records") for key, table in tables.items()}
    with path.open("w") as file:
        json.dump({**content, "info": source["info"]}, file)
