"""Metrics of classes and probabilities: numbers worked by hand, scikit-learn's, and what published graders do."""

import io
import math

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from task_metrics import task_metric

from assay.core.errors import InvalidSubmission
from assay.formats.texts import MISSING_WORDS
from assay.grading.metrics.classification import accuracy, log_loss, macro_f1, quadratic_weighted_kappa

matthews_corrcoef = task_metric("matthews_corrcoef")
micro_f1_single_label = task_metric("micro_f1_single_label")
top1_error = task_metric("top1_error")
kl_divergence = task_metric("kl_divergence")
probabilistic_f1 = task_metric("probabilistic_f1")
weighted_multilabel_log_loss = task_metric("weighted_multilabel_log_loss")
FLOAT_PRECISION = 2.220446049250313e-16
PAIRS_OF_CLASSES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1)
CHANCE = st.floats(0.001, 0.999)
# rsna-2022: patient_overall, then seven vertebrae.
SPINE = {"positive_weight": [14, *[2] * 7], "negative_weight": [7, *[1] * 7]}


def columns(pairs):
    truth, prediction = zip(*pairs, strict=True)
    return np.array(truth), np.array(prediction)


def text(*rows):
    return np.array(rows, dtype=object)


def test_numbers_and_booleans_are_compared_by_value_whatever_their_type():
    assert accuracy(np.array([1, 2, 3]), np.array([1.0, 2.0, 3.5])) == pytest.approx(2 / 3)
    assert accuracy(np.array([True, False]), np.array([1, 0])) == 1.0


def test_text_is_never_equal_to_a_number():
    assert accuracy(np.array([1, 2]), text("1", "2")) == 0.0


def test_text_is_compared_letter_by_letter():
    assert accuracy(text("two", "Mr", "a "), text("two", "mr", "a")) == pytest.approx(1 / 3)


def test_words_that_mean_missing_are_distinct_labels_unless_a_grader_merges_them():
    truth, prediction = text("NA", "null", "none", "cat"), text("null", "", "None", "cat")
    assert accuracy(truth, prediction) == 0.25
    # "none" in small letters is a word like any other to pandas.
    assert accuracy(truth, prediction, missing_words_equal=True) == 0.75


def test_words_for_a_missing_value_are_those_of_pandas():
    words = sorted(MISSING_WORDS)
    table = pd.DataFrame({"id": range(len(words)), "word": words}).to_csv(index=False)
    assert pd.read_csv(io.StringIO(table))["word"].isna().all()


def test_only_the_first_guess_counts_for_the_top_one_error():
    truth = np.array([7, 8, 9, 10])
    assert top1_error(truth, np.array([7, 8, 9, 11])) == 0.25
    # First guesses 7, 8, 10, 9: two are wrong.
    assert top1_error(truth, text("7 1 2", "8", "10 9", " 9 10")) == 0.5
    assert top1_error(text("7", "8"), text("7 8", "7 8")) == 0.5


@pytest.mark.parametrize("guess", ["", "cat", "7.0"])
def test_a_first_guess_that_is_not_an_integer_has_no_top_one_error(guess):
    assert math.isnan(top1_error(np.array([7]), text(guess)))


@given(PAIRS_OF_CLASSES)
def test_micro_f1_of_one_label_per_row_equals_that_of_scikit_learn(pairs):
    truth, prediction = columns(pairs)
    expected = sklearn.metrics.f1_score(truth, prediction, average="micro")
    assert micro_f1_single_label(truth, prediction) == pytest.approx(expected)


def test_macro_f1_counts_a_class_that_is_never_true_as_zero():
    # Class a: 1 hit, true 2, predicted 1: 2/3. Class b: 1 hit, true 1, predicted 1: 1. Class c: never true: 0.
    assert macro_f1(text("a", "a", "b"), text("a", "c", "b")) == pytest.approx((2 / 3 + 1 + 0) / 3)


