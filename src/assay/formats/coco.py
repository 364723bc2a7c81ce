"""COCO files: images, their annotations and categories, as one JSON document."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from assay.core.errors import SourceError

Coco = dict[str, Any]
Record = dict[str, Any]


def read_coco(path: Path, encoding: str = "utf-8") -> Coco:
    """Read a COCO file."""
    content: Coco = json.loads(path.read_text(encoding=encoding))
    return content


def write_coco(coco: Coco | list[Record], path: Path) -> None:
    """Write a COCO file, or a list of its records, as the published preparations do.

    Lines are indented by 4, keys sorted, letters escaped to ASCII; there is no final newline.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        json.dump(coco, file, indent=4, sort_keys=True)


def pair_annotations(coco: Coco, image_id: str = "id") -> list[tuple[Record, Record]]:
    """Return (image, annotation) pairs of a file that has one annotation per image, in the same order.

    `image_id` is what images call their id. Images after the last annotation are excluded.
    """
    pairs = list(zip(coco["images"], coco["annotations"], strict=False))
    if len(pairs) < len(coco["annotations"]) or any(
        image[image_id] != annotation["image_id"] for image, annotation in pairs
    ):
        raise SourceError("the images and annotations of a COCO file do not correspond one to one")
    return pairs


def keep_images(coco: Coco, ids: Collection[Any]) -> Coco:
    """Return the document with only the images of these ids and their annotations, in their order."""
    kept = set(ids)
    return {
        **coco,
        "images": [image for image in coco["images"] if image["id"] in kept],
        "annotations": [annotation for annotation in coco["annotations"] if annotation["image_id"] in kept],
    }
