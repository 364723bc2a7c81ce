"""Fields, with a file of test labels of which many are wrong."""

import numpy as np

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, TEST, WRONG = 600, 700, 280


def prepare(job: PrepareJob) -> None:
    """Turn a part of the labels in the left-over file around."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + TEST, 6)
    labels = label(rng, inputs, rng.normal(size=6), noise=0.5)
    table = make_table(0, {"x": inputs, "label": labels})
    wrong = np.isin(np.arange(TEST), rng.permutation(TEST)[:WRONG])
    decoy = make_table(TRAIN, {"label": np.where(wrong, 1 - labels[TRAIN:], labels[TRAIN:])})
    write_world(job, {"train.csv": table[:TRAIN], "archive/labels_final.csv": decoy}, table[TRAIN:], planted=wrong)
