"""Which tasks are prepared at the same time, and how progress is displayed."""

from assay.core.progress import ByteCount, ProgressBars
from assay.data.side_by_side import Preparation, _choose
from assay.data.store import PrepareOptions
from assay.tasks import Registry


def preparation(memory: int | None, variant: str = "real") -> Preparation:
    task = Registry().task("mlebench/leaf-classification")
    needs = task.preparation.model_copy(update={"memory": memory})
    return Preparation(task.model_copy(update={"preparation": needs}), None, variant, PrepareOptions())


def test_a_task_starts_only_if_its_memory_is_free_and_a_large_one_runs_alone():
    large, medium, small = preparation(9 * 10**9), preparation(3 * 10**9), preparation(10**9)
    assert _choose([large, medium, small], [], 4 * 10**9) is large  # nothing runs, so it gets all there is
    assert _choose([medium, small], [large], 4 * 10**9) is None
    assert _choose([large, medium, small], [medium], 4 * 10**9) is small  # the first that fits
    assert _choose([medium], [medium], 6 * 10**9) is medium
    assert preparation(None).memory == 10**9 and preparation(9 * 10**9, "synthetic-0").memory == 5 * 10**8


def test_long_stages_print_lines_where_there_is_no_terminal(capsys):
    with ProgressBars(line_seconds=0).stage("Reading train.csv", ByteCount(4_000_000_000)) as advance:
        advance(1_000_000_000)
        advance(3_000_000_000)
    with ProgressBars(line_seconds=0).stage("Packing", 8) as advance:
        advance(2)
    with ProgressBars(line_seconds=1000).stage("Copying", 8) as advance:
        advance(2)
    assert capsys.readouterr().err.splitlines() == [
        "Reading train.csv …",
        "Reading train.csv: 25%, 1GB of 4GB",
        "Reading train.csv: 100%, 4GB of 4GB",
        "Packing …",
        "Packing: 25%",
        "Copying …",
    ]
