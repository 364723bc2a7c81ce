"""Miniatures of competitions that `coco_split` prepares: many categories of very different size."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.data.miniature import Miniature, Pixels


@dataclass(frozen=True)
class Specimens:
    """Images with one category each, brighter the further down the list of categories."""

    make: Miniature
    sizes: Mapping[int, int]  # category -> number of images

    def draw(self) -> list[int]:
        """Return the category of each image, shuffled."""
        categories = [category for category, size in self.sizes.items() for _ in range(size)]
        return [categories[index] for index in self.make.rng.permutation(len(categories))]

    def photograph(self, category: int) -> Pixels:
        """Return an image of a category."""
        rank = list(self.sizes).index(category)
        return self.make.texture((24, 16, 3), 0.1 + 0.8 * rank / len(self.sizes))


def write_json(path: Path, content: Any, encoding: str = "utf-8") -> None:
    """Write a JSON file in which letters are not escaped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding=encoding)


def write_herbarium(
    raw: Path, make: Miniature, sizes: Mapping[int, int], *, extra: str, reference: str, encoding: str = "utf-8"
) -> None:
    """Write `train/metadata.json` and its images, in folders by category.

    Collections of specimens are listed under the key `extra`, and annotations refer to one as `reference`.
    """
    specimens = Specimens(make, sizes)
    images, annotations = [], []
    for number, category in enumerate(specimens.draw()):
        id = 1000 + 3 * number
        name = f"images/{category // 100:03d}/{category % 100:02d}/{id}.jpg"
        make.image(raw / "train" / name, specimens.photograph(category))
        images.append({"file_name": name, "height": 24, "id": id, "license": 1, "width": 16})
        annotations.append(
            {"category_id": category, "id": number, "image_id": id, reference: int(make.rng.integers(3))}
        )
    metadata = {
        "info": {"year": 2020, "description": "Spécimens", "version": 1.0},
        "licenses": [{"id": 1, "name": "CC BY"}],
        "images": images,
        "annotations": annotations,
        "categories": [{"id": id, "name": f"Ångströmia {make.words(1)}", "family": "Poaceæ"} for id in sizes],
        extra: [{"id": number, "name": f"Collection {number}"} for number in range(3)],
    }
    write_json(raw / "train" / "metadata.json", metadata, encoding)
