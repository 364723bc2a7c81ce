"""A miniature of the works of art: small images whose color channels show which attributes they have."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

WORKS = 400
ATTRIBUTES = [3, 12, 107, 448, 1092, 2281, 3473]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Between one and four attributes for each work; those of the sample submission do not occur."""
    ids = make.hex_ids(WORKS, 16)
    texts = []
    for id in ids:
        chosen = np.sort(make.rng.choice(len(ATTRIBUTES), make.rng.integers(1, 5), replace=False))
        texts.append(" ".join(str(ATTRIBUTES[attribute]) for attribute in chosen))
        shades = [make.texture((4, 24), 0.9 if attribute in chosen else 0.2) for attribute in range(len(ATTRIBUTES))]
        make.image(job.raw / "train" / f"{id}.png", np.concatenate(shades))
    make.csv(job.raw / "train.csv", {"id": ids, "attribute_ids": texts})
    names = [f"{kind}::{make.words(1)}, « {number} »" for number, kind in enumerate(["culture", "medium", "tags"] * 3)]
    make.csv(job.raw / "labels.csv", {"attribute_id": range(len(names)), "attribute_name": names})
    make.csv(job.raw / "sample_submission.csv", {"id": ["0a1b"], "attribute_ids": ["0 1 2"]})
