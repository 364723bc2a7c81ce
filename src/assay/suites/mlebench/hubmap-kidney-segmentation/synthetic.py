"""Miniature raw data for hubmap-kidney-segmentation: glomeruli are bright disks."""

import json

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import encode_mask, mask_from_pixels

IMAGES = 15
OTHERS = 3  # rows of the information table without an image, as those of the original test images
DISKS = 4


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Fifteen images of different sizes, with their outlines as polygons."""
    ids = make.hex_ids(IMAGES + OTHERS, 9)
    widths, heights = make.rng.integers(60, 100, (2, len(ids)))
    texts = []
    for id, width, height in zip(ids[:IMAGES], widths, heights, strict=False):
        row, column = np.indices((height, width))
        inside, outlines = np.zeros((height, width), bool), []
        for _ in range(DISKS):
            x, y, radius = make.rng.integers(0, width), make.rng.integers(0, height), make.rng.integers(4, 9)
            inside |= (row - y) ** 2 + (column - x) ** 2 <= radius**2
            angles = np.linspace(0, 2 * np.pi, 9)
            polygon = np.column_stack([x + radius * np.cos(angles), y + radius * np.sin(angles)]).round()
            outlines.append({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [polygon.tolist()]}})
        texts.append(encode_mask(mask_from_pixels(inside)))
        levels = [make.texture((height, width), level) for level in (0.3, 0.7)]
        picture = np.where(inside, levels[1], levels[0])
        make.image(job.raw / "train" / f"{id}.tiff", np.stack([picture] * 3, axis=-1))
        (job.raw / "train" / f"{id}.json").write_text(json.dumps(outlines))
        region = [[0, 0], [int(width), 0], [int(width), int(height)], [0, 0]]
        (job.raw / "train" / f"{id}-anatomical-structure.json").write_text(json.dumps([{"Cortex": region}]))
    make.csv(job.raw / "train.csv", {"id": ids[:IMAGES], "encoding": texts})
    order = make.rng.permutation(len(ids))
    age = make.rng.integers(30, 80, len(ids)).astype(float)
    age[-1] = np.nan  # in a row that is dropped, so that the ages are written with a decimal point
    columns = {
        "image_file": np.array([f"{id}.tiff" for id in ids]),
        "width_pixels": widths,
        "height_pixels": heights,
        "glomerulus_segmentation_file": np.array([f"{id}.json" for id in ids]),
        "race": np.array(["White"] * len(ids)),
        "age": age,
        "bmi_kg/m^2": make.rng.uniform(18, 38, len(ids)).round(1),
    }
    make.csv(job.raw / "HuBMAP-20-dataset_information.csv", {name: values[order] for name, values in columns.items()})
