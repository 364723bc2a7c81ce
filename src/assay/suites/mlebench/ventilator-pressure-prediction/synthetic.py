"""A miniature of the breaths: pressure follows the volume of air that came in, and the resistance of the lung."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

BREATHS = 100
STEPS = 20


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Breaths of 20 steps, of which the first half is inspiration; numbers of breaths have gaps and are not sorted."""
    breaths = make.rng.permutation(make.rng.choice(np.arange(1, 5 * BREATHS), BREATHS, replace=False))
    lung, resistance = make.rng.choice([10, 20, 50], BREATHS), make.rng.choice([5, 20, 50], BREATHS)
    time = np.sort(make.rng.uniform(0, 2.9, (BREATHS, STEPS)), axis=1)
    time[:, 0] = 0
    valve = np.tile((np.arange(STEPS) >= STEPS // 2).astype(int), (BREATHS, 1))
    flow = np.where(
        valve == 0, make.rng.uniform(0, 100, (BREATHS, STEPS)), make.rng.choice([0.0, 5.0], (BREATHS, STEPS))
    )
    flow[:, 0] = 100
    volume = np.cumsum(np.where(valve == 0, flow, -flow), axis=1).clip(0) / STEPS
    pressure = (
        5 + volume / lung[:, None] * 5 + flow / 100 * resistance[:, None] / 10 + make.rng.normal(0, 0.3, flow.shape)
    )
    make.csv(
        job.raw / "train.csv",
        {
            "id": np.arange(1, BREATHS * STEPS + 1),
            "breath_id": breaths.repeat(STEPS),
            "R": resistance.repeat(STEPS),
            "C": lung.repeat(STEPS),
            "time_step": time.ravel(),
            "u_in": flow.ravel(),
            "u_out": valve.ravel(),
            "pressure": pressure.ravel(),
        },
    )
