"""A miniature of the phoneme data: every phoneme has its own features and lasts for a few frames."""

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PHONEMES = 39
FEATURES = 39
NEIGHBORS = 5


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write arrays of labeled and unlabeled frames; labels are numbers written as text."""
    centers = make.rng.normal(0, 1, (PHONEMES, FEATURES))
    folder = job.raw / "timit_11/timit_11"
    folder.mkdir(parents=True)
    frames, labels = _speech(60, centers, make)
    np.save(folder / "train_11.npy", frames)
    np.save(folder / "train_label_11.npy", labels.astype("<U2"))
    np.save(folder / "test_11.npy", _speech(22, centers, make)[0])


def _speech(
    utterances: int, centers: NDArray[np.float64], make: Miniature
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the frames of some utterances, each with its neighbors, and their phonemes; edge frames are repeated."""
    every_frame, every_label = [], []
    for _ in range(utterances):
        labels = np.repeat(make.rng.integers(0, PHONEMES, 6), make.rng.integers(2, 5, 6))
        frames = centers[labels] + make.rng.normal(0, 0.5, (len(labels), FEATURES))
        padded = np.pad(frames, ((NEIGHBORS, NEIGHBORS), (0, 0)), mode="edge").astype(np.float32)
        every_frame += [padded[start : start + 2 * NEIGHBORS + 1].ravel() for start in range(len(frames))]
        every_label.append(labels)
    return np.stack(every_frame), np.concatenate(every_label)
