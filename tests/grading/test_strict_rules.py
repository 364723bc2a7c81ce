"""Strict editions enforce every rule of a task, and name the first that is broken."""

import pytest

ANSWERS = "id,price\na,10\nb,20\nc,30\n"


@pytest.fixture
def outcome(make_task, graded):
    """The score of a submission, or why it has none, on a task that is judged strictly."""

    def judge(submission: str, answers: str = ANSWERS, **rules):
        grade = graded(make_task(**rules), answers, submission)
        assert grade.valid_submission == (grade.why is None)
        return grade.why or grade.score

    return judge


@pytest.mark.parametrize("policy", ["one_to_one", "join", "ids_equal_sorted", "ids_subset_sorted", "sorted_unchecked"])
def test_each_id_is_asked_for_once_whatever_published_graders_let_pass(outcome, policy):
    assert outcome("id,price\nc,30\na,10\nb,20\n", ids=policy) == 0
    assert outcome("id,price\nc,30\na,10\na,10\nb,20\n", ids=policy) == "submission.csv has id 'a' more than once."
    assert outcome("id,price\nc,30\na,10\n", ids=policy) == "submission.csv lacks id 'b': it has 2 of 3 rows."
    assert outcome("id,price\nc,30\na,10\nz,1\n", ids=policy) == "submission.csv has unknown id 'z'."


def test_a_superset_may_have_further_ids_and_must_have_all(outcome):
    assert outcome("id,price\nz,1\nc,30\na,10\nb,23\n", ids="superset") == 1.0
    assert outcome("id,price\nz,1\nc,30\na,10\n", ids="superset") == "submission.csv lacks id 'b': it has 3 of 3 rows."
    assert outcome("id,price\nz,1\nz,1\nc,30\na,10\nb,2\n", ids="superset").endswith("has id 'z' more than once.")


def test_a_subset_is_scored_by_the_rows_it_has(outcome):
    assert outcome("id,price\nc,32\na,10\n", ids="subset") == 1.0
    assert outcome("id,price\nc,32\nz,10\n", ids="subset") == "submission.csv has unknown id 'z'."
    why = "submission.csv: column 'price' must hold a number, but is 'x' for id 'c'."
    assert outcome("id,price\nc,x\na,10\n", ids="subset") == why


def test_by_occurrence_the_nth_row_of_an_id_belongs_to_its_nth_answer(outcome):
    answers = "id,price\na,10\na,20\nb,30\n"
    assert outcome("id,price\nb,30\na,11\na,22\n", answers, ids="nth_occurrence") == 1.0
    why = "submission.csv has id 'a' once; it is needed 2 times."
    assert outcome("id,price\nb,30\na,11\n", answers, ids="nth_occurrence") == why
    why = "submission.csv has id 'a' 3 times; it is needed 2 times."
    assert outcome("id,price\nb,30\na,11\na,1\na,1\n", answers, ids="nth_occurrence") == why
    assert outcome("id,price\na,30\na,11\nz,1\n", answers, ids="nth_occurrence") == "submission.csv has unknown id 'z'."
    assert (
        outcome("id,price\na,30\na,11\n", answers, ids="nth_occurrence")
        == "submission.csv lacks id 'b': it has 2 of 3 rows."
    )


@pytest.mark.parametrize("policy", ["positional", "positional_prefix"])
def test_by_position_rows_count_in_the_order_of_the_file(outcome, policy):
    assert outcome("id,price\nx,10\nx,20\nx,33\n", ids=policy) == 1.0
    assert outcome("id,price\nx,10\nx,20\n", ids=policy) == "submission.csv has 2 rows; 3 are needed."


def test_columns_that_name_a_row_together_are_compared_together(outcome):
    answers = "id,time,price\nt1,5,10\nt1,6,20\nt2,5,30\n"
    rules = {"id_with": ["time"]}
    assert outcome("time,id,price\n5,t2,30\n6,t1,23\n5,t1,10\n", answers, **rules) == 1.0
    why = "submission.csv has unknown id, time 't2, 6'."
    assert outcome("time,id,price\n6,t2,30\n6,t1,23\n5,t1,10\n", answers, **rules) == why
    why = "submission.csv has no id, time in row 1."
    assert outcome("time,id,price\n,t2,30\n6,t1,23\n5,t1,10\n", answers, **rules) == why


def test_columns_may_have_to_stand_in_an_order(outcome):
    assert outcome("id,price\na,10\nb,20\nc,30\n", order="exact") == 0
    crossed = "price,id\n10,a\n20,b\n30,c\n"
    why = "submission.csv has its columns in another order; the columns must be id, price, in this order."
    assert outcome(crossed, order="exact") == why
    assert outcome(crossed, order="id-first") == "submission.csv starts with column 'price'; the first must be 'id'."


def test_further_columns_are_refused_unless_the_rules_let_them_pass(outcome):
    submission = "id,x,price\na,1,10\nb,,20\nc,1,30\n"
    assert outcome(submission).startswith("submission.csv has unknown column 'x'")
    assert outcome(submission, more_columns=True) == 0
    why = "submission.csv is not a CSV table: a row has more values than the header has columns."
    assert outcome(submission + "d,1,2,3\n", more_columns=True) == why
    assert outcome("id,price\na,10\nb,20\nc,30,", more_columns=True) == why


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ({"type": "number", "missing": 13}, "", 1.0),
        ({"type": "number", "missing": 13}, "x", "a number, but is 'x'"),
        ({"type": "number", "missing": 13}, "nan", "a number, but is 'nan'"),
        ({"type": "number", "missing": "keep"}, "", "mae has no finite value for these predictions."),
        ({"type": "integer", "missing": 13}, " ", 1.0),
        ({"type": "integer", "missing": 40, "max": 30}, "", 10.0),
    ],
)
def test_a_missing_value_is_what_the_rule_says(outcome, rule, value, expected):
    found = outcome(f"id,price\na,{value}\nb,20\nc,30\n", columns={"price": rule})
    if isinstance(expected, str) and not expected.startswith("mae"):
        expected = f"submission.csv: column 'price' must hold {expected} for id 'a'."
    assert found == expected


def test_answers_may_lie_outside_the_bounds_of_a_submission(outcome):
    rule = {"columns": {"price": {"type": "number", "min": 0, "max": 15}}}
    assert outcome("id,price\na,10\nb,15\nc,15\n", **rule) == pytest.approx(20 / 3, abs=1e-5)
    assert "at most 15, but is '20.0'" in outcome("id,price\na,10\nb,20.0\nc,15\n", **rule)


def test_a_column_that_is_not_scored_is_checked_all_the_same(outcome):
    rule = {"columns": {"price": {"type": "number"}, "time": {"type": "integer", "scored": False}}}
    assert outcome("id,price,time\na,10,1\nb,20,2\nc,30,3\n", **rule) == 0
    why = "submission.csv: column 'time' must hold a whole number, but is 'x' for id 'b'."
    assert outcome("id,price,time\na,10,1\nb,20,x\nc,30,3\n", **rule) == why


def test_where_answers_repeat_an_id_it_is_asked_for_as_often(outcome):
    """detecting-insults-in-social-commentary: the id is a comment, and a comment may come twice."""
    answers = "id,price\na,10\na,20\nb,30\n"
    assert outcome("id,price\nb,30\na,11\na,22\n", answers) == 1.0
    assert outcome("id,price\nb,30\nb,11\na,22\n", answers) == "submission.csv has id 'a' once; it is needed 2 times."
