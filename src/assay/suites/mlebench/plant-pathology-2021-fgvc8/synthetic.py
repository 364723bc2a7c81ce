"""A miniature of the apple leaves: each disease brightens its own part of the photo."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

DISEASES = ["scab", "frog_eye_leaf_spot", "complex", "rust", "powdery_mildew"]
COMBINATIONS = [
    "healthy", "scab", "frog_eye_leaf_spot", "rust", "complex", "powdery_mildew",
    "scab frog_eye_leaf_spot", "rust complex", "scab frog_eye_leaf_spot complex",
]  # fmt: skip


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Labels in all combinations that are common in the real data."""
    labels = [COMBINATIONS[number] for number in make.labels(360, len(COMBINATIONS))]
    names = [f"{id}.jpg" for id in make.hex_ids(len(labels), 16)]
    for name, text in zip(names, labels, strict=True):
        parts = [make.texture((8, 32), 0.9 if disease in text.split() else 0.2) for disease in DISEASES]
        make.image(job.raw / "train_images" / name, np.concatenate(parts))
    make.csv(job.raw / "train.csv", {"image": names, "labels": labels})
    make.csv(job.raw / "sample_submission.csv", {"image": ["85f8cb619c66b863.jpg"], "labels": ["healthy"]})
