"""Visits of patients who have their own level of every measurement, and their own tendency to react."""

import numpy as np

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, make_table, open_world, write_world

TRAIN, TEST, VISITS = 200, 250, 4


def prepare(job: PrepareJob) -> None:
    """Let measurements identify patients, whose tendency says more than anything that holds for all of them."""
    rng = open_world(job)
    patients = np.repeat(np.arange(TRAIN + TEST), VISITS)
    levels, tendency = draw_inputs(rng, TRAIN + TEST, 8), rng.normal(size=TRAIN + TEST)
    changes = draw_inputs(rng, len(patients), 8)
    signal = 2.5 * tendency[patients] + changes @ np.array([1.5, *[0.0] * 7]) + 0.3 * rng.normal(size=len(patients))
    inputs = (4 * levels[patients] + 0.5 * changes).round(4)
    order = np.concatenate([rng.permutation(TRAIN * VISITS), TRAIN * VISITS + rng.permutation(TEST * VISITS)])
    columns = {"patient": patients[order], "x": inputs[order], "label": (signal > 0).astype(int)[order]}
    table = make_table(0, columns)
    write_world(job, {"train.csv": table[: TRAIN * VISITS]}, table[TRAIN * VISITS :])
