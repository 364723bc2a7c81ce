"""Files are read as the published graders read them: what pandas makes of ids and values, and how rows are paired."""

import pytest

from assay.core.home import Home
from assay.formats.texts import MISSING_WORDS
from assay.grading import grade_submission

ANSWERS = "id,price\n1,10\n2,20\n3,30\n4,40\n"
NAMED = "id,price\na,10\nb,20\nc,30\nd,40\n"


@pytest.fixture
def outcome(make_task, graded):
    """The score of a submission, or why it has none, on a task that is judged as published."""

    def judge(submission: str, answers: str = ANSWERS, **rules):
        grade = graded(make_task(lenient=True, **rules), answers, submission)
        assert grade.valid_submission == (grade.why is None)
        return grade.why or grade.score

    return judge


@pytest.mark.parametrize(
    "ids", [["4", "2", "3", "1"], ["4.0", "2", "3", "1.0"], ["004", " 2", "+3", "1e0"], ['"4"', "2", "3", "1 "]]
)
def test_ids_that_are_the_same_numbers_are_the_same_ids(outcome, ids):
    rows = zip(ids, [44, 22, 33, 11], strict=True)
    assert outcome("id,price\n" + "".join(f"{id},{price}\n" for id, price in rows)) == 2.5  # (1 + 2 + 3 + 4) / 4


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (["1", "2", "3", "x"], "submission.csv has unknown id '1', '2', '3' and 1 more."),  # They are text now.
        (["1", "2", "3", "5"], "submission.csv has unknown id '5'."),
        (["1", "2", "3", "3"], "submission.csv lacks id '4'."),
        (["1", "2", "3", ""], "submission.csv has no id in row 4."),
        (["1", "2", "3", "NA"], "submission.csv has no id in row 4."),
        (["1", "2", "3"], "submission.csv has 3 rows; 4 are needed."),
        (["1", "2", "3", "4", "4"], "submission.csv has 5 rows; 4 are needed."),
    ],
)
def test_other_ids_are_refused_with_one_sentence(outcome, ids, why):
    assert outcome("id,price\n" + "".join(f"{id},1\n" for id in ids)) == why


def test_text_ids_must_be_the_same_to_the_letter(outcome):
    assert outcome("id,price\nd,40\nb,20\nc,30\na,10\n", NAMED) == 0
    assert outcome("id,price\n d,40\nb,20\nc,30\na,10\n", NAMED) == "submission.csv has unknown id ' d'."


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
def test_an_id_that_pandas_takes_for_nothing_is_never_the_right_one(outcome, word):
    answers = f"id,price\na,10\n{word},20\n"
    assert outcome(answers, answers) == "submission.csv has no id in row 2."


