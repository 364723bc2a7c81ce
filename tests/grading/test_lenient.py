"""Lenient parsing follows the published graders: what pandas makes of values, and how rows are paired."""

from dataclasses import replace

import pytest

from assay.core.home import Home
from assay.formats.texts import MISSING_WORDS
from assay.grading import grade_submission

ANSWERS = "id,price\n1,10\n2,20\n3,30\n4,40\n"
NAMED = "id,price\na,10\nb,20\nc,30\nd,40\n"
PAIRS = "id,a,b\n1,0.25,0.75\n2,0.5,0.5\n"
NUMBER = {"type": "number"}
AB = {"a": NUMBER, "b": NUMBER}


@pytest.fixture
def outcome(make_task, graded):
    """The score of a submission, or why it has none, on a task that is graded by the published rules."""

    def judge(submission: str, answers: str = ANSWERS, **rules):
        grade = graded(make_task(lenient=True, **rules), answers, submission)
        assert grade.valid_submission == (grade.why is None)
        return grade.why or grade.score

    return judge


SAME_IDS = [["4", "2", "3", "1"], ["4.0", "2", "3", "1.0"], ["004", " 2", "+3", "1e0"], ['"4"', "2", "3", "1 "]]


@pytest.mark.parametrize("ids", SAME_IDS)
def test_ids_that_are_equal_numbers_match(outcome, ids):
    rows = zip(ids, [44, 22, 33, 11], strict=True)
    assert outcome("id,price\n" + "".join(f"{id},{price}\n" for id, price in rows)) == 2.5  # (1 + 2 + 3 + 4) / 4


OTHER_IDS = [
    (["1", "2", "3", "x"], "submission.csv has unknown id '1', '2', '3' and 1 more."),  # They are text now.
    (["1", "2", "3", "5"], "submission.csv has unknown id '5'."),
    (["1", "2", "3", "3"], "submission.csv is missing id '4'."),
    (["1", "2", "3", ""], "submission.csv has no id in row 4."),
    (["1", "2", "3", "NA"], "submission.csv has no id in row 4."),
    (["1", "2", "3"], "submission.csv has 3 rows; 4 are needed."),
    (["1", "2", "3", "4", "4"], "submission.csv has 5 rows; 4 are needed."),
]


@pytest.mark.parametrize(("ids", "why"), OTHER_IDS)
def test_other_ids_are_refused_with_one_sentence(outcome, ids, why):
    assert outcome("id,price\n" + "".join(f"{id},1\n" for id in ids)) == why


def test_text_ids_must_be_the_same_to_the_letter(outcome):
    assert outcome("id,price\nd,40\nb,20\nc,30\na,10\n", NAMED) == 0
    assert outcome("id,price\n d,40\nb,20\nc,30\na,10\n", NAMED) == "submission.csv has unknown id ' d'."


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
def test_an_id_that_pandas_reads_as_missing_never_matches(outcome, word):
    answers = f"id,price\na,10\n{word},20\n"
    assert outcome(answers, answers) == "submission.csv has no id in row 2.", word


POLICIES = [
        # Repeated ids are joined each time: errors 0, 1, 3 and 0.
        ("join", "1,10\n2,21\n2,23\n3,30\n", "1,10\n2,20\n3,30\n", 1.0),
        ("join", "1,10\n2,21\n", "1,10\n2,20\n3,30\n", "submission.csv is missing id '3'."),
        ("join", "1,10\n2,21\n3,30\n4,1\n", "1,10\n2,20\n3,30\n", "submission.csv has unknown id '4'."),
        # Only the submitted rows count: errors 1 and 3.
        ("subset", "3,33\n2,21\n", "1,10\n2,20\n3,30\n", 2.0),
        # One answer may be repeated where no other is left: errors 3 and 1.
        ("subset", "3,33\n3,31\n", "1,10\n2,20\n3,30\n", 2.0),
        ("subset", "3,33\n9,21\n", "1,10\n2,20\n3,30\n", "submission.csv has unknown id '9'."),
        # Others are left out: errors 1, 2 and 3.
        ("superset", "9,0\n3,33\n2,22\n8,0\n1,11\n", "1,10\n2,20\n3,30\n", 2.0),
        ("superset", "9,0\n3,33\n2,22\n8,0\n", "1,10\n2,20\n3,30\n", "submission.csv is missing id '1'."),
        # A repeated one moves all behind it, and the last falls off: 10, 10 and 20 for 1, 2 and 3.
        ("superset", "3,30\n2,20\n1,10\n1,10\n", "1,10\n2,20\n3,30\n", (0 + 10 + 10) / 3),
        # The same ids, each as often as one likes: sorted they are 1, 2, 2, 3 against 1, 1, 2, 3.
        ("ids_equal_sorted", "2,20\n2,20\n1,10\n3,30\n", "1,10\n1,10\n2,20\n3,30\n", (0 + 10 + 0 + 0) / 4),
        ("ids_equal_sorted", "2,20\n2,20\n1,10\n1,30\n", "1,10\n1,10\n2,20\n3,30\n",
         "submission.csv is missing id '3'."),
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
    ]  # fmt: skip


