"""Metrics of order and of lists of labels: numbers worked by hand, scikit-learn's, and what published graders do."""

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MultiLabelBinarizer
from task_metrics import task_metric

from assay.core.errors import InvalidSubmission
from assay.grading.metrics.classification import mean_column_roc_auc, roc_auc
from assay.grading.metrics.multilabel import map_at_k, multilabel_mean_f1, multilabel_micro_f1

jigsaw_bias_auc = task_metric("jigsaw_bias_auc")
label_weighted_lrap = task_metric("label_weighted_lrap")
weighted_roc_auc = task_metric("weighted_roc_auc")
SCORED = st.lists(st.tuples(st.booleans(), st.integers(-6, 6)), max_size=40)
LABELS = st.lists(st.sampled_from("abcdef"), max_size=4)
LABELLED = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=12)


def text(*rows):
    return np.array(rows, dtype=object)


def both_classes(rows):
    """Rows with one positive and one negative added, as arrays."""
    truth, prediction = zip(*rows, (True, 1), (False, 1), strict=True)
    return np.array(truth), np.array(prediction, dtype=float)


def joined(rows):
    return [text(*(" ".join(labels) for labels in side)) for side in zip(*rows, strict=True)]


def test_mean_column_auc_leaves_out_unscored_rows():
    # The last row would spoil both columns; without it the AUCs are 1 and 1/2.
    truth = np.array([[0, 0], [1, 1], [-1, -1]])
    prediction = np.array([[0.1, 0.3], [0.2, 0.3], [0.9, 0.0]])
    scored = task_metric("mean_column_roc_auc")
    assert scored(truth, prediction) == 0.75
    assert math.isnan(scored(np.full((3, 2), -1), np.zeros((3, 2))))


def test_mean_column_auc_has_no_value_where_a_column_has_one_class():
    assert math.isnan(mean_column_roc_auc(np.array([[0, 1], [1, 1]]), np.array([[0.1, 0.2], [0.3, 0.4]])))


@given(SCORED, SCORED)
def test_mean_column_auc_equals_that_of_scikit_learn(left, right):
    rows = min(len(left), len(right))
    columns = [both_classes(side[:rows]) for side in (left, right)]
    truth, prediction = (np.column_stack(arrays) for arrays in zip(*columns, strict=True))
    expected = sklearn.metrics.roc_auc_score(truth, prediction, average="macro")
    assert mean_column_roc_auc(truth, prediction) == pytest.approx(expected)


def test_weighted_auc_by_hand():
    # From the best: positive, negative, positive. The curve goes up to (0, 1/2), right to (1, 1/2), up to (1, 1). Up to
    # a hit rate of 1/2 the false rate is 0, then 1: areas 0.4 and 0.1, so (2 * 0.4 + 0.1) / 1.4.
    assert weighted_roc_auc(np.array([1, 0, 1]), np.array([3, 2, 1])) == pytest.approx(0.9 / 1.4)
    # A positive and a negative tied above, and tied below: straight from (0, 0) by (1/2, 1/2) to (1, 1), where the
    # areas are 0.4 - 0.4²/2 = 0.32 and 0.6 - (1 - 0.4²)/2 = 0.18.
    assert weighted_roc_auc(np.array([1, 0, 1, 0]), np.array([2, 2, 1, 1])) == pytest.approx(0.82 / 1.4)


@given(SCORED)
def test_weighted_auc_equals_bands_cut_from_the_curve_of_scikit_learn(rows):
    truth, prediction = both_classes(rows)
    false_rate, hit_rate, _ = sklearn.metrics.roc_curve(truth, prediction, drop_intermediate=False)
    # The integral by many small steps of the hit rate, in the middle of which the curve is read.
    steps = 20_000
    middle = (np.arange(steps) + 0.5) / steps
    gain = 1 - np.interp(middle, hit_rate, false_rate)
    expected = np.sum(np.where(middle < 0.4, 2, 1) * gain) / steps / 1.4
    assert weighted_roc_auc(truth, prediction) == pytest.approx(expected, abs=2e-4)


@given(SCORED, st.lists(st.floats(0.01, 0.99), max_size=3, unique=True))
def test_bands_of_equal_weight_make_the_usual_auc(rows, cuts):
    truth, prediction = both_classes(rows)
    thresholds = [0.0, *sorted(cuts), 1.0]
    score = weighted_roc_auc(truth, prediction, thresholds=thresholds, weights=[3.0] * (len(cuts) + 1))
    assert score == pytest.approx(roc_auc(truth, prediction))