@pytest.mark.parametrize(
    ("policy", "submission", "answers", "expected"),
    [
        # Repeated ids are joined each time: errors 0, 1, 3 and 0.
        ("join", "1,10\n2,21\n2,23\n3,30\n", "1,10\n2,20\n3,30\n", 1.0),
        ("join", "1,10\n2,21\n", "1,10\n2,20\n3,30\n", "submission.csv lacks id '3'."),
        ("join", "1,10\n2,21\n3,30\n4,1\n", "1,10\n2,20\n3,30\n", "submission.csv has unknown id '4'."),
        # Only the rows handed in count: errors 1 and 3.
        ("subset", "3,33\n2,21\n", "1,10\n2,20\n3,30\n", 2.0),
        ("subset", "3,33\n9,21\n", "1,10\n2,20\n3,30\n", "submission.csv has unknown id '9'."),
        # Others are left out: errors 1, 2 and 3.
        ("superset", "9,0\n3,33\n2,22\n8,0\n1,11\n", "1,10\n2,20\n3,30\n", 2.0),
        ("superset", "9,0\n3,33\n2,22\n8,0\n", "1,10\n2,20\n3,30\n", "submission.csv lacks id '1'."),
        # A repeated one moves all behind it, and the last falls off: 10, 10 and 20 for 1, 2 and 3.
        ("superset", "3,30\n2,20\n1,10\n1,10\n", "1,10\n2,20\n3,30\n", (0 + 10 + 10) / 3),
        # The same ids, each as often as one likes: sorted they are 1, 2, 2, 3 against 1, 1, 2, 3.
        ("ids_equal_sorted", "2,20\n2,20\n1,10\n3,30\n", "1,10\n1,10\n2,20\n3,30\n", (0 + 10 + 0 + 0) / 4),
        ("ids_equal_sorted", "2,20\n2,20\n1,10\n1,30\n", "1,10\n1,10\n2,20\n3,30\n", "submission.csv lacks id '3'."),
        ("ids_subset_sorted", "1,10\n1,10\n2,20\n", "1,10\n2,20\n3,30\n", (0 + 10 + 10) / 3),
        ("ids_subset_sorted", "1,10\n7,11\n2,20\n", "1,10\n2,20\n3,30\n", "submission.csv has unknown id '7'."),
        # Ids only sort: 5, 6 and 7 go to 1, 2 and 3.
        ("sorted_unchecked", "7,30\n5,11\n6,22\n", "1,10\n3,30\n2,20\n", 1.0),
        ("sorted_unchecked", "7,30\n5,11\n", "1,10\n3,30\n2,20\n", "submission.csv has 2 rows; 3 are needed."),
        ("positional", "7,30\n5,11\n6,22\n", "1,10\n3,30\n2,20\n", (20 + 19 + 2) / 3),
        ("positional", "7,30\n5,11\n", "1,10\n3,30\n2,20\n", "submission.csv has 2 rows; 3 are needed."),
        ("positional_prefix", "7,30\n5,11\n", "1,10\n3,30\n2,20\n", (20 + 19) / 2),
        # The n-th row of an id belongs to its n-th answer.
        ("nth_occurrence", "2,21\n1,12\n2,23\n1,19\n", "1,10\n1,20\n2,20\n2,20\n", (2 + 1 + 1 + 3) / 4),
        (
            "nth_occurrence", "2,21\n1,12\n2,23\n2,19\n", "1,10\n1,20\n2,20\n2,20\n",
            "submission.csv has id '2' more often than needed.",
        ),
    ],
)  # fmt: skip
def test_every_policy_pairs_rows_as_it_says(outcome, policy, submission, answers, expected):
    found = outcome(f"id,price\n{submission}", f"id,price\n{answers}", ids=policy)
    assert found == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-5))


def test_aligned_ids_may_repeat_as_often_as_in_the_answers(outcome):
    answers = "id,price\na,10\na,10\nb,20\n"
    assert outcome("id,price\nb,20\na,10\na,13\n", answers) == 1.0
    assert outcome("id,price\nb,20\nb,10\na,13\n", answers) == "submission.csv has id 'b' more often than needed."


def test_rows_whose_answer_does_not_count_are_left_out_and_need_no_value(outcome):
    answers, skip = "id,price,used\n1,10,1\n2,20,0\n3,30,1\n", {"column": "used", "value": 0}
    assert outcome("id,price\n3,31\n2,\n1,11\n", answers, skip=skip) == 1.0
    assert outcome("id,price\n3,31\n2,x\n1,11\n", answers, skip=skip) == 1.0
    why = "submission.csv: column 'price' must hold a number, but is empty for id '3'."
    assert outcome("id,price\n3,\n2,1\n1,11\n", answers, skip=skip) == why


@pytest.mark.parametrize("policy", ["one_to_one", "ids_subset_sorted"])
@pytest.mark.parametrize("ids", ["1,2", "2,1", "1,1.0"])
def test_nothing_is_scored_where_no_answer_counts(outcome, policy, ids):
    answers, (first, second) = "id,price\n1,-1\n2,-1\n", ids.split(",")
    rules = {"ids": policy, "skip": {"column": "price", "value": -1}, "metric": "mean_column_roc_auc"}
    if policy == "one_to_one" and ids == "1,1.0":
        expected = "submission.csv lacks id '2'."
    else:
        expected = "submission.csv has no row that counts."
    assert outcome(f"id,price\n{first},0.1\n{second},0.2\n", answers, params={"unscored": -1}, **rules) == expected