@pytest.mark.parametrize(("policy", "submission", "answers", "expected"), POLICIES)
def test_every_policy_pairs_rows_as_it_says(outcome, policy, submission, answers, expected):
    result = outcome(f"id,price\n{submission}", f"id,price\n{answers}", ids=policy)
    assert result == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-5))


def test_aligned_ids_may_repeat_as_often_as_in_the_answers(outcome):
    answers = "id,price\na,10\na,10\nb,20\n"
    assert outcome("id,price\nb,20\na,10\na,13\n", answers) == 1.0
    assert outcome("id,price\nb,20\nb,10\na,13\n", answers) == "submission.csv has id 'b' more often than needed."


def test_rows_whose_answer_does_not_count_are_left_out_and_need_no_value(outcome):
    answers, skip = "id,price,used\n1,10,1\n2,20,0\n3,30,1\n", {"column": "used", "value": 0}
    assert outcome("id,price\n3,31\n2,\n1,11\n", answers, skip=skip) == 1.0
    assert outcome("id,price\n3,31\n2,x\n1,11\n", answers, skip=skip) == 1.0
    why = "submission.csv: column 'price' must be a number, but is empty for id '3'."
    assert outcome("id,price\n3,\n2,1\n1,11\n", answers, skip=skip) == why


@pytest.mark.parametrize("policy", ["one_to_one", "ids_subset_sorted"])
@pytest.mark.parametrize("ids", ["1,2", "2,1", "1,1.0"])
def test_nothing_is_scored_where_no_answer_counts(outcome, policy, ids):
    answers, (first, second) = "id,price\n1,-1\n2,-1\n", ids.split(",")
    rules = {"ids": policy, "skip": {"column": "price", "value": -1}, "metric": "mean_column_roc_auc"}
    if policy == "one_to_one" and ids == "1,1.0":
        expected = "submission.csv is missing id '2'."
    else:
        expected = "submission.csv has no row that counts."
    assert outcome(f"id,price\n{first},0.1\n{second},0.2\n", answers, **rules) == expected


def test_rows_of_unscored_answers_are_dropped_by_their_own_id_before_sorting(outcome):
    rules = {"ids": "ids_subset_sorted", "skip": {"column": "price", "value": -1}}
    answers = "id,price\na,10\nb,-1\nc,30\nd,40\n"
    assert outcome("id,price\nd,40\na,10\nb,7\nc,30\n", answers, **rules) == 0
    # Two rows of a and none of d: sorted and without b they are a, a, c against a, c, d.
    assert outcome("id,price\na,10\na,10\nb,7\nc,30\n", answers, **rules) == (0 + 20 + 10) / 3
    why = "submission.csv repeats ids of column 'id', so that it has another number of rows that count."
    assert outcome("id,price\na,10\na,11\nd,7\nc,30\n", answers, **rules) == why


NUMBERS = [
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
    ({"type": "number"}, "True", 9.0),
    ({"type": "number", "no_booleans": True}, "True", "a number, but is 'True'"),
    ({"type": "number", "no_booleans": True}, "1", 9.0),
    ({"type": "integer"}, "11.9", 1.0),
    ({"type": "integer"}, "inf", "an integer, but is 'inf'"),
    ({"type": "integer"}, "x", "an integer, but is 'x'"),
    ({"type": "integer", "max": 10}, "11", "an integer of at most 10, but is '11'"),
    ({"type": "integer", "missing": 7}, "", 3.0),
]


