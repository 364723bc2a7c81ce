"""Miniature raw data for petfinder-pawpularity-score: brighter photos are more popular."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

FLAGS = [
    "Subject Focus",
    "Eyes",
    "Face",
    "Near",
    "Action",
    "Accessory",
    "Group",
    "Collage",
    "Human",
    "Occlusion",
    "Info",
    "Blur",
]
PHOTOS = 200


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """200 photos of 32 × 32 pixels; the flags say nothing about the score."""
    ids = make.hex_ids(PHOTOS, 32)
    scores = np.clip(make.rng.normal(38, 20, PHOTOS).round(), 1, 100).astype(int)
    flags = {flag: make.labels(PHOTOS) for flag in FLAGS}
    make.csv(job.raw / "train.csv", {"Id": ids, **flags, "Pawpularity": scores})
    for id, score in zip(ids, scores, strict=True):
        make.image(job.raw / "train" / f"{id}.jpg", make.texture((32, 32, 3), score / 100))