def test_where_only_known_ids_are_asked_for_a_row_counts_if_its_own_id_does(outcome):
    rules = {"ids": "ids_subset_sorted", "skip": {"column": "price", "value": -1}}
    answers = "id,price\na,10\nb,-1\nc,30\nd,40\n"
    assert outcome("id,price\nd,40\na,10\nb,7\nc,30\n", answers, **rules) == 0
    # Two rows of a and none of d: sorted and without b they are a, a, c against a, c, d.
    assert outcome("id,price\na,10\na,10\nb,7\nc,30\n", answers, **rules) == (0 + 20 + 10) / 3
    why = "submission.csv repeats ids of column 'id', so that it has another number of rows that count."
    assert outcome("id,price\na,10\na,11\nd,7\nc,30\n", answers, **rules) == why


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ({"type": "number"}, "11", 1.0),
        ({"type": "number"}, "1.1e1", 1.0),
        ({"type": "number"}, "x", "a number, but is 'x'"),
        ({"type": "number"}, "1_1", 1.0),  # Text, which scikit-learn and astype turn into a number as Python does.
        ({"type": "number", "min": 0}, "11\u00a0", 1.0),
        ({"type": "number", "max": 20}, "1_1", "a number of at most 20, but is '1_1'"),  # Text is not below 20.
        ({"type": "number"}, "", "a number, but is empty"),
        ({"type": "number"}, "inf", "a number, but is 'inf'"),
        ({"type": "number", "max": 10}, "10", 0.0),
        ({"type": "number", "max": 10}, "10.5", "a number of at most 10, but is '10.5'"),
        ({"type": "number", "missing": 7}, "", 3.0),
        ({"type": "number", "missing": 7}, "x", "a number, but is 'x'"),
        ({"type": "number", "missing": "keep"}, "", "nan"),
        ({"type": "number", "missing": "keep"}, "inf", "inf"),
        ({"type": "number", "missing": "keep", "max": 10}, "", "nan"),
        ({"type": "integer"}, "11.9", 1.0),
        ({"type": "integer"}, "inf", "a whole number, but is 'inf'"),
        ({"type": "integer"}, "x", "a whole number, but is 'x'"),
        ({"type": "integer", "max": 10}, "11", "a whole number of at most 10, but is '11'"),
        ({"type": "integer", "missing": 7}, "", 3.0),
    ],
)
def test_numbers_are_what_pandas_makes_numbers_of(make_task, graded, rule, value, expected):
    task = make_task(lenient=True, columns={"price": rule})
    grade = graded(task, "id,price\na,10\n", f"id,price\na,{value}\n")
    if isinstance(expected, str) and grade.not_finite is None:
        assert grade.why == f"submission.csv: column 'price' must hold {expected} for id 'a'."
    else:
        assert (grade.score if grade.not_finite is None else grade.not_finite) == expected
        assert grade.valid_submission


