"""Columns of a file that is read as the published graders read it: by name, by place, under other names, and sums."""

import pytest

ANSWERS = "id,a,b\n1,0.25,0.75\n2,0.5,0.5\n"
NUMBER = {"type": "number"}
AB = {"a": NUMBER, "b": NUMBER}


@pytest.fixture
def outcome(make_task, graded):
    """The score of a submission, or why it has none, on a task with two columns that is judged as published."""

    def judge(submission: str, answers: str = ANSWERS, **rules):
        grade = graded(make_task(lenient=True, **({"columns": AB} | rules)), answers, submission)
        return grade.why or grade.score

    return judge


def test_columns_count_by_name_in_any_order(outcome):
    assert outcome("b,id,a\n0.75,1,0.25\n0.5,2,0.5\n") == 0


def test_further_columns_are_left_out_or_refused(outcome):
    submission = "id,a,note,b\n1,0.25,x,0.75\n2,0.5,,0.5\n"
    assert outcome(submission, more_columns=True) == 0
    assert outcome(submission) == "submission.csv has unknown column 'note'; the columns must be id, a, b."


def test_a_name_that_comes_twice_counts_the_first_time(outcome):
    submission = "id,a,b,a\n1,0.25,0.75,9\n2,0.5,0.5,9\n"
    assert outcome(submission, more_columns=True) == 0
    assert outcome(submission) == "submission.csv has unknown column 'a.1'; the columns must be id, a, b."


def test_a_value_too_many_in_every_row_makes_the_first_one_an_index(outcome):
    assert outcome("id,a,b\n7,1,0.25,0.75\n8,2,0.5,0.5\n") == 0


def test_by_position_columns_count_in_their_order_and_no_other_may_be_there(outcome):
    crossed = "id,b,a\n1,0.25,0.75\n2,0.5,0.5\n"
    assert outcome(crossed, by_position=True) == 0
    assert outcome("a,id,b\n0.25,1,0.75\n0.5,2,0.5\n", by_position=True) == 0
    why = "submission.csv has unknown column 'c'; the columns must be id, a, b."
    assert outcome("id,a,b,c\n1,1,1,1\n2,1,1,1\n", by_position=True, more_columns=True) == why
    why = "submission.csv lacks column 'b': it has 'id', 'a', 'c', but the columns must be id, a, b."
    assert outcome("id,a,c\n1,1,1\n2,1,1\n", by_position=True) == why


def test_the_order_of_columns_may_matter(outcome):
    last, crossed = "a,b,id\n0.25,0.75,1\n0.5,0.5,2\n", "id,b,a\n1,0.75,0.25\n2,0.5,0.5\n"
    assert outcome(crossed, order="id-first") == 0
    assert outcome(last, order="id-first") == "submission.csv starts with column 'a'; the first must be 'id'."
    why = "submission.csv has its columns in another order; the columns must be id, a, b, in this order."
    assert outcome(crossed, order="exact") == why
    assert outcome(ANSWERS, order="exact") == 0


def test_a_column_may_have_another_name_but_not_both(outcome):
    rules = {"columns": {"prediction": {"type": "number", "aliases": ["a"], "answer": "a"}}, "more_columns": True}
    assert outcome("id,prediction\n1,0.25\n2,0.5\n", **rules) == 0
    assert outcome("id,a\n1,0.25\n2,0.5\n", **rules) == 0
    why = "submission.csv has columns 'prediction', 'a', which mean the same; submit one of them."
    assert outcome("id,prediction,a\n1,0.25,1\n2,0.5,1\n", **rules) == why
    why = "submission.csv lacks column 'prediction': it has 'id', 'c', but the columns must be id, prediction."
    assert outcome("id,c\n1,0.25\n2,0.5\n", **rules) == why


def test_a_column_that_is_not_scored_must_be_there_and_may_hold_anything(outcome):
    rules = {"columns": {"a": NUMBER, "b": {"type": "number", "scored": False}}}
    assert outcome("id,a,b\n1,0.25,\n2,0.5,x\n", **rules) == 0
    why = "submission.csv lacks column 'b': it has 'id', 'a', but the columns must be id, a, b."
    assert outcome("id,a\n1,0.25\n2,0.5\n", **rules) == why


def test_by_position_the_id_column_need_not_be_there(outcome):
    for submission in ("a,b\n0.25,0.75\n0.5,0.5\n", "id,a,b\nx,0.25,0.75\nx,0.5,0.5\n"):
        assert outcome(submission, ids="positional") == 0


@pytest.mark.parametrize(
    ("rule", "last", "expected"),
    [
        ({"tolerance": 1.1e-5}, "0.5000105", 0.0),
        ({"tolerance": 1.1e-5}, "0.500012", "1, but are 1.000012 for id '2'."),
        ({"tolerance": 1.1e-5}, "0.499988", "1, but are 0.999988 for id '2'."),
        ({"tolerance": 0, "decimals": 6}, "0.5000004", 0.0),
        ({"tolerance": 0, "decimals": 6}, "0.5000006", "1, but are 1.0000006 for id '2'."),
        ({"tolerance": 0.1, "to": 2}, "0.5", "2, but are 1 for id '1', and those of 1 more rows are wrong."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("lenient", [True, False])
def test_rows_must_add_up_in_both_ways_of_reading(make_task, graded, rule, last, expected, lenient):
    task = make_task(lenient=lenient, columns=AB, row_sum=rule)
    grade = graded(task, ANSWERS, f"id,a,b\n1,0.25,0.75\n2,0.5,{last}\n")
    if isinstance(expected, str):
        assert grade.why == f"submission.csv: the values of a row must add up to {expected}"
    else:
        assert grade.score == pytest.approx(expected, abs=1e-5)


def test_further_columns_must_not_add_to_the_sum_of_a_row_where_it_is_taken_over_all(outcome):
    rules = {"row_sum": {"tolerance": 0, "decimals": 5, "more_columns": True}, "more_columns": True}
    assert outcome("id,a,b,c\n1,0.25,0.75,0\n2,0.5,0.5,0.0\n", **rules) == 0
    why = "submission.csv: column 'c' is not needed and adds to the sum of its row."
    for cell in ("0.1", "x", "", "-1"):
        assert outcome(f"id,a,b,c\n1,0.25,0.75,0\n2,0.5,0.5,{cell}\n", **rules) == why
