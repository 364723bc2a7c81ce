"""Metrics of texts give what their formulas give by hand and what libraries give; published slips are reproduced."""

import math
import sys

import numpy as np
import pytest
import sklearn.metrics
import sklearn.preprocessing
from hypothesis import given
from hypothesis import strategies as st
from task_metrics import task_metric

from assay.core.errors import AssayError, InvalidSubmission
from assay.grading.metrics.text import mean_levenshtein, mean_word_jaccard

bits_per_byte = task_metric("bits_per_byte")
nq_micro_f1 = task_metric("nq_micro_f1")
TEXT = st.text(alphabet="ab é", max_size=8)
WORDS = st.lists(st.sampled_from(["a", "B", "b", "नमस्ते", "c"]), max_size=5).map(" ".join)
ANSWER = st.sampled_from(["", "YES", "NO", "3:7", "8:9"])


def texts(*values):
    return np.array(values, dtype=object)


def edits(left, right):
    """The textbook recurrence."""
    if not left or not right:
        return len(left) + len(right)
    row = list(range(len(right) + 1))
    for i, character in enumerate(left, 1):
        above, row = row, [i]
        for j, other in enumerate(right, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (character != other)))
    return row[-1]


def test_bits_are_shared_out_over_all_bytes_together():
    # (20 + 100) bits over (10 + 20) bytes are 4; the mean of the texts' own 2 and 5 would be 3.5.
    assert bits_per_byte(np.array([10, 20]), np.array([20.0, 100.0])) == 4.0


def test_bits_per_byte_do_not_depend_on_the_tokenization():
    # "abab" in four tokens of probability 1/2 each, or in two of 1/4: 4 bits. Per token that is 1, or 2.
    by_bytes, by_words = -4 * math.log2(1 / 2), -2 * math.log2(1 / 4)
    assert bits_per_byte(np.array([4]), np.array([by_bytes])) == bits_per_byte(np.array([4]), np.array([by_words])) == 1


def test_texts_without_a_byte_have_no_score():
    assert math.isnan(bits_per_byte(np.array([0]), np.array([0.0])))


def test_edits_are_averaged_over_rows():
    # kitten → sitting takes 3 edits, a missing word 4 (with its space), equal texts none.
    truth = texts("sitting", "a big cat", "same")
    assert mean_levenshtein(truth, texts("kitten", "a cat", "same")) == pytest.approx((3 + 4 + 0) / 3)


def test_a_character_is_a_code_point_and_case_counts():
    assert mean_levenshtein(texts("InChI", "é", "日本"), texts("inChI", "e", "日")) == 1.0


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=10))
def test_edits_equal_the_textbook_recurrence_whichever_way(pairs):
    truth, prediction = texts(*[true for true, _ in pairs]), texts(*[predicted for _, predicted in pairs])
    expected = np.mean([edits(*pair) for pair in pairs])
    assert mean_levenshtein(truth, prediction) == pytest.approx(expected)
    assert mean_levenshtein(prediction[::-1], truth[::-1]) == pytest.approx(expected)


def test_edits_without_the_package_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(AssayError, match=r"\[mlebench\]"):
        mean_levenshtein(texts("a"), texts("b"))


def test_common_words_are_counted_once_and_case_insensitively():
    # {i, like, it} and {like, it, all}: 2 of 4. Equal but for case, order, repetition and spacing: 1. Nothing: 0.
    truth, prediction = texts("I like it", "Good day", "x"), texts("like IT all", " day\tgood  good", "y z")
    assert mean_word_jaccard(truth, prediction) == pytest.approx((0.5 + 1 + 0) / 3)


@pytest.mark.parametrize(
    ("truth", "sample"),
    [(texts("so sad", "fun"), texts("", "")), (texts("नरेन्द्र मोदी", "1947"), texts("dummy text", "dummy text"))],
)
def test_the_sample_submissions_score_the_published_zero(truth, sample):
    # tweet-sentiment-extraction submits nothing, chaii-hindi-and-tamil-question-answering 'dummy text'.
    assert mean_word_jaccard(truth, sample) == 0.0