@pytest.mark.parametrize(
    ("truth", "given", "expected"),
    [
        (["1", "2"], ["1", "3"], 0.5),
        (["1", "2"], ["1.0", "2.0"], 1.0),
        (["1", "2"], ["1", "2.5"], "whole numbers, but is '2.5' for id 'b'"),
        (["1", "2"], ["1", "9223372036854774784.0"], 0.5),
        (["1", "2"], ["1", "9223372036854775808.0"], "whole numbers, but is '9.223372036854776e+18' for id 'b'"),
        (["1", "2"], ["1", "-9223372036854775808.0"], 0.5),
        (["1", "2"], ["1", "18446744073709551615"], 0.5),
        (["1", "2"], ["1", "1e155"], "whole numbers, but is '1e+155' for id 'b'"),
        (["1", "2"], ["1", ""], "whole numbers, but is empty for id 'b'"),
        (["1", "2"], ["1", "x"], "whole numbers or booleans only, as the answers do, but is '1' for id 'a'"),
        (["True", "False"], ["true", "FALSE"], 1.0),
        (["True", "False"], ["1", "1"], 0.5),
        (["True", "False"], ["yes", "no"], "whole numbers or booleans only, as the answers do, but is 'yes'"),
        (["cat", "dog"], ["cat", "1"], 0.5),
        (["cat", "dog"], ["cat", "bird"], 0.5),
        (["cat", "dog"], ["cat", ""], "text, but is empty for id 'b'"),
        (["cat", "dog"], ["1", "2"], "text, as the answers do, but is '1' for id 'a'"),
        (["cat", "dog"], ["True", "False"], "text, as the answers do, but is 'True' for id 'a'"),
    ],
)  # fmt: skip
def test_classes_are_compared_only_with_classes_of_their_kind(outcome, truth, given, expected):
    files = ["id,price\n" + "".join(f"{id},{x}\n" for id, x in zip("ab", side, strict=True)) for side in (given, truth)]
    found = outcome(*files, columns={"price": {"type": "category"}}, metric="accuracy", direction="higher")
    if isinstance(expected, str):
        assert found.startswith(f"submission.csv: column 'price' must hold {expected}")
    else:
        assert found == expected


def test_a_missing_class_may_stand_for_one(outcome):
    rule = {"columns": {"price": {"type": "category", "missing": ""}}, "metric": "accuracy", "direction": "higher"}
    assert outcome("id,price\na,cat\nb,\n", "id,price\na,cat\nb,dog\n", **rule) == 0.5
    assert outcome("id,price\na,\nb,\n", "id,price\na,cat\nb,dog\n", **rule) == 0.0


@pytest.mark.parametrize(
    ("rule", "truth", "given", "expected"),
    [
        ({}, ["7", "8"], ["7", "9"], 0.5),
        ({}, ["7", "8"], ["7.0", "9"], 0.0),  # The column is 7.0 and 9.0, and so are the texts.
        ({"missing": "nan"}, ["NA", "x"], ["null", "x"], 1.0),
        ({"missing": "keep"}, ["NA", "x"], ["null", "x"], 1.0),
        ({"missing": ""}, ["NA", "x"], ["x", "x"], 0.5),
        ({}, ["y", "x"], ["NA", "x"], "text, but is empty for id 'a'"),
        ({"only_text": True, "missing": ""}, ["y", "x"], ["NA", "x"], 0.5),
        (
            {"only_text": True, "missing": ""},
            ["y", "x"],
            ["1", "2"],
            "text, but is '1' for id 'a', and 1 more are wrong",
        ),
    ],
)
def test_texts_are_what_python_writes(outcome, rule, truth, given, expected):
    files = ["id,price\n" + "".join(f"{id},{x}\n" for id, x in zip("ab", side, strict=True)) for side in (given, truth)]
    found = outcome(*files, columns={"price": {"type": "text", **rule}}, metric="accuracy", direction="higher")
    assert found == (f"submission.csv: column 'price' must hold {expected}." if isinstance(expected, str) else expected)


@pytest.mark.parametrize("name", ["submission.CSV", "a.b.csv"])
def test_a_file_must_be_called_csv(make_task, graded, name):
    assert graded(make_task(lenient=True), ANSWERS, ANSWERS, name).score == 0
    grade = graded(make_task(lenient=True), ANSWERS, ANSWERS, "submission.txt")
    assert grade.why == "submission.txt is not called a CSV file: its name must end in .csv."


def test_only_a_file_that_is_called_csv_was_handed_in(make_task, prepared, tmp_path):
    """Any other is not there for the published benchmark, which counts how many submissions there are."""
    files, others = ["a.csv", "a.CSV", "a.txt", "a"], ["folder.csv", "dangling.csv", "missing.csv"]
    for name in files:
        (tmp_path / name).write_text(ANSWERS)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere.csv")
    task, home = make_task(lenient=True), Home(tmp_path)
    grades = {name: grade_submission(tmp_path / name, task, prepared, home=home) for name in files + others}
    assert [name for name, grade in grades.items() if grade.submission_exists] == ["a.csv", "a.CSV"]