@given(PAIRS_OF_CLASSES)
def test_macro_f1_and_matthews_correlation_equal_those_of_scikit_learn(pairs):
    truth, prediction = columns([*pairs, (0, 1)])
    assert macro_f1(truth, prediction) == pytest.approx(sklearn.metrics.f1_score(truth, prediction, average="macro"))
    expected = sklearn.metrics.matthews_corrcoef(truth, prediction)
    assert matthews_corrcoef(truth, prediction) == pytest.approx(expected, abs=1e-12)


def test_matthews_correlation_of_two_classes_by_hand():
    # True positives 2, true negatives 1, false positives 1, false negatives 1:
    # (2 * 1 - 1 * 1) / sqrt(3 * 3 * 2 * 2) = 1 / 6.
    assert matthews_corrcoef(np.array([1, 1, 0, 0, 1]), np.array([1, 1, 0, 1, 0])) == pytest.approx(1 / 6)


def test_matthews_correlation_of_many_rows_does_not_overflow():
    truth = np.arange(200_000) % 2
    assert matthews_corrcoef(truth, truth) == 1.0
    assert matthews_corrcoef(truth, 1 - truth) == -1.0


@given(PAIRS_OF_CLASSES, st.permutations(range(5)), st.randoms(use_true_random=False))
def test_classification_scores_are_invariant_under_class_names_and_row_order(pairs, names, random):
    truth, prediction = columns(pairs)
    renamed = np.array(names)
    order = random.sample(range(len(pairs)), len(pairs))
    for score in (accuracy, macro_f1, matthews_corrcoef, top1_error):
        again = score(renamed[truth][order], renamed[prediction][order])
        assert again == pytest.approx(score(truth, prediction), abs=1e-12)


def test_kappa_by_hand():
    # Observed mean of squares: (0 + 0 + 1 + 4) / 4 = 1.25. Expected, over the 16 pairs of 0 1 2 2 and 0 1 1 0:
    # for 0: 0 1 1 0, for 1: 1 0 0 1, for 2 twice: 4 1 1 4: (2 + 2 + 10 + 10) / 16 = 1.5.
    assert quadratic_weighted_kappa(np.array([0, 1, 2, 2]), np.array([0, 1, 1, 0])) == pytest.approx(1 - 1.25 / 1.5)


@given(PAIRS_OF_CLASSES)
def test_kappa_equals_that_of_scikit_learn_over_all_grades_or_over_those_that_occur(pairs):
    truth, prediction = columns([*pairs, (0, 4)])
    cohen = sklearn.metrics.cohen_kappa_score
    by_value = cohen(truth, prediction, weights="quadratic", labels=range(5))
    by_position = cohen(truth, prediction, weights="quadratic")
    assert quadratic_weighted_kappa(truth, prediction) == pytest.approx(by_value, abs=1e-12)
    again = quadratic_weighted_kappa(truth, prediction, distance_by_position=True)
    assert again == pytest.approx(by_position, abs=1e-12)


def test_unused_grades_count_in_the_distance_unless_it_is_measured_by_position():
    truth, prediction = np.array([0, 0, 1, 4]), np.array([0, 1, 1, 1])
    # By value: 4 * (1 + 9) over 4 * (17 + 3) - 2 * 5 * 3 = 50. With 4 moved to place 2: 4 * (1 + 1) over
    # 4 * (5 + 3) - 2 * 3 * 3 = 14.
    assert quadratic_weighted_kappa(truth, prediction) == pytest.approx(1 - 40 / 50)
    by_position = quadratic_weighted_kappa(truth, prediction, distance_by_position=True)
    assert by_position == pytest.approx(1 - 8 / 14)


@given(PAIRS_OF_CLASSES, st.integers(-5, 5), st.integers(1, 3))
def test_kappa_is_invariant_under_shift_and_scale_of_the_grades(pairs, move, stretch):
    truth, prediction = columns([*pairs, (0, 1)])
    again = quadratic_weighted_kappa(stretch * truth + move, stretch * prediction + move)
    assert again == pytest.approx(quadratic_weighted_kappa(truth, prediction), abs=1e-12)


@pytest.mark.parametrize(("truth", "prediction"), [([1, 1], [1, 1]), ([0, 1], [0.5, 1.0]), ([], [])])
def test_kappa_has_no_value_for_one_grade_only_and_for_fractions(truth, prediction):
    assert math.isnan(quadratic_weighted_kappa(np.array(truth), np.array(prediction)))


