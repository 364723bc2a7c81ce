"""Miniature raw data for seti-breakthrough-listen: a needle is a bright line that drifts in frequency."""

import io
from pathlib import Path

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SHAPE = (6, 16, 24)  # positions, time, frequency
COUNT = 240


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """240 observations, half of them with a needle, and a few from before the restart."""
    ids, targets = make.hex_ids(COUNT, 15), make.labels(COUNT)
    make.csv(job.raw / "train_labels.csv", {"id": ids, "target": targets})
    _write_observations(job.raw / "train", ids, targets, make)
    old = job.raw / "old_leaky_data"
    ids, targets = make.hex_ids(6, 15), make.labels(6)
    make.csv(old / "train_labels_old.csv", {"id": ids, "target": targets})
    _write_observations(old / "train_old", ids, targets, make)
    (old / "test_old").mkdir()


def _write_observations(folder: Path, ids: list[str], targets: np.ndarray, make: Miniature) -> None:
    for id, target in zip(ids, targets, strict=True):
        spectrograms = make.rng.normal(0, 1, SHAPE)
        if target:
            start, drift = make.rng.integers(0, SHAPE[2]), make.rng.integers(-1, 2)
            time = np.arange(SHAPE[1])
            spectrograms[::2, time, (start + drift * time) % SHAPE[2]] += 2
        content = io.BytesIO()
        np.save(content, spectrograms.astype(np.float16))
        path = folder / id[0] / f"{id}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.getvalue())
