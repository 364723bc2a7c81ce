"""A miniature of the smartphone drives: a simple position fix is off by some meters, the same way for a while."""

import json
from pathlib import Path

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

DATES = ["2020-5-15", "2020-06-04", "2020-06-05", "2020-07-08", "2020-07-17", "2020-08-03", "2020-08-06", "2020-08-11",
         "2020-11-23", "2021-01-04", "2021-03-16", "2021-12-7"]  # fmt: skip
DRIVES = ["US-MTV-1", "US-MTV-1-X"]
PHONES = ["GooglePixel4", "XiaomiMi8"]
SECONDS = 12


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Two drives on each date with two phones each; a log in NMEA format holds the true track."""
    for number, date in enumerate(DATES):
        for drive in DRIVES:
            for phone in PHONES:
                _write_phone(job.raw / "train" / f"{date}-{drive}" / phone, 1_589_494_404_445 + 10**9 * number, make)
    folder = job.raw / "metadata"
    folder.mkdir()
    (folder / "raw_state_bit_map.json").write_text(json.dumps({"0": "STATE_CODE_LOCK"}))
    make.csv(job.raw / "sample_submission.csv", {"tripId": ["x"], "UnixTimeMillis": [1], "LatitudeDegrees": [1.0]})


def _write_phone(folder: Path, start: int, make: Miniature) -> None:
    times = start + 1000 * np.arange(SECONDS)
    begin, speed = make.rng.uniform([37.2, -122.4], [37.6, -121.9]), make.rng.normal(0, 1e-4, 2)
    true = begin + np.outer(np.arange(SECONDS), speed)
    measured = true + make.rng.normal(0, 3e-5, 2) + make.rng.normal(0, 1e-5, true.shape)
    make.csv(
        folder / "ground_truth.csv",
        {
            "MessageType": ["Fix"] * SECONDS,
            "LatitudeDegrees": true[:, 0],
            "LongitudeDegrees": true[:, 1],
            "SpeedMps": make.rng.uniform(0, 20, SECONDS).round(2),
            "UnixTimeMillis": times,
        },
    )
    make.csv(
        folder / "device_gnss.csv",
        {
            "utcTimeMillis": times,
            "WlsLatitudeDegrees": measured[:, 0].round(7),
            "WlsLongitudeDegrees": measured[:, 1].round(7),
        },
    )
    lines = [
        f"$GPGGA,{time},{latitude:.7f},{longitude:.7f}\n"
        for time, (latitude, longitude) in zip(times, true, strict=True)
    ]
    (folder / "supplemental").mkdir()
    (folder / "supplemental/span_log.nmea").write_text("".join(lines))
