"""A miniature of the camera traps: small photographs, brighter the further down the list of animals."""

from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

CATEGORIES = [0, 1, 3, 4, 8, 11, 13, 16, 19, 22]
LOCATIONS = 30
PHOTOS = 600


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Photographs of all locations in turn, so that those of the test set are spread over the table."""
    labels = make.labels(PHOTOS, len(CATEGORIES))
    ids = [f"{id[:8]}-{id[8:12]}-11e8-{id[12:]}" for id in make.hex_ids(PHOTOS, 24)]
    members = {}
    for id, label in zip(ids, labels, strict=True):
        pixels = make.texture((24, 32, 3), 0.05 + 0.9 * label / len(CATEGORIES))
        members[f"{id}.jpg"] = make.encode_image(pixels, ".jpg")
    make.zip(job.raw / "train_images.zip", members)
    table: dict[str, Any] = {
        "category_id": np.array(CATEGORIES)[labels],
        "date_captured": [f"2011-05-{1 + number % 28:02d} 23:43:18" for number in range(PHOTOS)],
        "file_name": [f"{id}.jpg" for id in ids],
        "frame_num": make.rng.integers(1, 4, PHOTOS),
        "id": ids,
        "location": make.rng.integers(0, LOCATIONS, PHOTOS),
        "rights_holder": ["Owner, one"] * PHOTOS,
        "seq_id": make.hex_ids(PHOTOS, 12),
        "seq_num_frames": make.rng.integers(1, 4, PHOTOS),
        "width": [1024] * PHOTOS,
        "height": [747] * PHOTOS,
    }
    make.csv(job.raw / "train.csv", table)
