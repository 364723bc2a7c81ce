"""Hours whose readings tell the state of that hour, and more clearly that of the hour before."""

import numpy as np

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, TEST = 900, 700


def prepare(job: PrepareJob) -> None:
    """Draw four readings that cause the state, and four that follow from the one before."""
    rng = open_world(job)
    causes = draw_inputs(rng, TRAIN + TEST, 4)
    states = label(rng, causes, rng.normal(size=4), noise=0.5)
    before = np.roll(states, 1)
    echoes = (2 * before[:, None] - 1 + draw_inputs(rng, TRAIN + TEST, 4)).round(4)
    table = make_table(0, {"x": np.column_stack([causes, echoes]), "label": states})
    known = table[:TRAIN]
    write_world(job, {"readings.csv": known.drop("label"), "labels.csv": known.select("row", "label")}, table[TRAIN:])
