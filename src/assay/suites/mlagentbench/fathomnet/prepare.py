"""FathomNet: a fifth of the dives, with all their images, is the test set."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.progress import stage
from assay.data import files
from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, write, write_split
from assay.data.splits import random_groups
from assay.formats import coco

TEST = 0.2
SEED = 20274
DOWNLOADS = 8


def prepare(job: PrepareJob) -> None:
    """Split by dive, because images of one dive look alike; the published task splits images and tests on 2 %.

    The competition's out-of-sample score is left out: all labeled images come from the same depths.
    """
    boxes = coco.read_coco(job.raw / "object_detection" / "train.json")
    images = {Path(image["file_name"]).stem: image for image in boxes["images"]}
    listed = read(job.raw / "multilabel_classification" / "train.csv")
    dives = [images[name]["coco_url"].rpartition("/")[0] for name in listed["id"]]
    where = locate(job, list(images.values()))

    sides = {}
    for side, rows in random_groups(dives, test=TEST, seed=SEED)._asdict().items():
        chosen = take(listed, rows).sort("id")
        names = {name: f"{side}/{images[name]['file_name']}" for name in chosen["id"]}
        files.copy((where[name], job.public / new) for name, new in names.items())
        categories = pl.Series("categories", [whole_numbers(text) for text in chosen["categories"]])
        sides[side] = pl.DataFrame({"id": chosen["id"], "image": list(names.values())}).with_columns(categories)
    write_split(
        sides["train"], sides["test"], id="id", sample={"categories": "1"}, public=job.public, private=job.private
    )
    write(read(job.raw / "category_key.csv"), job.public / "category_key.csv")
    train_ids = {images[name]["id"] for name in sides["train"]["id"]}
    (job.public / "train_boxes.json").write_text(json.dumps(coco.keep_images(boxes, train_ids)))


def locate(job: PrepareJob, images: list[dict[str, Any]]) -> dict[str, Path]:
    """Return where each image is: in the raw folder's `images` if the user has downloaded them, or downloaded now."""
    own = job.raw / "images"
    if own.is_dir():
        return {Path(image["file_name"]).stem: own / image["file_name"] for image in images}
    with stage("Downloading images", len(images)) as advance, ThreadPoolExecutor(DOWNLOADS) as pool:

        def download(image: dict[str, Any]) -> Path:
            path = job.fetch(image["coco_url"])
            advance(1)
            return path

        paths = pool.map(download, images)
        return {Path(image["file_name"]).stem: path for image, path in zip(images, paths, strict=True)}


def whole_numbers(text: str) -> str:
    """Return `[1.0, 9.0]` as `1 9`, as a submission writes it."""
    return " ".join(str(int(number)) for number in json.loads(text))
