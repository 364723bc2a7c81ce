"""Miniature raw data for uw-madison-gi-tract-image-segmentation: organs are rectangles, each of its own brightness."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import encode_mask, mask_from_pixels

CASES = 20
SLICES = 3
CLASSES = ("large_bowel", "small_bowel", "stomach")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Cases have two to seven days, not in the order of the calendar; some slices do not show an organ."""
    ids, kinds, texts = [], [], []
    for case in make.rng.choice(np.arange(2, 160), CASES, replace=False):
        width, height = ((24, 20), (22, 26))[make.rng.integers(0, 2)]
        days = make.rng.choice([0, 9, 10, 18, 20, 25, 100], make.rng.integers(2, 8), replace=False)
        for day in days:
            corners = make.rng.integers(0, 10, (len(CLASSES), 2))
            for number in range(1, SLICES + 1):
                pixels = make.texture((height, width), 0.1)
                for index, (kind, (top, left)) in enumerate(zip(CLASSES, corners, strict=True)):
                    mask = np.zeros((height, width), bool)
                    if make.rng.random() < 0.7:
                        mask[top : top + 6 + number, left : left + 7] = True
                        pixels = np.where(mask, make.texture((height, width), 0.4 + 0.3 * index), pixels)
                    ids.append(f"case{case}_day{day}_slice_{number:04}")
                    kinds.append(kind)
                    texts.append(encode_mask(mask_from_pixels(mask)) or None)
                scans = job.raw / "train" / f"case{case}" / f"case{case}_day{day}" / "scans"
                make.image(scans / f"slice_{number:04}_{width}_{height}_1.50_1.50.png", pixels)
    make.csv(job.raw / "train.csv", {"id": ids, "class": kinds, "segmentation": texts})
