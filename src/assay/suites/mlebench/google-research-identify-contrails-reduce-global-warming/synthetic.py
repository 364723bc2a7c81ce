"""A miniature of the contrail records: a contrail is a straight line that is cold in bands 14 and 15."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

TRAIN, VALIDATION = 50, 20
SIDE, FRAMES, LABELED = 24, 8, 4


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """A folder of arrays for each record, and lists of where and when records were taken."""
    ids = [str(number) for number in 10**18 + make.rng.choice(8 * 10**18, TRAIN + VALIDATION, replace=False)]
    for side, records in (("train", ids[:TRAIN]), ("validation", ids[TRAIN:])):
        for record in records:
            _write_record(job.raw / side / record, make, people=side == "train")
        listed = [_describe(record, make) for record in records]
        (job.raw / f"{side}_metadata.json").write_text(json.dumps(listed, indent=1))


def _write_record(folder: Path, make: Miniature, *, people: bool) -> None:
    """Nine bands of eight frames, of which one has a mask; a quarter of the records have no contrail."""
    folder.mkdir(parents=True)
    mask = make.line_mask(SIDE, 6) if make.rng.random() < 0.75 else np.zeros((SIDE, SIDE), bool)
    ground = 280 + make.rng.normal(0, 3, (SIDE, SIDE, 1)) + make.rng.normal(0, 0.2, (SIDE, SIDE, FRAMES))
    for band in range(8, 17):
        level = ground + make.rng.normal(0, 0.3, ground.shape)
        level[..., LABELED] -= mask * {11: 1.0, 14: 4.0, 15: 7.0}.get(band, 0.0)
        np.save(folder / f"band_{band:02d}.npy", level.astype(np.float32))
    np.save(folder / "human_pixel_masks.npy", mask.astype(np.int32)[..., None])
    if people:
        np.save(folder / "human_individual_masks.npy", np.stack([mask] * 4, -1).astype(np.int32)[:, :, None])


def _describe(record: str, make: Miniature) -> dict[str, Any]:
    row, column = make.rng.uniform(-4e6, 4e6, 2).tolist()
    time = 1_556_000_000 + float(make.rng.integers(0, 3 * 10**7))
    return {"record_id": record, "row_min": row, "col_min": column, "timestamp": time, "projection_wkt": "GEOS → é"}
