"""A miniature of the synthetic land: all seven cover types are equally common and occur at different elevations."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

DISTANCES = ["Horizontal_Distance_To_Hydrology", "Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways"]
PATCHES = 1000


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write patches whose elevation predicts the type; wilderness areas and soils may overlap or be missing."""
    cover = make.labels(PATCHES, 7) + 1
    wilderness, soil = make.rng.random((PATCHES, 4)) < 0.3, make.rng.random((PATCHES, 40)) < 0.03
    make.csv(
        job.raw / "train.csv",
        {
            "Id": range(PATCHES),
            "Elevation": 1800 + 200 * cover + make.rng.integers(-80, 80, PATCHES),
            "Aspect": make.rng.integers(-30, 400, PATCHES),
            "Slope": make.rng.integers(-3, 60, PATCHES),
            **{name: make.rng.integers(-100, 3000, PATCHES) for name in DISTANCES},
            **{f"Hillshade_{time}": make.rng.integers(0, 290, PATCHES) for time in ("9am", "Noon", "3pm")},
            "Horizontal_Distance_To_Fire_Points": make.rng.integers(-100, 8000, PATCHES),
            **{f"Wilderness_Area{column + 1}": wilderness[:, column].astype(int) for column in range(4)},
            **{f"Soil_Type{column + 1}": soil[:, column].astype(int) for column in range(40)},
            "Cover_Type": cover.astype(np.int64),
        },
    )