def test_log_loss_rescales_rows_unless_told_otherwise():
    truth, prediction = np.array([[1, 0], [0, 1]]), np.array([[0.5, 0.5], [1.5, 0.5]])
    assert log_loss(truth, prediction) == pytest.approx((math.log(2) + math.log(4)) / 2)
    assert log_loss(truth, prediction, rescale_rows=False) == pytest.approx(math.log(2))


@given(st.lists(st.tuples(st.integers(0, 2), CHANCE, CHANCE), min_size=1))
def test_log_loss_with_the_published_parameters_equals_that_of_scikit_learn_at_its_limits_too(rows):
    probability = np.array([[a, b * (1 - a), (1 - a) * (1 - b)] for _, a, b in rows] + [[0.0, 1.0, 0.0]] * 2)
    truth = np.eye(3, dtype=int)[[true for true, _, _ in rows] + [0, 1]]
    expected = sklearn.metrics.log_loss(truth, probability)
    ours = log_loss(truth, probability, epsilon=FLOAT_PRECISION, rescale_rows=False)
    assert ours == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("answer", [0, 1])
def test_answers_of_a_single_class_have_a_log_loss_unless_both_classes_are_required(answer):
    """scikit-learn, and with it the published graders of one column of probabilities, raises there."""
    truth, prediction = np.array([answer] * 2), np.array([0.5, 0.5])
    assert log_loss(truth, prediction) == pytest.approx(math.log(2))
    with pytest.raises(ValueError, match="only one label"):
        sklearn.metrics.log_loss(truth, prediction)
    with pytest.raises(InvalidSubmission, match="all answers are of one class"):
        log_loss(truth, prediction, both_classes=True)
    assert log_loss(np.array([0, 1]), prediction, both_classes=True) == pytest.approx(math.log(2))


def test_kl_divergence_by_hand():
    # Votes 1 : 3 against halves: log(1/2) / 4 + 3 log(3/2) / 4. Second row: sure of what is true: 0.
    truth, prediction = np.array([[1, 3, 0], [0, 0, 5]]), np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    by_hand = (math.log(0.5) / 4 + 3 * math.log(1.5) / 4) / 2
    assert kl_divergence(truth, prediction) == pytest.approx(by_hand, abs=1e-14)
    assert kl_divergence(np.array([[0, 1]]), np.array([[1.0, 0.0]])) == pytest.approx(-math.log(1e-15))


@given(st.lists(st.tuples(st.lists(st.integers(1, 9), min_size=6, max_size=6), CHANCE), min_size=1))
def test_kl_divergence_equals_the_relative_entropy_of_scipy(rows):
    truth = np.array([votes for votes, _ in rows])
    prediction = np.array([[chance, *[(1 - chance) / 5] * 5] for _, chance in rows])
    expected = np.mean(entropy(truth.T, prediction.T))
    assert kl_divergence(truth, prediction) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_rows_without_votes_have_no_divergence():
    assert math.isnan(kl_divergence(np.array([[0, 0], [1, 1]]), np.array([[0.5, 0.5], [0.5, 0.5]])))


def test_missing_values_cost_nothing_where_the_published_grader_ignores_them():
    truth, prediction = np.array([[1, 1], [0, 1], [np.nan, 1]]), np.array([[np.nan, 1.0], [0.5, 0.5], [0.75, 0.25]])
    for row in (0, 2):
        assert math.isnan(kl_divergence(truth[[row]], prediction[[row]]))
    by_hand = (0.5 * math.log(0.5) + math.log(2) + math.log(4)) / 3
    assert kl_divergence(truth, prediction, missing_cost_nothing=True) == pytest.approx(by_hand)


