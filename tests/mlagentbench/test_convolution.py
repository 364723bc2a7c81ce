"""The vectorization task: a convolution worked by hand, and a panel that is right on every shape.

`test_research_by_judgement.py` grades vectorized code by its speed.
"""

from pathlib import Path

import numpy as np

from assay.tasks import Registry, load_plugin
from panels import run_panel

TASK = Registry().task("mlagentbench/vectorization")


def test_the_convolution_pads_strides_and_rectifies() -> None:
    """Against a formula worked by hand: a filter of one pixel sees every second pixel of the padded image."""
    reference = load_plugin(TASK.folder / "starter" / "convolve.py").convolve
    image = np.array([[1.0, -2.0, 3.0]]).reshape(1, 1, 3, 1)
    output = reference(image, np.full((1, 1, 1, 1), 2.0), np.array([0.5]))
    assert output.shape == (1, 3, 4, 1)
    assert output[0, 1, :, 0].tolist() == [0.5, 2.5, 6.5, 0.5]
    assert reference(image, np.full((1, 1, 1, 1), -2.0), np.array([0.5]))[0, 1, :, 0].tolist() == [0.5, 0, 0, 0.5]


def test_every_solution_of_the_panel_is_right_on_every_shape(tmp_path: Path) -> None:
    cases = load_plugin(TASK.folder / "cases.py")
    reference = load_plugin(TASK.folder / "starter" / "convolve.py").convolve
    inputs = list(cases.checks(np.random.default_rng(0)))
    expected = [reference(*arguments) for arguments in inputs]
    assert expected[-1].shape == (32, 33, 33, 8)
    for name in run_panel(TASK, tmp_path, "--list").split():
        run_panel(TASK, tmp_path, name)
        solution = load_plugin(tmp_path / "convolve.py").convolve
        outputs = [solution(*arguments) for arguments in inputs]
        assert [output.shape for output in outputs] == [output.shape for output in expected]
        assert [cases.difference(*pair) for pair in zip(outputs, expected, strict=True)] == [None] * len(inputs), name
        (tmp_path / "convolve.py").unlink()
