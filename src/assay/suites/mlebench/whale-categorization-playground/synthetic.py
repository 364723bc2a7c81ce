"""A miniature of the flukes: small photographs, brighter the further down the list of whales."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SIZES = [*range(2, 13), *[1] * 30]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Unknown whales, whales of two to twelve photographs, and thirty of one, of which some become unknown."""
    whales = ["new_whale", *(f"w_{id}" for id in make.hex_ids(len(SIZES), 7))]
    places = make.rng.permutation(np.repeat(np.arange(len(whales)), [20, *SIZES]))
    names = [f"{id}.jpg" for id in make.hex_ids(len(places), 8)]
    for name, place in zip(names, places, strict=True):
        make.image(job.raw / "train" / name, make.texture((16, 32), 0.05 + 0.9 * place / len(whales)))
    make.csv(job.raw / "train.csv", {"Image": names, "Id": [whales[place] for place in places]})
    make.csv(job.raw / "sample_submission.csv", {"Image": ["00029b3a.jpg"], "Id": ["new_whale w_1287fbc"]})
