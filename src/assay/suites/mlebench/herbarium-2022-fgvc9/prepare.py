"""Herbarium 2022: photographs of plant specimens, split taxon by taxon and renumbered on both sides."""

from collections import Counter

import pandas as pd

from assay.data.job import PrepareJob
from assay.formats.coco import read_coco, write_coco

from .._shared.coco_split import copy_images, list_categories, replace_pairs, split_by_category, write_answers


def prepare(job: PrepareJob) -> None:
    """Number training images within their category and test images in their shuffled order."""
    coco = read_coco(job.raw / "train_metadata.json")
    train, test = split_by_category(coco, test=0.2, image_id="image_id", min_random=2)
    sizes: Counter[int] = Counter()
    renamed, names = [], []
    for image, annotation in train:
        category = annotation["category_id"]
        sizes[category] += 1
        id = f"{category:05d}__{sizes[category]:03d}"
        names.append(f"{category // 100:03d}/{category % 100:02d}/{id}.jpg")
        renamed.append(({**image, "image_id": id, "file_name": names[-1]}, {**annotation, "image_id": id}))
    test_names = [f"{number // 1000:03d}/test-{number:06d}.jpg" for number in range(len(test))]
    images = [
        {**image, "image_id": str(number), "file_name": test_names[number]} for number, (image, _) in enumerate(test)
    ]
    write_coco(replace_pairs(coco, renamed), job.public / "train_metadata.json")
    write_coco(images, job.public / "test_metadata.json")
    copy_images(train, names, job.raw / "train_images", job.public / "train_images")
    copy_images(test, test_names, job.raw / "train_images", job.public / "test_images")
    write_answers(job, pd.DataFrame({"Id": range(len(test)), "Predicted": list_categories(test)}), sample=42)
