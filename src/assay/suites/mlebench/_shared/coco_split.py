"""Competitions whose labels are a COCO file with one annotation per image: split category by category.

Used by herbarium-2020-fgvc7, herbarium-2021-fgvc8, herbarium-2022-fgvc9 and inaturalist-2019-fgvc6.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import per_class
from assay.formats.coco import Coco, Record, pair_annotations, read_coco, write_coco

Pair = tuple[Record, Record]
"""An image and its annotation."""


def prepare_numbered(job: PrepareJob, *, folder: str = "", extra: str, encoding: str = "utf-8") -> None:
    """Split `folder/train`, and number the test images from 0 in their shuffled order; training images keep their ids.

    `extra` is the key that the file has besides the usual ones. The folders below are the same in raw and public data.
    """
    raw, public = job.raw / folder / "train", job.public / folder
    coco = read_coco(raw / "metadata.json", encoding)
    check_keys(coco, {"annotations", "categories", "images", "info", "licenses", extra})
    train, test = split_by_category(coco, test=0.2)
    names = [f"images/{number // 1000:03d}/{number}.jpg" for number in range(len(test))]
    images = [{**image, "id": str(number), "file_name": names[number]} for number, (image, _) in enumerate(test)]
    write_coco(replace_pairs(coco, train), public / "train" / "metadata.json")
    write_coco(hide_answers(coco, images), public / "test" / "metadata.json")
    copy_images(train, [image["file_name"] for image, _ in train], raw, public / "train")
    for category in set(list_categories(train)):  # a folder for each, even if its images are in that of another
        (public / f"train/images/{category // 100:03d}/{category % 100:02d}").mkdir(parents=True, exist_ok=True)
    copy_images(test, names, raw, public / "test")
    write_answers(job, pd.DataFrame({"Id": range(len(test)), "Predicted": list_categories(test)}), sample=0)


def split_by_category(
    coco: Coco, *, test: float, image_id: str = "id", min_random: int = 5
) -> tuple[list[Pair], list[Pair]]:
    """Return the training pairs, grouped by category, and the test pairs, shuffled."""
    pairs = pair_annotations(coco, image_id)
    rows = per_class(list_categories(pairs), test=test, seed=0, min_random=min_random)
    train_pairs, test_pairs = ([pairs[row] for row in side] for side in rows)
    return train_pairs, test_pairs


def list_categories(pairs: Sequence[Pair]) -> list[Any]:
    """Return the category of each pair."""
    return [annotation["category_id"] for _, annotation in pairs]


def check_keys(coco: Coco, keys: set[str]) -> None:
    """Raise `SourceError` unless the file has exactly these keys."""
    if set(coco) != keys:
        present, expected = (", ".join(sorted(names)) for names in (coco, keys))
        raise SourceError(f"the COCO file of the raw data has the keys {present}; expected are {expected}")


def replace_pairs(coco: Coco, pairs: Sequence[Pair]) -> Coco:
    """Return the file with other images and annotations."""
    return {
        **coco,
        "images": [image for image, _ in pairs],
        "annotations": [annotation for _, annotation in pairs],
    }


def hide_answers(coco: Coco, images: Sequence[Record]) -> Coco:
    """Return a file of test images, without annotations and categories."""
    return {"images": images, "info": coco["info"], "licenses": coco["licenses"]}


def copy_images(pairs: Sequence[Pair], names: Sequence[str], raw: Path, public: Path) -> None:
    """Copy the image of each pair from one folder to another under its new name."""
    old_names = (image["file_name"] for image, _ in pairs)
    files.copy((raw / old, public / new) for old, new in zip(old_names, names, strict=True))


def write_answers(job: PrepareJob, answers: pd.DataFrame, *, sample: int, name: str = "sample_submission.csv") -> None:
    """Write the answers, an id and a category per row, and a sample submission that predicts one category."""
    id, target = answers.columns
    pandas_tables.write(answers, job.private / "answers.csv")
    pandas_tables.write(pandas_tables.sample(answers, id, {target: sample}), job.public / name)