@pytest.mark.parametrize(("rule", "value", "expected"), NUMBERS)
def test_numbers_are_what_pandas_makes_numbers_of(make_task, graded, rule, value, expected):
    task = make_task(lenient=True, columns={"price": rule})
    grade = graded(task, "id,price\na,10\n", f"id,price\na,{value}\n")
    if isinstance(expected, str) and grade.not_finite is None:
        assert grade.why == f"submission.csv: column 'price' must be {expected} for id 'a'."
    else:
        assert (grade.score if grade.not_finite is None else grade.not_finite) == expected
        assert grade.valid_submission


def two_rows(values):
    return "id,price\n" + "".join(f"{id},{value}\n" for id, value in zip("ab", values, strict=True))


CLASSES = [
        (["1", "2"], ["1", "3"], 0.5),
        (["1", "2"], ["1.0", "2.0"], 1.0),
        (["1", "2"], ["1", "2.5"], "integers, but is '2.5' for id 'b'"),
        (["1", "2"], ["1", "9223372036854774784.0"], 0.5),
        (["1", "2"], ["1", "9223372036854775808.0"], "integers, but is '9.223372036854776e+18' for id 'b'"),
        (["1", "2"], ["1", "-9223372036854775808.0"], 0.5),
        (["1", "2"], ["1", "18446744073709551615"], 0.5),
        (["1", "2"], ["1", "1e155"], "integers, but is '1e+155' for id 'b'"),
        (["1", "2"], ["1", ""], "integers, but is empty for id 'b'"),
        (["1", "2"], ["1", "x"], "integers or booleans only, as in the answers, but is '1' for id 'a'"),
        (["True", "False"], ["true", "FALSE"], 1.0),
        (["True", "False"], ["1", "1"], 0.5),
        (["True", "False"], ["yes", "no"], "integers or booleans only, as in the answers, but is 'yes'"),
        (["cat", "dog"], ["cat", "1"], 0.5),
        (["cat", "dog"], ["cat", "bird"], 0.5),
        (["cat", "dog"], ["cat", ""], "text, but is empty for id 'b'"),
        (["cat", "dog"], ["1", "2"], "text, as the answers do, but is '1' for id 'a'"),
        (["cat", "dog"], ["True", "False"], "text, as the answers do, but is 'True' for id 'a'"),
    ]  # fmt: skip


@pytest.mark.parametrize(("truth", "submitted", "expected"), CLASSES)
def test_classes_are_compared_only_with_classes_of_their_kind(outcome, truth, submitted, expected):
    files = [two_rows(submitted), two_rows(truth)]
    result = outcome(*files, columns={"price": {"type": "category"}}, metric="accuracy", direction="higher")
    if isinstance(expected, str):
        assert result.startswith(f"submission.csv: column 'price' must be {expected}")
    else:
        assert result == expected


def test_a_missing_class_may_stand_for_one(outcome):
    rule = {"columns": {"price": {"type": "category", "missing": ""}}, "metric": "accuracy", "direction": "higher"}
    assert outcome("id,price\na,cat\nb,\n", "id,price\na,cat\nb,dog\n", **rule) == 0.5
    assert outcome("id,price\na,\nb,\n", "id,price\na,cat\nb,dog\n", **rule) == 0.0


TEXTS = [
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
]


@pytest.mark.parametrize(("rule", "truth", "submitted", "expected"), TEXTS)
def test_texts_are_what_python_writes(outcome, rule, truth, submitted, expected):
    files = [two_rows(submitted), two_rows(truth)]
    result = outcome(*files, columns={"price": {"type": "text", **rule}}, metric="accuracy", direction="higher")
    assert result == (f"submission.csv: column 'price' must be {expected}." if isinstance(expected, str) else expected)


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
    grades = {
        name: grade_submission(tmp_path / name, replace(prepared, task=task), home=home) for name in files + others
    }
    assert [name for name, grade in grades.items() if grade.submission_exists] == ["a.csv", "a.CSV"]


@pytest.fixture
def columns_outcome(make_task, graded):
    """The score of a submission, or why it has none, on a task with two columns and the published rules."""

    def judge(submission: str, answers: str = PAIRS, **rules):
        grade = graded(make_task(lenient=True, **({"columns": AB} | rules)), answers, submission)
        return grade.why or grade.score

    return judge


def test_columns_count_by_name_in_any_order(columns_outcome):
    assert columns_outcome("b,id,a\n0.75,1,0.25\n0.5,2,0.5\n") == 0


