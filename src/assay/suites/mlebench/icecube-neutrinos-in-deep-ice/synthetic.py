"""A miniature of the IceCube events: particles fly straight, and the sensors near their tracks see them."""

import numpy as np
import pandas as pd

from assay.data import pandas_tables
from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

BATCHES = [3, 1, 2, 12, 4, 5, 6, 7, 11, 8, 9, 10]
EVENTS = 40  # in a batch
SPEED = 0.2998  # of light, in meters per nanosecond


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """A track crosses near the center; the times of pulses along it give the direction."""
    x, y, z = np.meshgrid(np.linspace(-500, 500, 4), np.linspace(-500, 500, 4), np.linspace(-480, 480, 9))
    sensors = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    make.csv(
        job.raw / "sensor_geometry.csv",
        {"sensor_id": range(len(sensors))} | {name: sensors[:, axis].round(2) for axis, name in enumerate("xyz")},
    )
    numbers = np.sort(make.rng.choice(10**6, len(BATCHES) * EVENTS, replace=False)).reshape(len(BATCHES), EVENTS)
    tables = []
    for batch, events in zip(BATCHES, numbers, strict=True):
        azimuth, zenith = make.rng.uniform(0, 2 * np.pi, EVENTS), np.arccos(make.rng.uniform(-1, 1, EVENTS))
        pulses = [
            _pulses(make, sensors, np.array([np.cos(a) * np.sin(b), np.sin(a) * np.sin(b), np.cos(b)]))
            for a, b in zip(azimuth, zenith, strict=True)
        ]
        ends = np.cumsum([len(table) for table in pulses])
        starts = np.concatenate([[0], ends[:-1]])
        columns = {"batch_id": batch, "event_id": events, "first_pulse_index": starts, "last_pulse_index": ends - 1}
        tables.append(pd.DataFrame(columns | {"azimuth": azimuth, "zenith": zenith}))
        content = pd.concat(pulses).set_index(pd.Index(np.repeat(events, ends - starts), name="event_id"))
        pandas_tables.write_parquet(content, job.raw / f"train/batch_{batch}.parquet", index=True)
    pandas_tables.write_parquet(pd.concat(tables, ignore_index=True), job.raw / "train_meta.parquet")


def _pulses(make: Miniature, sensors: np.ndarray, origin: np.ndarray) -> pd.DataFrame:
    """Return the pulses of a particle that comes from a direction: those near its track, and noise."""
    positions = sensors - make.rng.normal(0, 60, 3)
    along = positions @ -origin
    distance = np.linalg.norm(positions + np.outer(along, origin), axis=1)
    near = np.argsort(distance)[:10]
    noise = make.rng.integers(0, len(sensors), 4)
    time = np.concatenate([along[near] / SPEED, make.rng.uniform(-3000, 3000, 4)]) + 9800
    table = pd.DataFrame(
        {
            "sensor_id": np.concatenate([near, noise]).astype(np.int16),
            "time": time.astype(np.int64),
            "charge": make.rng.gamma(2, 0.6, 14).round(3).astype(np.float32),
            "auxiliary": np.arange(14) >= 10,
        }
    )
    return table.sort_values("time", ignore_index=True)
