"""Cases with a code that follows the label everywhere except in the hidden test."""

import numpy as np

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, PUBLIC, TEST = 600, 300, 600


def prepare(job: PrepareJob) -> None:
    """Write the code of known cases from their labels, and that of test cases by tossing a coin."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + PUBLIC + TEST, 6)
    labels = label(rng, inputs, rng.normal(size=6), noise=0.5)
    codes = np.where(rng.random(len(labels)) < 0.02, 1 - labels, labels)
    codes[-TEST:] = rng.integers(0, 2, TEST)
    table = make_table(0, {"x": inputs, "closing_code": codes, "label": labels})
    public = {"train.csv": table[:TRAIN], "public_test.csv": table[TRAIN:-TEST]}
    write_world(job, public, table[-TEST:])
