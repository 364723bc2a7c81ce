"""Metrics of orders and sequences give what their formulas give by hand, and what libraries give."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from task_metrics import task_metric

from assay.core.errors import InvalidSubmission

kendall_tau_pooled = task_metric("kendall_tau_pooled")
normalized_edit_distance = task_metric("normalized_edit_distance")
ORDERS = st.lists(st.integers(1, 12).flatmap(lambda size: st.permutations(range(size))), min_size=1, max_size=8)


def rows(*values):
    return np.array(values, dtype=object)


def joined(sequences):
    return rows(*[" ".join(map(str, sequence)) for sequence in sequences])


@pytest.mark.parametrize(
    ("prediction", "by_hand"),
    [
        ("a b c d", 1.0),
        ("d c b a", -1.0),
        ("b a c d", 1 - 4 * 1 / 12),
        # d stands before a, b and c: 3 pairs of 6 are turned round.
        ("d a b c", 0.0),
    ],
)
def test_order_of_one_row_worked_by_hand(prediction, by_hand):
    assert kendall_tau_pooled(rows("a b c d"), rows(prediction)) == pytest.approx(by_hand)


def test_pairs_of_all_rows_are_pooled_so_that_long_rows_weigh_more():
    truth, prediction = rows("a b", "p q r s", "z"), rows("b a", "p q r s", "z")
    # 1 pair turned round; n (n - 1) is 2 + 12 + 0. The mean over rows would be 0.
    assert kendall_tau_pooled(truth, prediction) == pytest.approx(1 - 4 / 14)


@given(st.permutations(range(30)))
def test_kendall_tau_of_one_row_equals_that_of_scipy(order):
    expected = scipy.stats.kendalltau(range(30), order).statistic
    assert kendall_tau_pooled(joined([range(30)]), joined([order])) == pytest.approx(expected)


@given(ORDERS)
def test_kendall_tau_equals_a_count_of_all_pairs_and_is_symmetric(orders):
    truth, prediction = joined([sorted(order) for order in orders]), joined(orders)
    turned = sum(item > other for order in orders for i, item in enumerate(order) for other in order[i + 1 :])
    pairs = sum(len(order) * (len(order) - 1) for order in orders)
    expected = pytest.approx(1 - 4 * turned / pairs if pairs else math.nan, nan_ok=True)
    assert kendall_tau_pooled(truth, prediction) == expected
    assert kendall_tau_pooled(prediction[::-1], truth[::-1]) == expected


def test_a_hundred_thousand_reversed_items_are_counted_exactly():
    order = range(100_000)
    assert kendall_tau_pooled(joined([order]), joined([order[::-1]])) == -1.0


@pytest.mark.parametrize(
    ("prediction", "why"),
    [("a b", "2 items"), ("a b b", "'b' is listed 2 times"), ("a b x", "'x' .* does not belong"), ("a b c d", "'d'")],
)
def test_an_order_that_is_not_of_the_rows_own_items_is_refused(prediction, why):
    with pytest.raises(InvalidSubmission, match=why):
        kendall_tau_pooled(rows("a b c"), rows(prediction))


@pytest.mark.parametrize("truth", [rows(), rows("a", "b"), rows("")])
def test_rows_without_pairs_have_no_order(truth):
    assert math.isnan(kendall_tau_pooled(truth, truth))


def test_edits_of_all_rows_are_divided_by_the_true_length():
    # One replaced, one removed and, in the second row, two added: 4 edits for 3 + 1 true gestures.
    assert normalized_edit_distance(rows("1 2 3", "9"), rows("1 20", "9 9 9")) == 1.0
    assert normalized_edit_distance(rows("1 2 3", "9"), rows("1 2 3", "9")) == 0.0


def test_edits_may_exceed_the_true_length():
    assert normalized_edit_distance(rows("5"), rows("1 2 3")) == 3.0


def test_numbers_are_compared_whole():
    # 12 for 1 2 is one replaced and one removed, not a matter of digits; 07 is 7.
    assert normalized_edit_distance(rows("1 2"), rows("12")) == 1.0
    assert normalized_edit_distance(rows("7 300"), rows("07 0300")) == 0.0


def test_moving_one_gesture_to_the_end_takes_two_edits():
    # The published first row of the sample submission of multi-modal-gesture-recognition.
    sample = "13 14 2 9 16 7 20 5 8 6 10 4 3 12 18 1 15 17 19 11"
    moved = " ".join(sample.split()[1:] + sample.split()[:1])
    assert normalized_edit_distance(rows(sample), rows(moved)) == pytest.approx(2 / 20)


@pytest.mark.parametrize("prediction", ["1 x", "nan", "1,2", "1.5"])
def test_something_that_is_not_an_integer_is_refused(prediction):
    with pytest.raises(InvalidSubmission, match="whole numbers"):
        normalized_edit_distance(rows("1 2"), rows(prediction))


@pytest.mark.parametrize("truth", [rows(), rows("", "")])
def test_truth_without_items_has_no_edit_distance(truth):
    assert math.isnan(normalized_edit_distance(truth, truth))