IDENTITIES = np.array([[0.9, 0.0], [0.5, np.nan], [0.6, 1.0], [1.0, 0.7], [0.0, 0.8], [0.4, 0.5], [0.1, 0.2], [0, 0]])
TOXICITY = np.array([0.5, 0.1, 0.9, 0.4, 0.8, 0.0, 0.7, 0.49])


def power_mean(values):
    return np.mean(np.array(values) ** -5.0) ** -0.2


def test_bias_auc_equals_its_parts_taken_from_scikit_learn():
    prediction = np.array([0.6, 0.5, 0.7, 0.55, 0.9, 0.65, 0.58, 0.2])
    toxic = TOXICITY >= 0.5
    # Rows chosen by hand from the table above, for the first and the second identity.
    subgroup = [[0, 1, 2, 3], [2, 3, 4, 5]]
    background_positive = [[1, 3, 4, 6], [3, 5, 0, 6]]
    background_negative = [[0, 2, 5, 7], [2, 4, 1, 7]]
    parts = [sklearn.metrics.roc_auc_score(toxic, prediction)]
    for kind in (subgroup, background_positive, background_negative):
        parts.append(power_mean([sklearn.metrics.roc_auc_score(toxic[rows], prediction[rows]) for rows in kind]))
    score = jigsaw_bias_auc(TOXICITY, prediction, identities=IDENTITIES)
    assert score == pytest.approx(np.mean(parts))
    assert 0.5 < score < 1


def test_a_perfect_ranking_below_one_half_scores_nothing_after_thresholding_at_one_half():
    prediction = np.where(TOXICITY >= 0.5, 0.4, 0.3)
    assert jigsaw_bias_auc(TOXICITY, prediction, identities=IDENTITIES) == pytest.approx(1.0)
    cut = jigsaw_bias_auc(TOXICITY, prediction, identities=IDENTITIES, threshold_predictions=True)
    assert cut == pytest.approx(0.5)


def test_an_identity_that_is_always_ranked_wrongly_lowers_the_score_by_its_whole_weight():
    # Of the rows that speak of the first identity the toxic come last: that power mean is 0.
    prediction = np.array([0.1, 0.8, 0.1, 0.8, 0.9, 0.2, 0.9, 0.0])
    score = jigsaw_bias_auc(TOXICITY, prediction, identities=IDENTITIES)
    toxic = TOXICITY >= 0.5
    assert sklearn.metrics.roc_auc_score(toxic[:4], prediction[:4]) == 0
    assert score <= 0.75
    with pytest.raises(InvalidSubmission, match="AUC of an identity is 0"):
        jigsaw_bias_auc(TOXICITY, prediction, identities=IDENTITIES, refuse_zero_auc=True)


def test_an_identity_without_rows_leaves_no_bias_auc():
    assert math.isnan(jigsaw_bias_auc(TOXICITY, TOXICITY, identities=np.zeros(8)))
    with pytest.raises(InvalidSubmission, match="has no rows"):
        jigsaw_bias_auc(TOXICITY, TOXICITY, identities=np.zeros(8), refuse_zero_auc=True)


@given(SCORED, st.sampled_from([np.exp, np.cbrt, lambda score: 3 * score - 2]), st.randoms(use_true_random=False))
def test_ranking_metrics_are_invariant_under_scale_and_row_order(rows, rescale, random):
    truth, prediction = both_classes(rows)
    order = random.sample(range(len(truth)), len(truth))
    for score in (roc_auc, weighted_roc_auc, mean_column_roc_auc):
        assert score(truth[order], rescale(prediction[order])) == pytest.approx(score(truth, prediction))


@given(st.permutations(range(8)), st.lists(st.integers(0, 5), min_size=8, max_size=8))
def test_bias_auc_is_invariant_under_scale_and_row_order(order, prediction):
    prediction = np.array(prediction, dtype=float)
    score = jigsaw_bias_auc(TOXICITY, prediction, identities=IDENTITIES)
    again = jigsaw_bias_auc(TOXICITY[order], np.exp(prediction[order]), identities=IDENTITIES[order][:, ::-1])
    assert again == pytest.approx(score)