def test_weighted_multilabel_log_loss_by_hand():
    # Study one: weights 14, 1; losses log 2, log 4. Study two: weights 7, 2; losses log 2, log 4.
    truth, prediction = np.array([[1, 0], [0, 1]]), np.array([[0.5, 0.75], [0.5, 0.25]])
    by_hand = ((14 * math.log(2) + math.log(4)) / 15 + (7 * math.log(2) + 2 * math.log(4)) / 9) / 2
    score = weighted_multilabel_log_loss(truth, prediction, positive_weight=[14, 2], negative_weight=[7, 1])
    assert score == pytest.approx(by_hand)
    # The same as one question per row, in which "all" weighs 7 times as much as "C1".
    rows = {"groups": np.array(["a", "a", "b", "b"]), "kinds": np.array(["all", "C1", "all", "C1"])}
    weights = {"positive_weight": 2, "negative_weight": 1, "heavy_kind": "all", "heavy_factor": 7}
    long = weighted_multilabel_log_loss(truth.ravel(), prediction.ravel(), **rows, **weights)
    assert long == pytest.approx(by_hand)


@given(st.lists(st.lists(st.tuples(st.booleans(), CHANCE), min_size=8, max_size=8), min_size=1, max_size=9))
def test_a_study_in_one_row_scores_as_one_spread_over_rows(studies):
    truth, prediction = (np.array([[pair[i] for pair in study] for study in studies]) for i in (0, 1))
    wide = weighted_multilabel_log_loss(truth, prediction, **SPINE)
    weights = {name: np.tile(each, len(studies)) for name, each in SPINE.items()}
    groups = np.repeat([f"study {number}" for number in range(len(studies))], 8)
    long = weighted_multilabel_log_loss(truth.ravel(), prediction.ravel(), groups=groups, **weights)
    assert long == pytest.approx(wide)
    # Scikit-learn weighs the answers of one study in the same way.
    weight = np.where(truth[0], SPINE["positive_weight"], SPINE["negative_weight"])
    expected = sklearn.metrics.log_loss(truth[0], prediction[0], sample_weight=weight, labels=[False, True])
    assert weighted_multilabel_log_loss(truth[:1], prediction[:1], **SPINE) == pytest.approx(expected)


def test_a_certain_mistake_costs_the_log_of_the_clipping_bound():
    """The published grader clips p and then takes 1 - p, and 1 - (1 - 1e-15) is 9.992e-16: its perfect score too."""
    truth, left = np.array([[0] * 8]), 1 - (1 - 1e-15)
    assert weighted_multilabel_log_loss(truth, truth + 1, **SPINE) == pytest.approx(-math.log(left), rel=1e-14)
    assert weighted_multilabel_log_loss(truth + 1, truth, **SPINE) == pytest.approx(-math.log(1e-15), rel=1e-14)
    assert weighted_multilabel_log_loss(truth, truth, **SPINE) == pytest.approx(9.992007221626415e-16)


def test_probabilistic_f1_by_hand():
    # Sum over positives 0.5 + 1 (cut from 3), over all 2.5 (cut from -1 to 0): precision 1.5/2.5, recall 1.5/2.
    truth, prediction = np.array([1, 1, 0, 0]), np.array([0.5, 3.0, 1.0, -1.0])
    precision, recall = 0.6, 0.75
    assert probabilistic_f1(truth, prediction) == pytest.approx(2 * precision * recall / (precision + recall))
    by_hand = 5 * precision * recall / (4 * precision + recall)
    assert probabilistic_f1(truth, prediction, beta=2) == pytest.approx(by_hand)


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_probabilistic_f1_of_sure_predictions_is_the_usual_f1(pairs):
    truth, prediction = columns([*pairs, (True, False)])
    expected = sklearn.metrics.f1_score(truth, prediction)
    assert probabilistic_f1(truth, prediction.astype(float)) == pytest.approx(expected)


def test_predicting_no_positives_scores_zero_and_probabilistic_f1_is_undefined_without_positives():
    assert probabilistic_f1(np.array([1, 0]), np.array([0.0, -1.0])) == 0.0
    assert math.isnan(probabilistic_f1(np.array([0, 0]), np.array([0.5, 0.5])))


