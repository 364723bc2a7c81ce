"""A miniature of the taxi rides: a few more than the 9,914 of the test set."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

RIDES = 10_300


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write fares that depend on distance and passengers; two rides in a thousand have no destination."""
    start = np.datetime64("2009-01-01", "s") + make.rng.choice(6 * 365 * 86_400, RIDES, replace=False)
    time = np.char.replace(np.datetime_as_string(start), "T", " ")
    pickup = make.rng.normal((-73.98, 40.75), (0.02, 0.02), (RIDES, 2)).round(6)
    dropoff = make.rng.normal((-73.97, 40.75), (0.04, 0.04), (RIDES, 2)).round(6)
    passengers = make.rng.integers(1, 7, RIDES)
    kilometres = np.hypot(*((dropoff - pickup) * (84, 111)).T)
    fare = 2.5 + 2 * kilometres + 0.5 * passengers + make.rng.normal(0, 0.5, RIDES)
    dropoff[make.rng.random(RIDES) < 0.002] = np.nan
    make.csv(
        job.raw / "train.csv",
        {
            "key": [f"{at}.000000{number}" for at, number in zip(time, make.rng.integers(1, 250, RIDES), strict=True)],
            "fare_amount": np.maximum(fare, 2.5).round(1),
            "pickup_datetime": np.char.add(time, " UTC"),
            "pickup_longitude": pickup[:, 0],
            "pickup_latitude": pickup[:, 1],
            "dropoff_longitude": dropoff[:, 0],
            "dropoff_latitude": dropoff[:, 1],
            "passenger_count": passengers,
        },
    )
    (job.raw / "GCP-Coupons-Instructions.rtf").write_bytes(b"{\\rtf1\\ansi How to ask for a coupon.}\n")
