"""Values are what the rules of their column say, validation says nothing about answers, and nothing crashes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.errors import InvalidSubmission, NotPrepared
from assay.core.home import Home
from assay.grading import grade_submission, validate_submission
from assay.grading.submission.read import read_submission
from assay.tasks import Column

GOOD = "id,price\n9,3\n007,1\n8,2\n"


@pytest.fixture
def file(tmp_path):
    """Where the submission goes."""
    return tmp_path / "submission.csv"


def checked(file, task, prepared):
    return read_submission(file, file.name, task.in_edition(prepared.edition), prepared)


def refusal(file, task, prepared):
    with pytest.raises(InvalidSubmission) as caught:
        validate_submission(file, task, prepared)
    return str(caught.value)


BOOLEAN = Column(type="boolean")
RANGE = Column(type="number", min=0, max=1)
COUNT = Column(type="integer", min=0)
SORT = Column(type="category", values=("cat", "dog"))
DIGIT = Column(type="category", values=(0, 1, 2))


@pytest.mark.parametrize(
    ("rule", "written", "values"),
    [
        (BOOLEAN, ["True", "false", "FALSE"], [True, False, False]),
        (BOOLEAN, ["1", "0", "1.0"], [True, False, True]),
        (RANGE, ["0", "1e-3", "1"], [0, 0.001, 1]),
        (COUNT, ["0", "3.0", "9007199254740992"], [0, 3, 2**53]),
        (SORT, ["cat", " dog", "cat"], ["cat", "dog", "cat"]),
        (DIGIT, ["2", "1.0", "0"], [2, 1, 0]),
        (Column(type="text"), ["", " a ", "NA"], ["", " a ", "NA"]),
        (Column(type="category"), ["NA", "null", "x"], ["NA", "null", "x"]),
    ],
)
def test_values_are_read_as_the_rule_says(rule, written, values, file, make_task, prepared):
    file.write_text(
        "id,price\n" + "".join(f"{id},{value}\n" for id, value in zip(["007", "8", "9"], written, strict=True))
    )
    assert checked(file, make_task(rule), prepared).values.tolist() == values


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (BOOLEAN, "yes", "true or false, but is 'yes'"),
        (BOOLEAN, "0.7", "true or false, but is '0.7'"),
        (RANGE, "1.01", "a number of at least 0 and at most 1, but is '1.01'"),
        (COUNT, "2.5", "a whole number of at least 0, but is '2.5'"),
        (COUNT, "-1", "a whole number of at least 0, but is '-1'"),
        (COUNT, "9007199254740994", "a whole number of at least 0, but is '9007199254740994'"),
        (Column(type="number", max=9), "10", "a number of at most 9, but is '10'"),
        (SORT, "bird", "one of cat, dog, but is 'bird'"),
        (SORT, "", "one of cat, dog, but is empty"),
        (DIGIT, "3", "one of 0, 1, 2, but is '3'"),
        (Column(type="category"), "", "a value, but is empty"),
        (RANGE, "\x1b[31m" + "9" * 500, "a number of at least 0 and at most 1, but is '\\x1b[31m" + "9" * 34 + "…'"),
    ],
)
def test_a_value_that_breaks_the_rule_is_named(rule, value, expected, file, make_task, prepared):
    file.write_text(f"id,price\n007,{value}\n8,{value}\n9,{value}\n")
    sentence = refusal(file, make_task(rule), prepared)
    assert sentence == f"submission.csv: column 'price' must hold {expected} for id '007', and 2 more are wrong."


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
    validate_submission(file, make_task(), prepared)


def test_damaged_answers_are_not_blamed_on_the_submission(file, make_task, prepared):
    file.write_text(GOOD)
    (prepared.private / "answers.csv").write_text("id,price\n007,x\n8,1\n9,1\n")
    with pytest.raises(NotPrepared, match="damaged; prepare it again"):
        grade_submission(file, make_task(), prepared, home=Home(file.parent))
    (prepared.private / "answers.csv").unlink()
    with pytest.raises(NotPrepared, match="prepare it again"):
        grade_submission(file, make_task(), prepared, home=Home(file.parent))


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
    grade = grade_submission(file, make_task(), prepared, home=Home(file.parent))
    assert grade.submission_exists
    assert grade.valid_submission == (grade.score is not None) == (grade.why is None)
    assert grade.why is None or (grade.why.endswith(".") and "\n" not in grade.why)