def test_each_true_label_weighs_the_same_in_lrap():
    # Row one: true labels at ranks 1 and 3: 1 and 2/3. Row two: rank 2: 1/2. Row three has no label.
    truth = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    prediction = np.array([[0.9, 0.5, 0.1], [0.7, 0.5, 0.1], [0.1, 0.2, 0.3]])
    assert label_weighted_lrap(truth, prediction) == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)


def test_only_rows_that_count_need_scores_for_lrap():
    truth, nothing = np.array([[1, 0], [0, 0]]), np.array([[1, 0], [np.nan, np.inf]])
    assert label_weighted_lrap(truth, nothing) == 1.0
    with pytest.raises(InvalidSubmission, match="missing or infinite"):
        label_weighted_lrap(truth[::-1], nothing)


def test_nothing_to_rank_has_no_lrap():
    assert math.isnan(label_weighted_lrap(np.zeros((2, 3)), np.ones((2, 3))))


TAGGED = st.lists(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=5, max_size=5), min_size=1, max_size=9)


@given(TAGGED, st.permutations(range(5)))
def test_lrap_equals_that_of_scikit_learn_and_does_not_change_with_scale_or_the_order_of_columns(rows, order):
    truth = np.array([[true for true, _ in row] for row in rows] + [[True, False, False, False, False]])
    prediction = np.array([[score for _, score in row] for row in rows] + [[1, 2, 3, 4, 5]], dtype=float)
    labels = truth.sum(axis=1)
    expected = sklearn.metrics.label_ranking_average_precision_score(
        truth[labels > 0], prediction[labels > 0], sample_weight=labels[labels > 0]
    )
    assert label_weighted_lrap(truth, prediction) == pytest.approx(expected)
    assert label_weighted_lrap(truth[:, order], np.exp(prediction[:, order])) == pytest.approx(expected)


def test_mean_average_precision_by_hand():
    # Row one: hits at places 1 and 3, of two true labels: (1 + 2/3) / 2. Row two: place 2 of one: 1/2. Row three: 0.
    truth, prediction = text("a b", "c", "d"), text("a x b", "x c c", "")
    assert map_at_k(truth, prediction, k=5) == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2) / 3)


@pytest.mark.parametrize(
    ("truth", "prediction", "by_hand"),
    [
        ("a", "x x a", 1 / 3),
        # The third place is beyond k, and three true labels can earn only two hits.
        ("a b c", "x x a", 0.0),
        ("a b c", "a b c", 1.0),
        # A repeated hit earns nothing and takes a place: (1 + 2/3) / 2.
        ("a b", "a a b", (1 + 2 / 3) / 2),
        # A true label that is listed twice is one label.
        ("a a", "a", 1.0),
    ],
)
def test_average_precision_of_one_row_by_hand(truth, prediction, by_hand):
    k = 2 if truth == "a b c" else 3
    assert map_at_k(text(truth), text(prediction), k=k) == pytest.approx(by_hand)


@given(st.permutations("abcdefgh"), st.sampled_from("abcdefgh"), st.integers(1, 8))
def test_with_one_true_label_it_is_one_over_its_place(guesses, true, k):
    rank = guesses.index(true) + 1
    score = map_at_k(text(true), text(" ".join(guesses)), k=k)
    assert score == pytest.approx(1 / rank if rank <= k else 0)


@given(st.lists(st.booleans(), min_size=1, max_size=8).filter(any))
def test_ranking_every_label_has_the_average_precision_of_scikit_learn(relevant):
    labels = [f"label{number}" for number in range(len(relevant))]
    true = " ".join(label for label, is_true in zip(labels, relevant, strict=True) if is_true)
    expected = sklearn.metrics.average_precision_score(relevant, -np.arange(len(relevant)))
    assert map_at_k(text(true), text(" ".join(labels)), k=len(labels)) == pytest.approx(expected)


def test_a_doubled_space_is_an_empty_guess_only_where_a_single_space_separates():
    assert map_at_k(text("a"), text("x  a"), k=5) == pytest.approx(1 / 2)
    assert map_at_k(text("a"), text("x  a"), k=5, separator=" ") == pytest.approx(1 / 3)


def test_ids_in_their_official_form_score_zero_against_answers_that_lost_their_zeros_as_published():
    """The sample of h-and-m-personalized-fashion-recommendations scores 0.0."""
    answers, official = text("706016001 372860001"), text("0706016001 0372860001")
    assert map_at_k(answers, official, k=12) == 0.0
    recommended = task_metric("map_at_k")
    assert recommended(answers, official, k=12) == 0.0
    assert recommended(answers, official, k=12, ignore_leading_zeros=True) == 1.0


