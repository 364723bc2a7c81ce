"""Devices, of which some test rows are in the training table with the opposite label."""

import numpy as np

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, TEST, COPIES = 600, 800, 300


def prepare(job: PrepareJob) -> None:
    """Copy some test rows into the training table and turn their labels around."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + TEST, 6)
    labels = label(rng, inputs, rng.normal(size=6), noise=0.5)
    copies = TRAIN + rng.permutation(TEST)[:COPIES]
    rows = np.concatenate([np.arange(TRAIN), copies])
    known = np.concatenate([labels[:TRAIN], 1 - labels[copies]])
    order = rng.permutation(len(rows))
    train = make_table(0, {"x": inputs[rows][order], "label": known[order]})
    test = make_table(len(rows), {"x": inputs[TRAIN:], "label": labels[TRAIN:]})
    write_world(job, {"train.csv": train}, test, planted=np.isin(np.arange(TRAIN, TRAIN + TEST), copies))
