"""A miniature of dog-breed-identification: each breed has its own color."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 480 photographs, four per breed; a breed's number in base five gives its red, green and blue."""
    breeds = job.columns
    ids, labels = make.hex_ids(480, 32), make.labels(480, classes=len(breeds))
    make.csv(job.raw / "labels.csv", {"id": ids, "breed": [breeds[label] for label in labels]})
    for id, label in zip(ids, labels, strict=True):
        levels = (label % 5, label // 5 % 5, label // 25)
        pixels = np.dstack([make.texture((16, 16), 0.2 + 0.15 * level) for level in levels])
        make.image(job.raw / "train" / f"{id}.jpg", pixels)
