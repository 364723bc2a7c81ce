"""FathomNet as published: the last 2 % of the shuffled images are the test set, whatever dive they are from."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.data import files
from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, write
from assay.formats import coco

from ..prepare import locate

TRAIN = 0.98
SEED = 42


def prepare(job: PrepareJob) -> None:
    """Split the labeled images; images of the test are listed in `object_detection/eval.json`, in the published order.

    The published scorer draws at random which images are out of sample, again for each submission. Here they are drawn
    once, so that the same submission always gets the same score.
    """
    boxes = coco.read_coco(job.raw / "object_detection" / "train.json")
    listed = read(job.raw / "multilabel_classification" / "train.csv")
    order = np.random.RandomState(SEED).permutation(listed.height)
    cut = int(listed.height * TRAIN)
    train, test = take(listed, order[:cut]), take(listed, order[cut:])
    where = locate(job, boxes["images"])
    files.copy(
        (where[Path(image["file_name"]).stem], job.public / "images" / image["file_name"]) for image in boxes["images"]
    )
    write(train, job.public / "multilabel_classification" / "train.csv")
    write(read(job.raw / "category_key.csv"), job.public / "category_key.csv")

    tested = set(test["id"])
    _write_json(without(boxes, tested), job.public / "object_detection" / "train.json")
    evaluated = coco.read_coco(job.raw / "object_detection" / "eval.json")
    images = [image for image in boxes["images"] if Path(image["file_name"]).stem in tested]
    evaluated = {**evaluated, "images": [{**image, "id": number} for number, image in enumerate(images, 1)]}
    _write_json(
        {key: value for key, value in evaluated.items() if key != "annotations"},
        job.public / "object_detection" / "eval.json",
    )

    out_of_sample = pl.Series("osd", draw_labels(test.height, job.secret_seed()))
    write(test.with_columns(out_of_sample), job.private / "answers.csv")
    write(
        test.select("id", pl.lit("1").alias("categories"), pl.lit("1").alias("osd")),
        job.private / "sample_submission.csv",
    )


def without(boxes: coco.Coco, tested: set[str]) -> coco.Coco:
    """Return the document without the test images, with images and boxes numbered again."""
    kept = [image for image in boxes["images"] if Path(image["file_name"]).stem not in tested]
    numbers = {image["id"]: number for number, image in enumerate(kept, 1)}
    annotations = [copy.copy(box) for box in boxes["annotations"] if box["image_id"] in numbers]
    for number, box in enumerate(annotations, 1):
        box |= {"id": number, "image_id": numbers[box["image_id"]]}
    return {**boxes, "images": [{**image, "id": numbers[image["id"]]} for image in kept], "annotations": annotations}


def draw_labels(count: int, seed: int) -> list[int]:
    """Draw 0 or 1 for each image; both occur, because a score needs both."""
    random = np.random.RandomState(seed)
    while True:
        drawn: list[int] = random.randint(0, 2, count).tolist()
        if len(set(drawn)) == 2:
            return drawn


def _write_json(content: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4))