def test_further_columns_are_left_out_or_refused(columns_outcome):
    submission = "id,a,note,b\n1,0.25,x,0.75\n2,0.5,,0.5\n"
    assert columns_outcome(submission, more_columns=True) == 0
    assert columns_outcome(submission) == "submission.csv has unknown column 'note'; the columns must be id, a, b."


def test_a_name_that_comes_twice_counts_the_first_time(columns_outcome):
    submission = "id,a,b,a\n1,0.25,0.75,9\n2,0.5,0.5,9\n"
    assert columns_outcome(submission, more_columns=True) == 0
    assert columns_outcome(submission) == "submission.csv has unknown column 'a.1'; the columns must be id, a, b."


def test_one_extra_value_in_every_row_makes_the_first_column_an_index(columns_outcome):
    assert columns_outcome("id,a,b\n7,1,0.25,0.75\n8,2,0.5,0.5\n") == 0


def test_columns_matched_by_position_count_in_file_order_and_allow_no_extra_column(columns_outcome):
    crossed = "id,b,a\n1,0.25,0.75\n2,0.5,0.5\n"
    assert columns_outcome(crossed, by_position=True) == 0
    assert columns_outcome("a,id,b\n0.25,1,0.75\n0.5,2,0.5\n", by_position=True) == 0
    why = "submission.csv has unknown column 'c'; the columns must be id, a, b."
    assert columns_outcome("id,a,b,c\n1,1,1,1\n2,1,1,1\n", by_position=True, more_columns=True) == why
    why = "submission.csv has no column 'b': it has 'id', 'a', 'c', but the columns must be id, a, b."
    assert columns_outcome("id,a,c\n1,1,1\n2,1,1\n", by_position=True) == why


def test_the_order_of_columns_may_matter(columns_outcome):
    last, crossed = "a,b,id\n0.25,0.75,1\n0.5,0.5,2\n", "id,b,a\n1,0.75,0.25\n2,0.5,0.5\n"
    assert columns_outcome(crossed, order="id-first") == 0
    assert columns_outcome(last, order="id-first") == "submission.csv starts with column 'a'; the first must be 'id'."
    why = "submission.csv has its columns in another order; the columns must be id, a, b, in this order."
    assert columns_outcome(crossed, order="exact") == why
    assert columns_outcome(PAIRS, order="exact") == 0


def test_an_unscored_column_is_required_and_may_contain_anything(columns_outcome):
    rules = {"columns": {"a": NUMBER, "b": {"type": "number", "scored": False}}}
    assert columns_outcome("id,a,b\n1,0.25,\n2,0.5,x\n", **rules) == 0
    why = "submission.csv has no column 'b': it has 'id', 'a', but the columns must be id, a, b."
    assert columns_outcome("id,a\n1,0.25\n2,0.5\n", **rules) == why


@pytest.mark.parametrize("submission", ("a,b\n0.25,0.75\n0.5,0.5\n", "id,a,b\nx,0.25,0.75\nx,0.5,0.5\n"))
def test_rows_matched_by_position_need_no_id_column(columns_outcome, submission):
    assert columns_outcome(submission, ids="positional") == 0


@pytest.mark.parametrize(
    ("rule", "last", "expected"),
    [
        ({"tolerance": 1.1e-5}, "0.5000105", 0.0),
        ({"tolerance": 1.1e-5}, "0.500012", "1, but are 1.000012 for id '2'."),
        ({"tolerance": 1.1e-5}, "0.499988", "1, but are 0.999988 for id '2'."),
        ({"tolerance": 0, "decimals": 6}, "0.5000004", 0.0),
        ({"tolerance": 0, "decimals": 6}, "0.5000006", "1, but are 1.0000006 for id '2'."),
        ({"tolerance": 0, "decimals": 5}, "0.500005", 0.0),  # 100000.5, which NumPy rounds to even
        ({"tolerance": 0.1, "to": 2}, "0.5", "2, but are 1 for id '1', and those of 1 more rows are wrong."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("lenient", [True, False])
def test_rows_must_add_up_in_both_ways_of_reading(make_task, graded, rule, last, expected, lenient):
    task = make_task(lenient=lenient, columns=AB, row_sum=rule)
    grade = graded(task, PAIRS, f"id,a,b\n1,0.25,0.75\n2,0.5,{last}\n")
    if isinstance(expected, str):
        assert grade.why == f"submission.csv: the values of a row must add up to {expected}"
    else:
        assert grade.score == pytest.approx(expected, abs=1e-5)
