"""A small transformer with a text it continues, and the reference that submissions are timed beside."""

import shutil
from pathlib import Path

import numpy as np

from assay.tasks import load_plugin

FOLDER = Path(__file__).parent
NAIVE = FOLDER / "starter" / "generate.py"


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Write the public example, of the size that is timed, and two copies of the slow code; there is no raw data."""
    shutil.copyfile(NAIVE, private / "reference.py")
    shutil.copyfile(NAIVE, public / "reference.py")
    names = ["prompts", "count", "heads", "embedding", "attention", "gated", "scales", "head"]
    arguments = load_plugin(FOLDER / "cases.py").timed(np.random.default_rng(0))
    output = load_plugin(NAIVE).generate(*arguments)
    np.savez(public / "example.npz", **dict(zip(names, arguments, strict=True)), output=output)
