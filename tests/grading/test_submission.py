"""Every kind of bad file gets one clear sentence; every good one is put into the order of the answers."""

import os
import socket
from pathlib import Path

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


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.removesuffix("\n"),
        GOOD + "\n\n",
        "price,id\n3,9\n1,007\n2,8\n",
        'id,"price"\n"9","3"\n007, 1 \n8,2e0\n',
        "id,price\n9,3.\n007,+1\n8,2.0\n",
    ],
)
def test_a_good_table_is_put_into_the_order_of_the_answers(content, file, make_task, prepared):
    file.write_bytes(content.encode())
    assert checked(file, make_task(), prepared).values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "submission.csv is empty."),
        (b"id,price\n", "submission.csv has a header but no rows."),
        (b"id,price", "submission.csv has a header but no rows."),
        (b"id,price\n\n\n", "submission.csv has a header but no rows."),
        (
            b"\n\n",
            "submission.csv lacks column 'id', 'price': its first line is blank, but the columns must be id, price.",
        ),
        (
            b"id,cost\n9,3\n",
            "submission.csv lacks column 'price': it has 'id', 'cost', but the columns must be id, price.",
        ),
        (b"id,price,x\n9,3,1\n", "submission.csv has unknown column 'x'; the columns must be id, price."),
        (b",id,price\n0,9,3\n", "submission.csv has unknown column ''; the columns must be id, price."),
        (
            b"id,price,price\n9,3,3\n",
            "submission.csv has column 'price' more than once; the columns must be id, price.",
        ),
        (b"id,price\n9,3\n007,1\n", "submission.csv lacks id '8': it has 2 of 3 rows."),
        (b"id,price\n9,3\n", "submission.csv lacks id '007', '8': it has 1 of 3 rows."),
        (b"id,price\n9,3\n9,3\n8,2\n007,1\n", "submission.csv has id '9' more than once."),
        (b"id,price\n9,3\n,3\n8,2\n007,1\n", "submission.csv has no id in row 2."),
        (b"id,price\n9,3\n8,2\n007,1\n10,5\n", "submission.csv has unknown id '10'."),
        (
            b"id,price\n9,3\n8,2\n7,1\n",
            "submission.csv has unknown id '7'; '007' is expected, and ids are compared as text.",
        ),
        (
            b"id,price\n9.0,3\n8.0,2\n007,1\n",
            "submission.csv has unknown id '9.0', '8.0'; '9' is expected, and ids are compared as text.",
        ),
        (b"id,price\n9,3\n8,2\n007\n", "submission.csv: column 'price' must hold a number, but is empty for id '007'."),
        (
            b"id,price\n9,3\n8,2\n007,\n",
            "submission.csv: column 'price' must hold a number, but is empty for id '007'.",
        ),
        (
            b"id,price\n9,3\n8,NaN\n007,1\n",
            "submission.csv: column 'price' must hold a number, but is 'NaN' for id '8'.",
        ),
        (
            b"id,price\n9,-inf\n8,Infinity\n007,1\n",
            "submission.csv: column 'price' must hold a number, but is 'Infinity' for id '8', and 1 more are wrong.",
        ),
        (
            b"id,price\n9,3\n8,cheap\n007,1\n",
            "submission.csv: column 'price' must hold a number, but is 'cheap' for id '8'.",
        ),
        (
            b'id,price\n9,3\n8,"1\n2"\n007,1\n',
            "submission.csv: column 'price' must hold a number, but is '1\\n2' for id '8'.",
        ),
        (
            b"id,price\n9,3\n8,2,4\n007,1\n",
            "submission.csv is not a CSV table: a row has more values than the header has columns.",
        ),
        (
            b'id,price\n9,3\n8,"2\n007,1\n',
            "submission.csv is not a CSV table: a quoted value does not end, or something follows its closing quote.",
        ),
        ("id,price\n9,3\n8,2\n007,é\n".encode("latin-1"), "submission.csv is not a CSV table: it is not UTF-8 text."),
        ("id,prix é\n9,3\n".encode("latin-1"), "submission.csv is not UTF-8 text."),
        (GOOD.encode("utf-16"), "submission.csv is not text: it holds zero bytes; write a CSV file in UTF-8."),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "submission.csv is not text: it holds zero bytes; write a CSV file in UTF-8."),
        (b"PK\x03\x04" + b"\xfe" * 99, "submission.csv is a zip archive; submit plain CSV."),
        (
            b'{"id": 9, "price": 3}',
            "submission.csv lacks column 'id', 'price': it has '{\"id\": 9', ' \"price\": 3}', "
            "but the columns must be id, price.",
        ),
        (b"," * 10**6, "submission.csv is not a CSV table: its first line is over 65,536 bytes long."),
    ],
)
def test_a_bad_table_is_refused_with_one_sentence(content, sentence, file, make_task, prepared):
    file.write_bytes(content)
    assert refusal(file, make_task(), prepared) == sentence


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


def test_a_missing_file_is_refused(file, make_task, prepared):
    assert refusal(file, make_task(), prepared) == "submission.csv does not exist."


def test_a_symlinked_submission_is_refused(file, tmp_path, make_task, prepared):
    (tmp_path / "elsewhere.csv").write_text(GOOD)
    file.symlink_to("elsewhere.csv")
    assert refusal(file, make_task(), prepared) == "submission.csv is a symbolic link; submit a regular file."


def test_a_folder_is_refused(file, make_task, prepared):
    file.mkdir()
    assert refusal(file, make_task(), prepared) == "submission.csv is a folder; submit a regular file."


def test_a_pipe_is_refused_without_waiting_for_a_writer(file, make_task, prepared):
    os.mkfifo(file)
    assert refusal(file, make_task(), prepared) == "submission.csv is a pipe; submit a regular file."


def test_a_socket_is_refused(file, make_task, prepared, monkeypatch):
    monkeypatch.chdir(file.parent)  # socket addresses must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(file.name)
        assert refusal(file, make_task(), prepared) == "submission.csv is a socket; submit a regular file."


def test_a_device_is_refused(make_task, prepared):
    assert refusal(Path("/dev/zero"), make_task(), prepared) == "zero is a device; submit a regular file."


def test_a_file_above_the_size_limit_is_refused_unread(file, make_task, prepared):
    with file.open("wb") as sparse:
        sparse.truncate(10**12)
    assert (
        refusal(file, make_task(), prepared)
        == "submission.csv is 1,000,000,000,000 bytes; at most 100,000,000 are accepted."
    )


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


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ODD_FILES)
def test_any_bytes_give_a_grade_and_never_a_crash(file, make_task, prepared, content):
    file.write_bytes(content)
    grade = grade_submission(file, make_task(), prepared, home=Home(file.parent))
    assert grade.submission_exists
    assert grade.valid_submission == (grade.score is not None) == (grade.why is None)
    assert grade.why is None or (grade.why.endswith(".") and "\n" not in grade.why)
