"""Loans in three parts: training, holdout and test."""

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, label, make_table, open_world, write_world

TRAIN, HOLDOUT, TEST = 600, 400, 600


def prepare(job: PrepareJob) -> None:
    """Split one table into three."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + HOLDOUT + TEST, 6)
    table = make_table(0, {"x": inputs, "label": label(rng, inputs, rng.normal(size=6), noise=0.5)})
    write_world(job, {"train.csv": table[:TRAIN], "holdout.csv": table[TRAIN:-TEST]}, table[-TEST:])
