"""What must hold of a hidden part that is split off the data of any task."""

from assay.audit.task_check import perfect_submission
from assay.core.home import Home
from assay.data import Prepared
from assay.data.selection import find_obstacle, prepare_selection
from assay.grading import validate_submission
from assay.grading.grade import judge_table


def check_hidden_part(prepared: Prepared, home: Home) -> None:
    """Check that hidden rows are graded like test rows, unless `assay tasks --selection` says why there are none."""
    if find_obstacle(prepared.task):
        return
    split = prepare_selection(home, prepared)
    perfect, lab = perfect_submission(split.part("lab")), split.part("lab")
    sample = prepared.task.data.public_sample
    if sample and sample.endswith(".csv"):  # of some competitions it is in an archive
        validate_submission(split.public / sample, lab)
    if isinstance(perfect, str):
        return  # it says why answers are no submission
    validate_submission(perfect, lab)
    before = perfect_submission(prepared)
    assert isinstance(before, bytes)
    assert judge_table(split.rows(perfect, "test"), prepared).score == judge_table(before, prepared).score
    hidden = split.rows(perfect, "hidden")
    assert hidden.count(b"\n") > 1 and judge_table(hidden, split.part("hidden")).score is not None
