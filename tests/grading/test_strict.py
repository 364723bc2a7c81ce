"""Strict parsing enforces every rule of a task and names the first that is broken; validation reveals no answers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.errors import InvalidSubmission, NotPrepared
from assay.core.home import Home
from assay.grading import grade_submission, validate_submission
from assay.grading.submission.read import choose_parser
from assay.tasks import Column

GOOD = "id,price\n9,3\n007,1\n8,2\n"
TABLE = "id,price\na,10\nb,20\nc,30\n"


@pytest.fixture
def file(tmp_path):
    """Where the submission goes."""
    return tmp_path / "submission.csv"


def checked(file, task, prepared):
    return choose_parser(replace(prepared, task=task.in_edition(prepared.edition))).read(file, file.name)


def refusal(file, task, prepared):
    with pytest.raises(InvalidSubmission) as caught:
        validate_submission(file, replace(prepared, task=task))
    return str(caught.value)


BOOLEAN = Column(type="boolean")
RANGE = Column(type="number", min=0, max=1)
COUNT = Column(type="integer", min=0)
SORT = Column(type="category", values=("cat", "dog"))
DIGIT = Column(type="category", values=(0, 1, 2))


VALUES = [
    (BOOLEAN, ["True", "false", "FALSE"], [True, False, False]),
    (BOOLEAN, ["1", "0", "1.0"], [True, False, True]),
    (RANGE, ["0", "1e-3", "1"], [0, 0.001, 1]),
    (COUNT, ["0", "3.0", "9007199254740992"], [0, 3, 2**53]),
    (SORT, ["cat", " dog", "cat"], ["cat", "dog", "cat"]),
    (DIGIT, ["2", "1.0", "0"], [2, 1, 0]),
    (Column(type="text"), ["", " a ", "NA"], ["", " a ", "NA"]),
    (Column(type="category"), ["NA", "null", "x"], ["NA", "null", "x"]),
]


@pytest.mark.parametrize(("rule", "written", "values"), VALUES)
def test_values_are_read_as_the_rule_says(file, make_task, prepared, rule, written, values):
    file.write_text(
        "id,price\n" + "".join(f"{id},{value}\n" for id, value in zip(["007", "8", "9"], written, strict=True))
    )
    assert checked(file, make_task(rule), prepared).values.tolist() == values


BROKEN_VALUES = [
    (BOOLEAN, "yes", "true or false, but is 'yes'"),
    (BOOLEAN, "0.7", "true or false, but is '0.7'"),
    (RANGE, "1.01", "a number of at least 0 and at most 1, but is '1.01'"),
    (COUNT, "2.5", "an integer of at least 0, but is '2.5'"),
    (COUNT, "-1", "an integer of at least 0, but is '-1'"),
    (COUNT, "9007199254740994", "an integer of at least 0, but is '9007199254740994'"),
    (Column(type="number", max=9), "10", "a number of at most 9, but is '10'"),
    (SORT, "bird", "one of cat, dog, but is 'bird'"),
    (SORT, "", "one of cat, dog, but is empty"),
    (DIGIT, "3", "one of 0, 1, 2, but is '3'"),
    (Column(type="category"), "", "a value, but is empty"),
    (RANGE, "\x1b[31m" + "9" * 500, "a number of at least 0 and at most 1, but is '\\x1b[31m" + "9" * 34 + "…'"),
]


@pytest.mark.parametrize(("rule", "value", "expected"), BROKEN_VALUES)
def test_a_value_that_breaks_the_rule_is_named(file, make_task, prepared, rule, value, expected):
    file.write_text(f"id,price\n007,{value}\n8,{value}\n9,{value}\n")
    sentence = refusal(file, make_task(rule), prepared)
    assert sentence == f"submission.csv: column 'price' must be {expected} for id '007', and 2 more are wrong."


def test_without_ids_the_rows_are_counted(file, make_task, prepared):
    task = make_task(id=None)
    file.write_text("price\n1\n2\n")
    assert refusal(file, task, prepared) == "submission.csv has 2 rows; 3 are needed."
    file.write_text("price\n1\n2\nx\n")
    assert refusal(file, task, prepared).endswith("is 'x' for row 3.")
    file.write_text("price\n1\n2\n3\n")
    assert checked(file, task, prepared).values.tolist() == [1, 2, 3]


def test_several_columns_are_stacked_in_the_order_of_the_task(file, make_task, prepared):
    (prepared.private / "answers.csv").write_text("id,b,a\nx,1,2\n")
    file.write_text("b,a,id\n3,4,x\n")
    task = make_task(columns={"a": {"type": "number"}, "b": {"type": "number"}})
    assert np.array_equal(checked(file, task, prepared).values, [[4, 3]])


def test_validation_says_the_same_whatever_the_answers_are(file, make_task, prepared):
    file.write_text("id,price\n9,3\n8,x\n007,1\n")
    before = refusal(file, make_task(), prepared)
    (prepared.private / "answers.csv").write_text("id,price\n007,not\n8,even\n9,numbers\n")
    assert refusal(file, make_task(), prepared) == before
    file.write_text(GOOD)
    validate_submission(file, prepared)


def test_damaged_answers_are_not_blamed_on_the_submission(file, make_task, prepared):
    file.write_text(GOOD)
    (prepared.private / "answers.csv").write_text("id,price\n007,x\n8,1\n9,1\n")
    with pytest.raises(NotPrepared, match="damaged; prepare it again"):
        grade_submission(file, prepared, home=Home(file.parent))
    (prepared.private / "answers.csv").unlink()
    with pytest.raises(NotPrepared, match="prepare it again"):
        grade_submission(file, prepared, home=Home(file.parent))


PIECES = st.one_of(
    st.sampled_from(["id", "price", "007", "8", "9", ",", "\n", "\r\n", '"']),
    st.sampled_from(
        ["\r", "'", "\0", "\ufeff", "é", " ", "1e999", "nan", "-", "1", "\t", ";", "#", "\\", "\u2028", "٣"]
    ),
)
ODD_FILES = st.one_of(
    st.binary(max_size=200),
    st.lists(PIECES, max_size=40).map("".join).map(str.encode),
    st.lists(PIECES, max_size=30).map(lambda pieces: ("id,price\n" + "".join(pieces)).encode()),
    st.binary(max_size=60).map(lambda junk: GOOD.encode() + junk),
    st.tuples(st.integers(0, len(GOOD)), st.binary(max_size=4)).map(
        lambda cut: GOOD.encode()[: cut[0]] + cut[1] + GOOD.encode()[cut[0] :]
    ),
    st.text(max_size=80).map(lambda text: text.encode("utf-16")),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ODD_FILES)
def test_any_bytes_give_a_grade_and_never_a_crash(file, make_task, prepared, content):
    file.write_bytes(content)
    grade = grade_submission(file, prepared, home=Home(file.parent))
    assert grade.submission_exists
    assert grade.valid_submission == (grade.score is not None) == (grade.why is None)
    assert grade.why is None or (grade.why.endswith(".") and "\n" not in grade.why)


@pytest.fixture
def outcome(make_task, graded):
    """The score of a submission, or why it has none, on a task with strict rules."""

    def judge(submission: str, answers: str = TABLE, **rules):
        grade = graded(make_task(**rules), answers, submission)
        assert grade.valid_submission == (grade.why is None)
        return grade.why or grade.score

    return judge


@pytest.mark.parametrize("policy", ["one_to_one", "join", "ids_equal_sorted", "ids_subset_sorted", "sorted_unchecked"])
def test_each_id_must_occur_once_also_where_published_graders_accept_duplicates(outcome, policy):
    assert outcome("id,price\nc,30\na,10\nb,20\n", ids=policy) == 0
    assert outcome("id,price\nc,30\na,10\na,10\nb,20\n", ids=policy) == "submission.csv has id 'a' more than once."
    assert outcome("id,price\nc,30\na,10\n", ids=policy) == "submission.csv is missing id 'b' (2 of 3 rows found)."
    assert outcome("id,price\nc,30\na,10\nz,1\n", ids=policy) == "submission.csv has unknown id 'z'."


def test_a_superset_may_have_further_ids_and_must_have_all(outcome):
    assert outcome("id,price\nz,1\nc,30\na,10\nb,23\n", ids="superset") == 1.0
    assert (
        outcome("id,price\nz,1\nc,30\na,10\n", ids="superset")
        == "submission.csv is missing id 'b' (3 of 3 rows found)."
    )
    assert outcome("id,price\nz,1\nz,1\nc,30\na,10\nb,2\n", ids="superset").endswith("has id 'z' more than once.")


def test_a_subset_is_scored_by_the_rows_it_has(outcome):
    assert outcome("id,price\nc,32\na,10\n", ids="subset") == 1.0
    assert outcome("id,price\nc,32\nz,10\n", ids="subset") == "submission.csv has unknown id 'z'."
    why = "submission.csv: column 'price' must be a number, but is 'x' for id 'c'."
    assert outcome("id,price\nc,x\na,10\n", ids="subset") == why


def test_with_repeated_ids_the_nth_row_of_an_id_belongs_to_its_nth_answer(outcome):
    answers = "id,price\na,10\na,20\nb,30\n"
    assert outcome("id,price\nb,30\na,11\na,22\n", answers, ids="nth_occurrence") == 1.0
    why = "submission.csv has id 'a' once; it is needed 2 times."
    assert outcome("id,price\nb,30\na,11\n", answers, ids="nth_occurrence") == why
    why = "submission.csv has id 'a' 3 times; it is needed 2 times."
    assert outcome("id,price\nb,30\na,11\na,1\na,1\n", answers, ids="nth_occurrence") == why
    assert outcome("id,price\na,30\na,11\nz,1\n", answers, ids="nth_occurrence") == "submission.csv has unknown id 'z'."
    assert (
        outcome("id,price\na,30\na,11\n", answers, ids="nth_occurrence")
        == "submission.csv is missing id 'b' (2 of 3 rows found)."
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


MISSING = [
    ({"type": "number", "missing": 13}, "", 1.0),
    ({"type": "number", "missing": 13}, "x", "a number, but is 'x'"),
    ({"type": "number", "missing": 13}, "nan", "a number, but is 'nan'"),
    ({"type": "number", "missing": "keep"}, "", "mae has no finite value for these predictions."),
    ({"type": "integer", "missing": 13}, " ", 1.0),
    ({"type": "integer", "missing": 40, "max": 30}, "", 10.0),
]


@pytest.mark.parametrize(("rule", "value", "expected"), MISSING)
def test_a_missing_value_is_what_the_rule_says(outcome, rule, value, expected):
    result = outcome(f"id,price\na,{value}\nb,20\nc,30\n", columns={"price": rule})
    if isinstance(expected, str) and not expected.startswith("mae"):
        expected = f"submission.csv: column 'price' must be {expected} for id 'a'."
    assert result == expected


def test_answers_may_lie_outside_the_bounds_of_a_submission(outcome):
    rule = {"columns": {"price": {"type": "number", "min": 0, "max": 15}}}
    assert outcome("id,price\na,10\nb,15\nc,15\n", **rule) == pytest.approx(20 / 3, abs=1e-5)
    assert "at most 15, but is '20.0'" in outcome("id,price\na,10\nb,20.0\nc,15\n", **rule)


def test_a_column_that_is_not_scored_is_checked_all_the_same(outcome):
    rule = {"columns": {"price": {"type": "number"}, "time": {"type": "integer", "scored": False}}}
    assert outcome("id,price,time\na,10,1\nb,20,2\nc,30,3\n", **rule) == 0
    why = "submission.csv: column 'time' must be an integer, but is 'x' for id 'b'."
    assert outcome("id,price,time\na,10,1\nb,20,x\nc,30,3\n", **rule) == why


def test_where_answers_repeat_an_id_it_is_asked_for_as_often(outcome):
    """detecting-insults-in-social-commentary: the id is a comment, and a comment may come twice."""
    answers = "id,price\na,10\na,20\nb,30\n"
    assert outcome("id,price\nb,30\na,11\na,22\n", answers) == 1.0
    assert outcome("id,price\nb,30\nb,11\na,22\n", answers) == "submission.csv has id 'a' once; it is needed 2 times."
