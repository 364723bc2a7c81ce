"""Few persons with many markers, of which three matter a little."""

import numpy as np

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, TEST, MARKERS = 100, 600, 1000


def prepare(job: PrepareJob) -> None:
    """Draw labels that depend on three of the markers, and mostly on noise."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + TEST, MARKERS).round(2)
    weights = np.zeros(MARKERS)
    weights[rng.permutation(MARKERS)[:3]] = 1.0
    table = make_table(0, {"x": inputs, "label": label(rng, inputs, weights, noise=1.8)})
    write_world(job, {"train.csv": table[:TRAIN]}, table[TRAIN:])
