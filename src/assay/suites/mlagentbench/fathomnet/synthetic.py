"""A miniature of the sea floor images: each animal category is a patch of its own color."""

import json
from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

DIVES, OF_A_DIVE, KINDS, SEEN = 20, 7, 290, 12
SIDE, PATCH = 64, 16
GROUPS = ["Worm", "Sea cucumber", "Fish", "Urchin", "Sea star"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write tables and boxes as on Kaggle, and the images in the folder to which users download them."""
    colours = make.rng.integers(0, 256, (SEEN, 3))
    usual = make.rng.dirichlet(np.full(SEEN, 0.7))
    images: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    lines = []
    names = [
        f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}"
        for name in make.hex_ids(DIVES * OF_A_DIVE, 32)
    ]
    for number, name in enumerate(names, 1):
        pixels = make.texture((SIDE, SIDE, 3), 0.3)
        species = make.rng.choice(SEEN, make.rng.integers(1, 4), replace=False, p=0.9 * usual + 0.1 / SEEN)
        cells = make.rng.choice((SIDE // PATCH) ** 2, len(species), replace=False)
        for kind, cell in zip(species.tolist(), cells.tolist(), strict=True):
            top, left = PATCH * (cell // (SIDE // PATCH)), PATCH * (cell % (SIDE // PATCH))
            pixels[top : top + PATCH, left : left + PATCH] = colours[kind]
            box = {"id": len(boxes) + 1, "image_id": number, "category_id": kind + 1, "bbox": [left, top, PATCH, PATCH]}
            boxes.append({**box, "area": PATCH**2, "segmentation": [], "iscrowd": 0})
        make.image(job.raw / "images" / f"{name}.png", pixels)
        address = f"https://example.org/framegrabs/Ventana/images/{number % DIVES:04d}/{number:04d}.png"
        size = {"width": SIDE, "height": SIDE}
        images.append({"id": number, **size, "file_name": f"{name}.png", "coco_url": address, "license": 0})
        lines.append(str(sorted(float(kind + 1) for kind in species)))

    make.csv(job.raw / "multilabel_classification" / "train.csv", {"id": names, "categories": lines})
    key = {"id": range(1, KINDS + 1), "name": [make.words(2).capitalize() for _ in range(KINDS)]}
    key["supercat"] = [GROUPS[number % len(GROUPS)] for number in range(KINDS)]
    make.csv(job.raw / "category_key.csv", key)
    kinds = [
        {"id": number, "name": name, "supercategory": group} for number, name, group in zip(*key.values(), strict=True)
    ]
    content = {"info": {}, "licenses": [], "images": images, "annotations": boxes, "categories": kinds}
    (job.raw / "object_detection").mkdir()
    (job.raw / "object_detection" / "train.json").write_text(json.dumps(content))
    unlabelled = {**content, "images": [], "annotations": []}
    (job.raw / "object_detection" / "eval.json").write_text(json.dumps(unlabelled))
