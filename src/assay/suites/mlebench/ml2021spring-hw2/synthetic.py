"""A miniature of the phoneme data: every speech sound has features of its own, and lasts for a few frames."""

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SOUNDS = 39
FEATURES = 39
NEIGHBOURS = 5


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Arrays of frames with labels and of frames without; labels are numbers written as text."""
    centres = make.rng.normal(0, 1, (SOUNDS, FEATURES))
    folder = job.raw / "timit_11/timit_11"
    folder.mkdir(parents=True)
    frames, labels = _speech(60, centres, make)
    np.save(folder / "train_11.npy", frames)
    np.save(folder / "train_label_11.npy", labels.astype("<U2"))
    np.save(folder / "test_11.npy", _speech(22, centres, make)[0])


def _speech(
    utterances: int, centres: NDArray[np.float64], make: Miniature
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The frames of some utterances, each beside its neighbours, and their sounds; at its ends an utterance goes on."""
    every_frame, every_label = [], []
    for _ in range(utterances):
        labels = np.repeat(make.rng.integers(0, SOUNDS, 6), make.rng.integers(2, 5, 6))
        frames = centres[labels] + make.rng.normal(0, 0.5, (len(labels), FEATURES))
        padded = np.pad(frames, ((NEIGHBOURS, NEIGHBOURS), (0, 0)), mode="edge").astype(np.float32)
        every_frame += [padded[place : place + 2 * NEIGHBOURS + 1].ravel() for place in range(len(frames))]
        every_label.append(labels)
    return np.stack(every_frame), np.concatenate(every_label)
