"""The baselines that are shipped with the suite: measured on real data, or on miniatures and marked so."""

import pytest

from assay.tasks import Registry

TASKS = [Registry().task(f"mlagentbench/{name}") for name in Registry().suites["mlagentbench"][0].tasks]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_has_a_baseline_on_real_data_or_on_its_miniature(task):
    real, miniature = task.measured, task.measured_miniature
    assert real or miniature
    for measured, variant in ((real, "real"), (miniature, "synthetic-0")):
        if measured:
            assert (measured.variant, measured.edition) == (variant, task.edition)
            assert measured.baseline_seeds >= 3 and measured.baseline_spread >= 0
