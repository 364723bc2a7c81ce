"""A miniature of leaf-classification: each species has its own features, with a little noise per leaf."""

import numpy as np
import pandas as pd

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

FEATURES = [f"{kind}{number}" for kind in ("margin", "shape", "texture") for number in range(1, 65)]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 396 leaves, four per species; rows and images have the same ids, up to 1,584."""
    species = job.columns
    ids, labels = np.sort(make.rng.permutation(1584)[:396] + 1), make.labels(396, classes=len(species))
    typical = make.rng.gamma(0.5, 0.03, (len(species), len(FEATURES)))
    measured = np.abs(typical[labels] + make.rng.normal(0, 0.01, (396, len(FEATURES))))
    leaves = pd.DataFrame({"id": ids, "species": [species[label] for label in labels]})
    leaves = leaves.join(pd.DataFrame(measured, columns=FEATURES))
    make.zip(job.raw / "train.csv.zip", {"train.csv": leaves.to_csv(index=False, float_format="%.6f").encode()})
    brightness = 0.2 + 0.6 * labels / len(species)
    pictures = (make.encode_image(make.texture((24, 24), level), ".jpg") for level in brightness)
    make.zip(job.raw / "images.zip", {f"images/{id}.jpg": picture for id, picture in zip(ids, pictures, strict=True)})
