"""Baselines of tasks without reference solutions: measured by `assay new panel`, kept at home, used by grades."""

import json
import shutil
from pathlib import Path

import pytest

from assay.audit import keep_measurements, measure_panel, save_measurements
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import prepare
from assay.grading import grade_submission
from assay.tasks import Registry, Task

TINY = Path(__file__).parent.parent / "tiny"
RIGHT = "coin,side\n" + "".join(f"{coin},{int(coin % 3 == 0)}\n" for coin in range(30, 60))


@pytest.fixture
def coin(tmp_path: Path) -> Task:
    """A copy of the coin task, which has a starter and no panel."""
    shutil.copytree(TINY, tmp_path / "tiny")
    return Registry([tmp_path / "tiny"]).task("tiny/coin")


def test_the_starter_of_a_task_without_a_panel_is_measured_and_grades_use_it(coin: Task, home: Home) -> None:
    prepared = prepare(home, coin, progress=NoProgress())
    assert grade_submission(RIGHT.encode(), prepared, home=home).improvement is None
    measured = measure_panel(home, coin, seeds=2, progress=NoProgress())
    assert (measured.panel, measured.baseline_seeds, measured.variant) == ((), 2, "real")
    path = keep_measurements(home, coin, measured)
    assert path.is_relative_to(home.data) and not (coin.folder / "measured.json").exists()
    grade = grade_submission(RIGHT.encode(), prepared, home=home)
    assert grade.baseline == measured.baseline and grade.score == 1.0
    assert grade.improvement == pytest.approx((1 - measured.baseline) / measured.baseline) and grade.success is True

    other = measured.model_copy(update={"variant": "synthetic-0"})
    path.write_text(other.model_dump_json())
    assert grade_submission(RIGHT.encode(), prepared, home=home).baseline is None
    path.write_text("{}")
    with pytest.raises(UsageError, match="assay new panel tiny/coin"):
        grade_submission(RIGHT.encode(), prepared, home=home)


def test_figures_of_real_data_and_of_the_first_miniature_can_be_part_of_a_task(coin: Task, home: Home) -> None:
    prepare(home, coin, progress=NoProgress())
    measured = measure_panel(home, coin, seeds=1, progress=NoProgress())
    assert save_measurements(coin, measured).name == "measured.json"
    miniature = measured.model_copy(update={"variant": "synthetic-0", "baseline": 0.25})
    path = save_measurements(coin, miniature)
    assert json.loads(path.read_text())["variant"] == "synthetic-0"
    again = Registry([coin.folder.parent]).task("tiny/coin")
    assert again.measured == measured and again.measured_miniature == miniature
    with pytest.raises(UsageError, match="--write is for real data and synthetic-0"):
        save_measurements(coin, measured.model_copy(update={"variant": "unverified"}))


def test_a_task_without_a_starter_cannot_be_measured(coin: Task, home: Home) -> None:
    shutil.rmtree(coin.folder / "starter")
    prepare(home, coin, progress=NoProgress())
    with pytest.raises(AssayError, match="has no starter code to measure"):
        measure_panel(home, coin, seeds=1, progress=NoProgress())
