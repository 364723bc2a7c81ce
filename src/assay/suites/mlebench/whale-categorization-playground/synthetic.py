"""A miniature of the flukes: small photographs, brighter the further down the list of whales."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SIZES = [*range(2, 13), *[1] * 30]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Unknown whales, whales of two to twelve photographs, and thirty of one, of which some become unknown."""
    whales = ["new_whale", *(f"w_{id}" for id in make.hex_ids(len(SIZES), 7))]
    labels = make.rng.permutation(np.repeat(np.arange(len(whales)), [20, *SIZES]))
    names = [f"{id}.jpg" for id in make.hex_ids(len(labels), 8)]
    for name, label in zip(names, labels, strict=True):
        make.image(job.raw / "train" / name, make.texture((16, 32), 0.05 + 0.9 * label / len(whales)))
    make.csv(job.raw / "train.csv", {"Image": names, "Id": [whales[label] for label in labels]})
    make.csv(job.raw / "sample_submission.csv", {"Image": ["00029b3a.jpg"], "Id": ["new_whale w_1287fbc"]})
