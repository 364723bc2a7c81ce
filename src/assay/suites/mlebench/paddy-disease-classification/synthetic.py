"""A miniature of the paddy disease data: every disease has its own shade of green."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

LABELS = [
    "bacterial_leaf_blight",
    "bacterial_leaf_streak",
    "bacterial_panicle_blight",
    "blast",
    "brown_spot",
    "dead_heart",
    "downy_mildew",
    "hispa",
    "normal",
    "tungro",
]
EACH = 40
HEIGHT, WIDTH = 32, 24


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write a table sorted by label, as the real one is, and photos in a folder per label."""
    kinds = np.repeat(np.arange(len(LABELS)), EACH)
    names = [f"{number}.jpg" for number in 100_001 + make.rng.permutation(len(kinds))]
    labels = [LABELS[kind] for kind in kinds]
    for name, kind in zip(names, kinds, strict=True):
        shades = [make.texture((HEIGHT, WIDTH), level) for level in (0.5, 0.15 + 0.08 * kind, 0.3)]
        make.image(job.raw / "train_images" / LABELS[kind] / name, np.stack(shades, axis=-1))
    varieties = make.rng.choice(["ADT45", "KarnatakaPonni", "Ponni", "Zonal"], len(kinds))
    ages = make.rng.integers(45, 83, len(kinds))
    make.csv(job.raw / "train.csv", {"image_id": names, "label": labels, "variety": varieties, "age": ages})
    make.csv(job.raw / "sample_submission.csv", {"image_id": ["200001.jpg", "200002.jpg"], "label": ["", ""]})
