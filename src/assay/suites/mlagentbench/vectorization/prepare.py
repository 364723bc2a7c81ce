"""An example to check against, and the reference that submissions are timed beside."""

import shutil
from pathlib import Path

import numpy as np

from assay.tasks import load_plugin

NAIVE = Path(__file__).parent / "starter" / "convolve.py"


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Write the public example and the two copies of the naive code; there is no raw data."""
    shutil.copyfile(NAIVE, private / "reference.py")
    shutil.copyfile(NAIVE, public / "reference.py")
    random = np.random.default_rng(0)
    images = random.standard_normal((2, 9, 8, 3))
    filters = random.standard_normal((4, 3, 2, 3)) / np.sqrt(3 * 2 * 3)
    biases = random.standard_normal(4) / 2
    output = load_plugin(NAIVE).convolve(images, filters, biases)
    np.savez(public / "example.npz", images=images, filters=filters, biases=biases, output=output)
