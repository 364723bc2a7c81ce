"""Miniature raw data for statoil-iceberg-classifier-challenge: icebergs are larger spots than ships."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import seven_zip

SIDE = 15
IMAGES = 150


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Radar images in decibels, some of them without an angle, in two archives."""
    labels, ids = make.labels(IMAGES), make.hex_ids(IMAGES + 5, 8)
    train = [_image(id, int(label), make) | {"is_iceberg": int(label)} for id, label in zip(ids, labels, strict=False)]
    test = [_image(id, number % 2, make) for number, id in enumerate(ids[IMAGES:])]
    with TemporaryDirectory() as folder:
        for side, images in (("train", train), ("test", test)):
            path = Path(folder, f"{side}.json")
            path.write_text(json.dumps(images))
            seven_zip.pack(job.raw / f"{side}.json.7z", [(f"data/processed/{side}.json", path)])


def _image(id: str, label: int, make: Miniature) -> dict[str, Any]:
    """A bright spot in the middle of dark water; the second band is darker."""
    row, column = np.indices((SIDE, SIDE)) - SIDE // 2
    spot = 15 * np.exp(-(row**2 + column**2) / (2 + 6 * label))
    bands = [(make.rng.normal(level, 3, (SIDE, SIDE)) + spot).round(6).ravel().tolist() for level in (-20, -26)]
    angle = "na" if make.rng.random() < 0.1 else round(float(make.rng.uniform(30, 46)), 4)
    return {"id": id, "band_1": bands[0], "band_2": bands[1], "inc_angle": angle}