def test_rows_without_a_true_label_do_not_count():
    assert map_at_k(text("a", ""), text("a", "b"), k=5) == 1.0
    assert math.isnan(map_at_k(text(""), text("b"), k=5))


def test_f1_of_pooled_labels_and_of_rows_by_hand():
    # Hits 1 + 1, true 2 + 1, predicted 1 + 3: pooled 4/7; rows 2/3 and 2/4.
    truth, prediction = text("a b", "c"), text("a a", "c  a b")
    assert multilabel_micro_f1(truth, prediction) == pytest.approx(4 / 7)
    assert multilabel_mean_f1(truth, prediction) == pytest.approx((2 / 3 + 2 / 4) / 2)


def test_labels_may_be_numbers():
    assert multilabel_micro_f1(np.array([0, 5]), np.array([0, 6])) == 0.5


def test_unknown_labels_cost_unless_a_grader_ignores_them():
    truth, prediction = text("a", "b"), text("a x y z", "b a")
    assert multilabel_micro_f1(truth, prediction) == pytest.approx(4 / 8)
    assert multilabel_micro_f1(truth, prediction, unknown_labels_free=True) == pytest.approx(4 / 5)


@given(LABELLED)
def test_f1_of_labels_equals_that_of_scikit_learn_with_all_labels_or_with_those_of_truth(rows):
    # Two labels at least, as scikit-learn takes a table of one column for something else.
    rows = [*rows, (["a", "b"], ["a", "f"])]
    truth, prediction = joined(rows)
    true, predicted = zip(*rows, strict=True)
    for free, labels in ((False, sorted("abcdef")), (True, sorted(set().union(*true)))):
        binarizer = MultiLabelBinarizer(classes=labels)
        known = [[label for label in row if label in labels] for row in predicted]
        expected = sklearn.metrics.f1_score(binarizer.fit_transform(true), binarizer.transform(known), average="micro")
        assert multilabel_micro_f1(truth, prediction, unknown_labels_free=free) == pytest.approx(expected)
    binarizer = MultiLabelBinarizer(classes=sorted("abcdef"))
    tables = binarizer.fit_transform(true), binarizer.transform(predicted)
    expected = sklearn.metrics.f1_score(*tables, average="samples", zero_division=1.0)
    assert multilabel_mean_f1(truth, prediction) == pytest.approx(expected)


@given(LABELLED, st.permutations("abcdef"), st.randoms(use_true_random=False))
def test_scores_of_ranked_lists_are_invariant_under_item_names_and_row_order(rows, names, random):
    rename = dict(zip("abcdef", names, strict=True))
    shuffled = random.sample(rows, len(rows))
    renamed = [tuple([rename[label] for label in side] for side in row) for row in shuffled]
    for score in (multilabel_micro_f1, multilabel_mean_f1, lambda *sides: map_at_k(*sides, k=3)):
        assert score(*joined(renamed)) == pytest.approx(score(*joined(rows)), nan_ok=True)


@pytest.mark.parametrize(
    "score",
    [mean_column_roc_auc, weighted_roc_auc, label_weighted_lrap, multilabel_micro_f1, multilabel_mean_f1],
)
def test_no_rows_have_no_score(score):
    assert math.isnan(score(np.empty(0), np.empty(0)))


def test_a_constant_prediction_scores_as_in_the_published_grader():
    truth, constant = TOXICITY >= 0.5, np.full(8, 0.3)
    assert roc_auc(truth, constant) == 0.5
    assert mean_column_roc_auc(np.column_stack([truth, ~truth]), np.column_stack([constant, constant])) == 0.5
    assert round(weighted_roc_auc(truth, constant), 5) == 0.58571
    for threshold_predictions in (True, False):
        score = jigsaw_bias_auc(TOXICITY, constant, identities=IDENTITIES, threshold_predictions=threshold_predictions)
        assert score == pytest.approx(0.5)


def test_answers_score_one():
    assert weighted_roc_auc(TOXICITY >= 0.5, TOXICITY) == pytest.approx(1.0)
    assert jigsaw_bias_auc(TOXICITY, TOXICITY, identities=IDENTITIES, threshold_predictions=True) == pytest.approx(1.0)