def test_a_row_without_words_on_both_sides_scores_the_value_of_the_parameter():
    truth, prediction = texts("", "a"), texts(" ", "a")
    assert math.isnan(mean_word_jaccard(truth, prediction))
    assert mean_word_jaccard(truth, prediction, both_empty=0.0) == 0.5


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=10))
def test_words_in_common_equal_those_of_scikit_learn(pairs):
    truth, prediction = texts(*[true for true, _ in pairs]), texts(*[predicted for _, predicted in pairs])
    sets = sklearn.preprocessing.MultiLabelBinarizer(classes=["a", "b", "c", "नमस्ते"])
    marked = [sets.fit_transform([set(text.lower().split()) for text in side]) for side in (truth, prediction)]
    expected = sklearn.metrics.jaccard_score(*marked, average="samples", zero_division=0)
    assert mean_word_jaccard(truth, prediction, both_empty=0.0) == pytest.approx(expected)


def test_questions_are_scored_where_an_answer_exists_or_is_submitted():
    truth = texts("3:7 8:9", "YES", "1:2", "", "", "4:5")
    prediction = texts("8:9", "YES", "1:3", "6:7", "", "")
    # Right: 8:9 and YES. Wrong: 1:3 and 6:7. Missed: 4:5. The fifth row does not count.
    assert nq_micro_f1(truth, prediction) == pytest.approx(2 * 2 / (2 * 2 + 2 + 1))
    # The published grader counts it: 3 of 6 rows are as they should be.
    assert nq_micro_f1(truth, prediction, count_true_negatives=True) == 0.5


def test_answering_nothing_scores_zero_and_as_published_the_share_of_unanswerable_questions():
    truth, nothing = texts("1:2", "", "YES", "", ""), texts("", "", "", "", "")
    assert nq_micro_f1(truth, nothing) == 0.0
    assert nq_micro_f1(truth, nothing, count_true_negatives=True) == 0.6


@given(st.lists(st.tuples(st.sets(ANSWER), ANSWER), min_size=1, max_size=12))
def test_answers_equal_the_two_f1_scores_of_scikit_learn(rows):
    truth, prediction = (
        texts(*[" ".join(sorted(right)) for right, _ in rows]),
        texts(*[predicted for _, predicted in rows]),
    )
    answered = [predicted != "" for _, predicted in rows]
    correct = [predicted in right if predicted else bool(right - {""}) for right, predicted in rows]
    own = sklearn.metrics.f1_score(correct, answered, zero_division=np.nan)
    published = sklearn.metrics.f1_score(correct, answered, average="micro")
    assert nq_micro_f1(truth, prediction) == pytest.approx(own, nan_ok=True)
    assert nq_micro_f1(truth, prediction, count_true_negatives=True) == pytest.approx(published)


def test_answers_are_compared_as_numbers():
    assert nq_micro_f1(texts("3:7"), texts("03:7")) == 1.0


@pytest.mark.parametrize("text", ["yes", "3", "3:", "a:b", "3:7:9", "3-7", "NONE"])
def test_something_that_is_not_an_answer_is_refused(text):
    with pytest.raises(InvalidSubmission, match="not an answer"):
        nq_micro_f1(texts("3:7"), texts(text))


@pytest.mark.parametrize("metric", [mean_levenshtein, mean_word_jaccard, nq_micro_f1])
def test_no_rows_have_no_score(metric):
    assert math.isnan(metric(texts(), texts()))


def test_the_score_is_undefined_if_no_question_has_an_answer_and_none_is_submitted():
    assert math.isnan(nq_micro_f1(texts("", ""), texts("", "")))
    assert nq_micro_f1(texts("", ""), texts("", ""), count_true_negatives=True) == 1.0
    assert math.isnan(nq_micro_f1(texts(), texts(), count_true_negatives=True))
