"""Machines whose failures are mostly noise."""

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, TEST = 900, 1000
NOISE = 1.376
"""The best classifier is right on 1 - arctan(1.376) / π = 70% of the rows."""


def prepare(job: PrepareJob) -> None:
    """Draw labels of which three in ten cannot be predicted."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + TEST, 6)
    table = make_table(0, {"x": inputs, "label": label(rng, inputs, rng.normal(size=6), NOISE)})
    write_world(job, {"train.csv": table[:TRAIN]}, table[TRAIN:])
