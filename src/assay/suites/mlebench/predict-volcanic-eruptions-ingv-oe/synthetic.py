"""A miniature of the volcano data: the closer the eruption, the faster the ground trembles."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SEGMENTS = 200
READINGS = 100
SENSORS = [f"sensor_{number}" for number in range(1, 11)]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Ten sensors in a file for each segment; one sensor may be silent, which leaves its column empty."""
    ids = make.rng.choice(2**31, SEGMENTS, replace=False)
    times = make.rng.integers(6_250, 49_046_087, SEGMENTS)
    for id, time in zip(ids, times, strict=True):
        make.csv(job.raw / "train" / f"{id}.csv", _readings(2 + time / 10**7, make))
    make.csv(job.raw / "train.csv", {"segment_id": ids, "time_to_eruption": times})
    make.csv(job.raw / "sample_submission.csv", {"segment_id": [1], "time_to_eruption": [0]})


def _readings(period: float, make: Miniature) -> dict[str, list[float]]:
    """Waves of one period with noise in every sensor, equally strong in all segments."""
    waves = np.sin(2 * np.pi * np.arange(READINGS) / period)
    readings = {name: np.round(300 * waves + make.rng.normal(0, 150, READINGS)).tolist() for name in SENSORS}
    silent = make.rng.choice([*SENSORS, ""])
    return readings | ({silent: [np.nan] * READINGS} if silent else {})
