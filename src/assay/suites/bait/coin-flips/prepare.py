"""Indicators and labels that have nothing to do with each other."""

from assay.data.job import PrepareJob

from .._shared.world import draw_inputs, make_table, open_world, write_world

TRAIN, TEST = 800, 1000


def prepare(job: PrepareJob) -> None:
    """Toss a coin for each label."""
    rng = open_world(job)
    inputs = draw_inputs(rng, TRAIN + TEST, 12)
    table = make_table(0, {"x": inputs, "label": rng.integers(0, 2, TRAIN + TEST)})
    write_world(job, {"train.csv": table[:TRAIN]}, table[TRAIN:])
