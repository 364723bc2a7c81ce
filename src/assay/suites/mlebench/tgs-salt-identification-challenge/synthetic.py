"""Miniature raw data for tgs-salt-identification-challenge: salt is the brighter part of an image."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import encode_mask, mask_from_pixels

SIDE = 101
IMAGES = 100


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Salt is below a slanted line: in a fifth of the images nowhere, in a few everywhere."""
    ids = make.hex_ids(IMAGES, 10)
    members: dict[str, bytes] = {}
    texts = []
    row, column = np.indices((SIDE, SIDE))
    for number, id in enumerate(ids):
        height, slope = make.rng.uniform(-10, 100), make.rng.uniform(-0.5, 0.5)
        salt = (row > height + slope * column) & (number % 5 > 0)
        texts.append(encode_mask(mask_from_pixels(salt)))
        picture = np.where(salt, make.texture((SIDE, SIDE), 0.6), make.texture((SIDE, SIDE), 0.3))
        members[f"competition_data/train/images/{id}.png"] = make.encode_image(picture.astype(np.uint8), ".png")
        members[f"competition_data/train/masks/{id}.png"] = make.encode_image(salt.astype(np.uint8) * 255, ".png")
    members["competition_data/train.csv"] = make.table({"id": ids, "rle_mask": texts})
    make.zip(job.raw / "competition_data.zip", members)
    others = make.hex_ids(20, 10)
    all_ids = make.rng.permutation([*ids[1:], *others])  # one depth is unknown
    make.csv(job.raw / "depths.csv", {"id": all_ids, "z": make.rng.integers(50, 960, len(all_ids))})
