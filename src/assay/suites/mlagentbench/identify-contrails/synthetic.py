"""A miniature of the satellite records: 32 × 32 pixels, where contrails are lines that are coldest in band 15."""

import json
from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

TRAIN, VALIDATION = 40, 20
SIDE, FRAMES, LABELED = 32, 8, 4
BANDS = range(8, 17)


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write folders of records as in the competition: nine bands each, masks, and a list of places and times."""
    ids = [str(number) for number in 10**18 + make.rng.choice(8 * 10**18, TRAIN + VALIDATION, replace=False)]
    for side, records in (("train", ids[:TRAIN]), ("validation", ids[TRAIN:])):
        for record in records:
            folder = job.raw / side / record
            folder.mkdir(parents=True)
            # Some records have no contrail.
            mask = make.line_mask(SIDE, 8) if make.rng.random() < 0.75 else np.zeros((SIDE, SIDE), bool)
            ground = 280 + make.rng.normal(0, 3, (SIDE, SIDE, 1)) + make.rng.normal(0, 0.2, (SIDE, SIDE, FRAMES))
            for band in BANDS:
                level = ground + make.rng.normal(0, 0.3, ground.shape) - 0.5 * (band == 15)
                level[..., LABELED] -= mask * {11: 1.0, 14: 4.0, 15: 7.0}.get(band, 0.0)
                np.save(folder / f"band_{band:02d}.npy", level.astype(np.float32))
            np.save(folder / "human_pixel_masks.npy", mask.astype(np.int32)[..., None])
            if side == "train":
                people = np.stack([mask] * 4, axis=-1).astype(np.int32)
                np.save(folder / "human_individual_masks.npy", people[:, :, None, :])
        listed = [described(make, record) for record in records]
        (job.raw / f"{side}_metadata.json").write_text(json.dumps(listed))
    # The records of the competition's own test, of which edition `published` keeps the sample submission alone.
    unlabeled = [str(number) for number in 10**17 + make.rng.choice(8 * 10**17, 2, replace=False)]
    make.csv(job.raw / "sample_submission.csv", {"record_id": unlabeled, "encoded_pixels": ["1 3 10 5"] * 2})


def described(make: Miniature, record: str) -> dict[str, Any]:
    row, column = make.rng.uniform(-4e6, 4e6, 2).round(1).tolist()
    time = 1_556_000_000 + float(make.rng.integers(0, 3 * 10**7))
    return {"record_id": record, "row_min": row, "col_min": column, "row_size": 2004.0, "col_size": 2004.0,
            "timestamp": time, "projection_wkt": 'PROJCS["unnamed"]'}  # fmt: skip
