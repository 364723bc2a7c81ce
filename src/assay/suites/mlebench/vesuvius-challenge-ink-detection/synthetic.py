"""A miniature of the papyrus scans: ink is bright in the middle layers of the volume."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import encode_mask, mask_from_pixels

SIZES = {"1": (64, 48), "2": (56, 72), "3": (48, 60)}
LAYERS = 9


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Three fragments of different sizes, each with its layers, labels and photograph."""
    for fragment, (height, width) in SIZES.items():
        folder = job.raw / "train" / fragment
        ink = _strokes(height, width, make)
        for layer in range(LAYERS):
            strength = 0.35 if 3 <= layer <= 5 else 0.0
            pixels = make.texture((height, width), 0.3) + (175 * strength * ink).astype(np.uint8)
            make.image(folder / f"surface_volume/{layer:02d}.tif", pixels)
        make.image(folder / "ir.png", make.texture((height, width), 0.7) - (100 * ink).astype(np.uint8))
        make.image(folder / "inklabels.png", (255 * ink).astype(np.uint8))
        make.image(folder / "mask.png", np.full((height, width), 255, np.uint8))
        mask = encode_mask(mask_from_pixels(ink, order="row"))
        make.csv(folder / "inklabels_rle.csv", {"Id": [fragment], "Predicted": [mask]})
    make.csv(job.raw / "sample_submission.csv", {"Id": ["a", "b"], "Predicted": ["1 1 5 1", "1 1 5 1"]})


def _strokes(height: int, width: int, make: Miniature) -> np.ndarray:
    """Letters, that is, some thick strokes across or down the fragment."""
    ink = np.zeros((height, width), bool)
    for _ in range(8):
        top, left = make.rng.integers(0, height - 12), make.rng.integers(0, width - 12)
        tall, wide = make.rng.permutation([4, 12])
        ink[top : top + tall, left : left + wide] = True
    return ink