@given(st.lists(st.tuples(st.booleans(), CHANCE, CHANCE), min_size=1), st.randoms(use_true_random=False))
def test_scores_of_probabilities_are_invariant_under_row_order(rows, random):
    truth = np.array([[true, not true] for true, _, _ in rows])
    prediction = np.array([[a, b] for _, a, b in rows])
    order = random.sample(range(len(rows)), len(rows))
    assert kl_divergence(truth[order], prediction[order]) == pytest.approx(kl_divergence(truth, prediction))
    score = weighted_multilabel_log_loss(truth, prediction, positive_weight=[14, 2], negative_weight=[7, 1])
    again = weighted_multilabel_log_loss(
        truth[order], prediction[order], positive_weight=[14, 2], negative_weight=[7, 1]
    )
    assert again == pytest.approx(score)
    pair = truth[:, 0], prediction[:, 0]
    again = probabilistic_f1(pair[0][order], pair[1][order])
    assert again == pytest.approx(probabilistic_f1(*pair), nan_ok=True)


@pytest.mark.parametrize(
    "score", [accuracy, macro_f1, matthews_corrcoef, micro_f1_single_label, top1_error, kl_divergence, probabilistic_f1]
)
def test_no_rows_have_no_score(score):
    assert math.isnan(score(np.empty(0), np.empty(0)))


@pytest.mark.parametrize(
    ("competition", "classes", "published"),
    [("dog-breed-identification", 120, 4.78749), ("leaf-classification", 99, 4.59512), ("lmsys", 3, 1.09861)],
)
def test_equal_chances_for_all_classes_score_as_published(competition, classes, published):
    truth, prediction = np.eye(classes, dtype=int), np.full((classes, classes), 1 / classes)
    for rescale_rows in (True, False):
        score = log_loss(truth, prediction, epsilon=FLOAT_PRECISION, rescale_rows=rescale_rows)
        assert round(score, 5) == published, competition


def test_even_chances_score_as_published():
    answers = np.array([0, 1, 1])
    assert round(log_loss(answers, np.full(3, 0.5)), 5) == 0.69315
    spine = np.array([[1, 0, 0, 1, 0, 0, 0, 0], [0] * 8])
    assert weighted_multilabel_log_loss(spine, np.full((2, 8), 0.5), **SPINE) == pytest.approx(0.6931471805599453)


def test_the_answers_themselves_score_as_published():
    one_hot = np.eye(3, dtype=int)
    assert log_loss(one_hot, one_hot, epsilon=FLOAT_PRECISION, rescale_rows=False) == pytest.approx(
        FLOAT_PRECISION, rel=1e-12
    )
    assert log_loss(np.array([0, 1]), np.array([0, 1]), epsilon=FLOAT_PRECISION) == pytest.approx(
        FLOAT_PRECISION, rel=1e-12
    )
    spine = np.array([[1, 0, 0, 1, 0, 0, 0, 0], [0] * 8])
    assert weighted_multilabel_log_loss(spine, spine, **SPINE) == pytest.approx(9.992007221626415e-16, rel=1e-12)


def test_a_constant_prediction_agrees_with_nothing_as_published():
    """The samples of aptos2019-blindness-detection and nfl-player-contact-detection score 0."""
    grades = np.array([0, 1, 2, 4, 4])
    for distance_by_position in (True, False):
        constant = np.zeros(5, dtype=int)
        assert quadratic_weighted_kappa(grades, constant, distance_by_position=distance_by_position) == 0.0
    assert matthews_corrcoef(np.array([0, 1, 0, 0]), np.zeros(4, dtype=int)) == 0.0


def test_a_missing_prediction_may_make_the_whole_score_zero():
    """rsna-breast-cancer-detection, as published: NaN reaches the sums, and no comparison with it holds."""
    truth = np.array([1, 0, 1, 0])
    assert probabilistic_f1(truth, np.array([1, 0, np.nan, 0]), missing_scores_zero=True) == 0
    assert np.isnan(probabilistic_f1(truth, np.array([1, 0, np.nan, 0])))
    assert probabilistic_f1(truth, np.array([1.0, -1, 1, -1]), missing_scores_zero=True) == 1
    assert probabilistic_f1(truth, np.zeros(4), missing_scores_zero=True) == 0
    with pytest.raises(InvalidSubmission, match="all predictions are below 0"):
        probabilistic_f1(truth, np.full(4, -0.5), missing_scores_zero=True)
