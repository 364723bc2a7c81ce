"""A miniature of the right whale data: sea noise, in which a call is a rising tone."""

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

DAYS = ["20090328", "20090329", "20090330", "20090331"]
CLIPS = 24
RATE = 2000
SECONDS = 2


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write four days of clips to one zip file; a clip's name contains its time, number and label."""
    members = {}
    for number, label in enumerate(np.concatenate([make.labels(CLIPS) for _ in DAYS])):
        hour, offset = number % CLIPS, f"{make.rng.integers(1, 900)}s{make.rng.integers(0, 10)}ms"
        name = f"{DAYS[number // CLIPS]}_{hour:02d}{make.rng.integers(0, 60):02d}00_{offset}_TRAIN{number}_{label}.aif"
        members[f"train2/{name}"] = make.aiff(_clip(bool(label), make), RATE)
    make.zip(job.raw / "train2.zip", members)


def _clip(calls: bool, make: Miniature) -> NDArray[np.int16]:
    """Return two seconds of noise of random loudness; a call sweeps from 80 to 200 Hz."""
    time = np.arange(SECONDS * RATE) / RATE
    sound = make.rng.normal(0, 0.2, len(time))
    if calls:
        sound += 0.2 * np.sin(2 * np.pi * (80 * time + 30 * time**2))
    loudness = make.rng.uniform(1000, 30_000)
    return np.clip(sound * loudness, -32_768, 32_767).astype(np.int16)
