"""Few samples with many columns, of which five matter."""

import numpy as np

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, TEST, GENES, RELEVANT = 100, 800, 300, 5


def prepare(job: PrepareJob) -> None:
    """Draw labels that depend on five of the columns."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + TEST, GENES).round(2)
    weights = np.zeros(GENES)
    weights[rng.permutation(GENES)[:RELEVANT]] = rng.choice([-1.0, 1.0], RELEVANT)
    table = make_table(0, {"x": inputs, "label": label(rng, inputs, weights, noise=0.3)})
    write_world(job, {"train.csv": table[:TRAIN]}, table[TRAIN:])
