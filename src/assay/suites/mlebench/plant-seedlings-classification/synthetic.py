"""A miniature of the plant seedlings data: every species has its own shade of green."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SPECIES = [
    "Black-grass",
    "Charlock",
    "Cleavers",
    "Common Chickweed",
    "Common wheat",
    "Fat Hen",
    "Loose Silky-bent",
    "Maize",
    "Scentless Mayweed",
    "Shepherds Purse",
    "Small-flowered Cranesbill",
    "Sugar beet",
]
EACH = 40
SIDE = 28


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write photos in a folder per species, under random names."""
    names = make.hex_ids(EACH * len(SPECIES), 9)
    for number, name in enumerate(names):
        kind = number % len(SPECIES)
        shades = [make.texture((SIDE, SIDE), level) for level in (0.4, 0.15 + 0.06 * kind, 0.3)]
        make.image(job.raw / "train" / SPECIES[kind] / f"{name}.png", np.stack(shades, axis=-1))
