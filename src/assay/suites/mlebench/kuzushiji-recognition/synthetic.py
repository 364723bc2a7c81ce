"""Miniature raw data for kuzushiji-recognition: each character is a box of its own shade."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

CODES = ["U+306F", "U+304C", "U+4E00", "U+3042", "U+5927"]
PAGES = 120
SIDE, CELL = 60, 15


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Pages with a few characters each, on a grid; some training pages have none."""
    ids = [f"page_{id}" for id in make.hex_ids(PAGES, 8)]
    # The pages that the published split uses for the test must have labels.
    held_out = set(np.random.RandomState(0).permutation(PAGES)[: PAGES // 10].tolist())
    texts, pictures = [], {}
    for number, id in enumerate(ids):
        pixels = make.texture((SIDE, SIDE, 3), 0.9)
        count = int(make.rng.integers(2, 6)) if number in held_out or number % 9 else 0
        words = []
        for cell in make.rng.choice((SIDE // CELL) ** 2, count, replace=False):
            kind, width, height = (int(make.rng.integers(*bounds)) for bounds in ((0, len(CODES)), (6, 14), (6, 14)))
            x, y = int(cell) % 4 * CELL, int(cell) // 4 * CELL
            pixels[y : y + height, x : x + width] = 40 * kind
            words += [CODES[kind], str(x), str(y), str(width), str(height)]
        texts.append(" ".join(words))
        pictures[f"{id}.jpg"] = make.encode_image(pixels, ".jpg")
    make.csv(job.raw / "train.csv", {"image_id": ids, "labels": texts})
    make.zip(job.raw / "train_images.zip", pictures)
    characters = [chr(int(code[2:], 16)) for code in CODES]
    make.csv(job.raw / "unicode_translation.csv", {"Unicode": CODES, "char": characters}, lineterminator="\r\n")
