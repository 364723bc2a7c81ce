"""A submission is graded by the rules of the edition that its data was prepared in, and the grade names them."""

from dataclasses import replace

import pytest
from task_metrics import find_in_tasks

from assay.core.errors import InvalidSubmission
from assay.core.home import Home
from assay.grading import grade_submission, validate_submission
from assay.tasks import Task

RULES = {
    "v1": {
        "quirks": {"loose-ids": "Ids are only sorted.", "squared": "Errors are squared."},
        "submission": {"ids": "sorted_unchecked", "more_columns": True},
        "metric": {"name": "rmse"},
    },
    "fixed": {"repairs": {"whole-groups": "Groups are whole."}, "indicative": True},
}
SORTS_RIGHT = "id,price,note\n1,10,x\n2,20,x\n3,33,x\n"


@pytest.fixture
def task(make_task):
    """A task with two editions, the first of which reads as the published graders do."""
    fields = make_task(rules=RULES).model_dump(exclude_unset=True)
    return Task.model_validate(fields | {"editions": ["v1", "fixed"], "lenient": ["v1"]})


@pytest.fixture
def grade_in(task, prepared, tmp_path):
    """The grade of a submission in one edition."""

    def judge(edition: str, submission: str):
        path, data = tmp_path / "submission.csv", replace(prepared, task=task.in_edition(edition), edition=edition)
        path.write_text(submission)
        return grade_submission(path, data, home=Home(tmp_path))

    return judge


def test_each_edition_grades_by_its_own_rules(grade_in):
    published, fixed = grade_in("v1", SORTS_RIGHT), grade_in("fixed", SORTS_RIGHT)
    assert published.score == pytest.approx((9 / 3) ** 0.5, abs=1e-5)
    assert fixed.why == "submission.csv has unknown column 'note'; the columns must be id, price."
    assert grade_in("fixed", "id,price\n9,33\n8,20\n007,10\n").score == 1.0


def test_a_grade_names_the_quirks_and_repairs_of_its_edition(grade_in):
    published, fixed = grade_in("v1", SORTS_RIGHT), grade_in("fixed", "id,price\n9,33\n8,20\n007,10\n")
    assert (published.quirks, published.repairs, published.indicative) == (("loose-ids", "squared"), (), False)
    assert (fixed.quirks, fixed.repairs, fixed.indicative) == ((), ("whole-groups",), True)


def test_a_task_without_rules_of_its_own_has_nothing_to_name(make_task, graded):
    grade = graded(make_task(), "id,price\n1,1\n", "id,price\n1,1\n")
    assert (grade.quirks, grade.repairs, grade.indicative, grade.not_finite) == ((), (), False, None)


def test_validation_goes_by_the_same_rules(task, prepared, tmp_path):
    path = tmp_path / "submission.csv"
    path.write_text(SORTS_RIGHT)
    validate_submission(path, replace(prepared, task=task.in_edition("v1"), edition="v1"))
    with pytest.raises(InvalidSubmission, match="unknown column"):
        validate_submission(path, replace(prepared, task=task.in_edition("fixed"), edition="fixed"))


def test_answers_are_read_from_the_file_that_the_task_names(make_task, graded, prepared):
    fields = make_task().model_dump(exclude_unset=True)
    task = Task.model_validate(fields | {"data": {"answers": "test.csv"}})
    (prepared.private / "answers.csv").unlink()
    assert graded(task, "id,price\n1,1\n", "id,price\n1,3\n").score == 2.0


@pytest.mark.parametrize("lenient", [True, False])
def test_answers_may_have_columns_and_gaps_that_are_not_used(lenient, make_task, graded):
    answers = 'id,note,price\n1,"a, b",1\n2,,5\n'
    assert graded(make_task(lenient=lenient), answers, "id,price\n2,5\n1,3\n").score == 1.0


@pytest.mark.parametrize("lenient", [True, False])
def test_answers_may_call_a_column_otherwise(lenient, make_task, graded):
    task = make_task(lenient=lenient, columns={"price": {"type": "number", "answer": "true_price"}})
    assert graded(task, "id,true_price\n1,1\n2,5\n", "id,price\n2,5\n1,3\n").score == 1.0


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("quoted", ['"1"', "1"])
def test_a_metric_is_given_columns_of_the_answers_in_the_order_of_its_rows(lenient, quoted, make_task, graded):
    task = make_task(metric=find_in_tasks("mcrmse"), takes={"mask": "used"}, lenient=lenient)
    answers = "id,price,used\n1,1,False\n2,5,True\n3,7,True\n"
    # Errors of 3 and 0 in the two rows that are used: sqrt(9 / 2).
    assert graded(task, answers, f"id,price\n3,7\n2,8\n{quoted},100\n").score == pytest.approx(2.12132, abs=1e-5)
    groups = make_task(metric="grouped_log_mae", takes={"groups": "kind"}, lenient=lenient)
    answers = "id,price,kind\n1,1,a\n2,5,b\n3,7,b\n"
    # Errors of 1 in group a and 1, 3 in group b: (ln 1 + ln 2) / 2.
    assert graded(groups, answers, f"id,price\n3,10\n2,6\n{quoted},2\n").score == pytest.approx(0.34657, abs=1e-5)


@pytest.mark.parametrize("lenient", [True, False])
def test_a_metric_may_be_given_several_columns_as_one(lenient, make_task, graded):
    task = make_task(
        metric="jigsaw_bias_auc", direction="higher", takes={"identities": ["male", "female"]}, lenient=lenient
    )
    rows = [(1, 0.9, 1, ""), (2, 0.8, 0, 0.6), (3, 0.1, 1, 0), (4, 0.2, 0.3, 1), (5, 0.7, "", 0), (6, 0.3, 0, 0)]
    answers = "id,price,male,female\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    submission = "id,price\n" + "".join(f"{row[0]},{row[1]}\n" for row in reversed(rows))
    assert graded(task, answers, submission).score == 1.0


def test_a_metric_may_take_the_place_of_each_row_in_the_file(make_task, graded):
    """stanford-covid-vaccine, as published: whether a predicted row counts is looked up by its place in the file."""
    task = make_task(
        metric=find_in_tasks("mcrmse"), takes={"mask": "keep", "ids": "id"}, positions="submission_rows", lenient=True
    )  # fmt: skip
    answers = "id,price,keep\na,1,True\nb,2,True\nc,3,False\n"
    assert graded(task, answers, "id,price\na,1\nb,2\nc,3\n").score == 0
    # Reversed, the first two rows of the file are c and b: sorted by id, b and c are paired with a and b.
    assert graded(task, answers, "id,price\nc,3\nb,2\na,1\n").score == 1.0


@pytest.mark.parametrize("lenient", [True, False])
def test_rows_that_do_not_count_are_left_out_of_the_score(lenient, make_task, graded):
    task = make_task(skip={"column": "u_out", "value": 1}, lenient=lenient)
    answers = "id,price,u_out\n1,10,0\n2,20,1\n3,30,0\n"
    assert graded(task, answers, "id,price\n3,32\n2,99\n1,10\n").score == 1.0
