"""A miniature of the images: noise whose brightness in three stripes depends on the class."""

import json

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PER_BATCH = 60
PIXELS = 32 * 32


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write six PNG files in place of the package's, one row of pixels per image, and two lists of labels."""
    folder = job.raw / "package"
    batches = {f"data_batch_{number}": make.labels(PER_BATCH, 10) for number in range(1, 6)}
    batches["test_batch"] = make.labels(PER_BATCH, 10)
    for name, labels in batches.items():
        make.image(folder / f"{name}.png", np.stack([_picture(make, int(label)) for label in labels]))
    test = batches.pop("test_batch")
    train = np.concatenate(list(batches.values()))
    for name, labels in (("train", train), ("test", test)):
        (folder / f"{name}_lables.json").write_text(json.dumps(labels.tolist()))


def _picture(make: Miniature, label: int) -> np.ndarray:
    """Return the pixels of one image, line by line, as a row."""
    stripes = [label % 2, label // 2 % 3 / 2, label // 6]
    parts = np.array_split(np.arange(PIXELS), len(stripes))
    shades = zip(parts, stripes, strict=True)
    return np.concatenate([make.texture((len(part), 3), 0.2 + 0.6 * stripe) for part, stripe in shades])
