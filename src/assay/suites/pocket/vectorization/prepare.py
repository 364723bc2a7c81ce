"""An example to check against, and the reference that submissions are timed beside."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np

NAIVE = Path(__file__).parent / "starter" / "convolve.py"


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Write the public example and the two copies of the naive code; there is no raw data."""
    shutil.copyfile(NAIVE, private / "reference.py")
    shutil.copyfile(NAIVE, public / "reference.py")
    random = np.random.default_rng(0)
    images = random.standard_normal((2, 9, 8, 3))
    filters = random.standard_normal((4, 3, 2, 3)) / np.sqrt(3 * 2 * 3)
    np.savez(public / "example.npz", images=images, filters=filters, output=_naive(images, filters))


def _naive(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    spec = importlib.util.spec_from_file_location("naive", NAIVE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    output: np.ndarray = module.convolve(images, filters)
    return output
