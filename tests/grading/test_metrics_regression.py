"""Metrics of numbers give what their formulas give by hand and what libraries give; published slips are reproduced."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from task_metrics import task_metric

from assay.grading.metrics.regression import mae, mcrmse, pearson, rmse

grouped_log_mae = task_metric("grouped_log_mae")
haversine_p50_p95 = task_metric("haversine_p50_p95")
laplace_log_likelihood = task_metric("laplace_log_likelihood")
scored_mcrmse = task_metric("mcrmse")
mean_angular_error = task_metric("mean_angular_error")
mean_column_rmsle = task_metric("mean_column_rmsle")
mean_column_spearman = task_metric("mean_column_spearman")
smape = task_metric("smape")
METRES_PER_DEGREE = 6_371_000 * math.pi / 180
NONE = np.empty((0, 2))
LEVEL = st.integers(-20, 20).map(float)
PAIRS = st.lists(st.tuples(LEVEL, LEVEL), min_size=1, max_size=30)


def columns(*values):
    return np.column_stack([np.array(column, dtype=float) for column in values])


def random_rows(seed, rows, width):
    generator = np.random.default_rng(seed)
    return generator.uniform(0, 3, (rows, width)), generator.uniform(0, 3, (rows, width)), generator


@pytest.mark.parametrize(("error", "reported"), [(2.4, 2.0), (2.5, 2.0), (3.5, 4.0), (2.6, 3.0)])
def test_mean_absolute_error_can_be_reported_as_a_whole_number(error, reported):
    assert task_metric("mae")(np.array([0.0]), np.array([error])) == reported


def test_percentage_errors_are_relative_to_the_mean_magnitude_of_truth_and_prediction():
    # |3 - 1| over the mean of 1 and 3 is 1, |0 - 4| over the mean of 4 and 0 is 2, and two zeros are no error.
    assert smape(np.array([1.0, 4.0, 0.0]), np.array([3.0, 0.0, 0.0])) == pytest.approx(100 * (1 + 2 + 0) / 3)
    # With 1 added to both sides: |3 - 1| / 3, |0 - 4| / 3 and 0.
    plus_one = smape(np.array([1.0, 4.0, 0.0]), np.array([3.0, 0.0, 0.0]), plus=1)
    assert plus_one == pytest.approx(100 * (2 / 3 + 4 / 3 + 0) / 3)


def test_percentage_errors_have_no_value_without_rows_or_with_infinite_numbers():
    assert math.isnan(smape(np.empty(0), np.empty(0)))
    assert math.isnan(smape(np.array([1.0]), np.array([np.inf])))


def test_column_errors_are_averaged_after_the_root():
    truth, prediction = columns([0, 0], [0, 0]), columns([3, 3], [1, 1])
    assert mcrmse(truth, prediction) == 2.0
    assert rmse(truth, prediction) == pytest.approx(math.sqrt(5))
    # Logarithms of 1 + p: 1 in the first column, 2 in the second.
    logarithms = columns([math.e - 1] * 2, [math.e**2 - 1] * 2)
    assert mean_column_rmsle(truth, logarithms) == pytest.approx(1.5)


def test_column_errors_equal_those_of_scikit_learn():
    truth, prediction, _ = random_rows(0, 50, 3)
    by_column = sklearn.metrics.root_mean_squared_error(truth, prediction, multioutput="raw_values")
    logarithmic = sklearn.metrics.root_mean_squared_log_error(truth, prediction, multioutput="raw_values")
    assert mcrmse(truth, prediction) == pytest.approx(by_column.mean())
    assert mean_column_rmsle(truth, prediction) == pytest.approx(logarithmic.mean())


def published_mcrmse(ids, truth, prediction, keep, submission_rows):
    """Two tables sorted by id, and a mask that pandas re-aligns by row number: the slip itself, played by pandas."""
    answers = pd.DataFrame(truth, columns=["a", "b"]).assign(id=ids, keep=keep)
    submission = pd.DataFrame(prediction, columns=["a", "b"]).assign(id=ids, row=submission_rows)
    submission = submission.sort_values("row").reset_index(drop=True).sort_values("id")
    answers = answers.sort_values("id")
    kept = answers.loc[answers["keep"], ["a", "b"]].to_numpy()
    submitted = submission.loc[answers["keep"], ["a", "b"]].to_numpy()
    return sklearn.metrics.root_mean_squared_error(kept, submitted, multioutput="raw_values").mean()


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_the_published_mask_follows_the_rows_of_the_submission_and_not_their_ids(seed, rows):
    truth, prediction, generator = random_rows(seed, rows, 2)
    keep = generator.random(rows) < 0.6
    keep[0] = True
    ids = np.array([f"id_{number}" for number in generator.permutation(rows)])
    shuffled = generator.permutation(rows)
    as_published = scored_mcrmse(truth, prediction, mask=keep, ids=ids, submission_rows=shuffled)
    assert as_published == pytest.approx(published_mcrmse(ids, truth, prediction, keep, shuffled))


def test_a_perfect_but_shuffled_submission_loses_only_under_the_published_mask():
    truth = np.array([[1.0], [2.0], [0.0]])
    keep, ids = np.array([True, True, False]), np.array(["a", "b", "c"])
    assert scored_mcrmse(truth, truth, mask=keep) == 0.0
    assert scored_mcrmse(truth, truth, mask=keep, ids=ids, submission_rows=np.arange(3)) == 0.0
    # Submitted as c, a, b: rows 0 and 1 of the file are c and a, so that a meets a, and b meets c: errors 0 and 2.
    published = scored_mcrmse(truth, truth, mask=keep, ids=ids, submission_rows=np.array([1, 2, 0]))
    assert published == pytest.approx(math.sqrt(2))


def test_the_published_mask_needs_both_ids_and_rows():
    with pytest.raises(ValueError, match="together"):
        scored_mcrmse(NONE, NONE, mask=np.empty(0, bool), ids=np.empty(0, str))


def test_correlation_worked_by_hand():
    # Distances from the mean: -1, 0, 1 and -1, 1, 0; products sum to 1, squares to 2 and 2.
    assert pearson(np.array([1, 2, 3]), np.array([1, 3, 2])) == pytest.approx(0.5)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3])
def test_a_constant_has_no_correlation(constant):
    # The sample submission of us-patent-phrase-to-phrase-matching is 0 everywhere; its published score is NaN.
    assert math.isnan(pearson(np.array([0.0, 0.25, 1.0]), np.full(3, constant)))
    assert math.isnan(mean_column_spearman(np.array([0.0, 0.25, 1.0]), np.full(3, constant)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_not_finite_has_no_correlation(bad):
    assert math.isnan(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, bad, 2.0])))


def test_correlation_survives_huge_and_tiny_numbers():
    truth = np.array([1.0, 2.0, 3.0])
    assert pearson(truth, truth * 1e300) == pytest.approx(1)
    assert pearson(truth * 1e-300, -truth) == pytest.approx(-1)
    assert math.isnan(pearson(truth, np.array([1.5e308, 1.6e308, -1e308])))  # their sum is infinite


@pytest.mark.parametrize("values", [(0.7, 0.7000000000000001, 0.6999999999999999), (1e14, 1e14 + 0.25, 1e14 + 1)])
def test_correlation_of_numbers_that_hardly_differ_equals_that_of_scipy(values):
    random = np.random.default_rng(0)
    for _ in range(20):
        truth, prediction = random.random(30), random.choice(values, 30)
        assert pearson(truth, prediction) == pytest.approx(scipy.stats.pearsonr(truth, prediction).statistic, abs=1e-9)


@given(PAIRS, st.sampled_from([0.25, 3.0, 1000.0]), LEVEL)
def test_correlation_equals_that_of_scipy_and_ignores_shift_and_scale(pairs, scale, shift):
    truth, prediction = np.array(pairs).T
    assume(np.ptp(truth) > 0 and np.ptp(prediction) > 0)
    expected = scipy.stats.pearsonr(truth, prediction).statistic
    assert pearson(truth, prediction) == pytest.approx(expected, abs=1e-9)
    assert pearson(truth, prediction * scale + shift) == pytest.approx(expected, abs=1e-9)
    assert pearson(truth, -prediction) == pytest.approx(-expected, abs=1e-9)


@given(PAIRS)
def test_rank_correlation_equals_that_of_scipy_and_ignores_monotone_change(pairs):
    truth, prediction = np.array(pairs).T
    assume(np.ptp(truth) > 0 and np.ptp(prediction) > 0)
    expected = scipy.stats.spearmanr(truth, prediction).statistic
    assert mean_column_spearman(truth, prediction) == pytest.approx(expected, abs=1e-9)
    assert mean_column_spearman(truth, np.exp(prediction)) == pytest.approx(expected, abs=1e-9)


def test_rank_correlations_are_averaged_over_columns_and_undefined_if_any_column_is():
    # Column 1 in the same order, column 2 reversed, column 3 with ranks 1 2 3 and 1 3 2: 1, -1 and 0.5.
    truth = columns([1, 2, 3], [1, 2, 3], [1, 2, 3])
    assert mean_column_spearman(truth, columns([1, 8, 9], [3, 2, 1], [4, 6, 5])) == pytest.approx(0.5 / 3)
    assert math.isnan(mean_column_spearman(truth, columns([1, 8, 9], [3, 2, 1], [7, 7, 7])))
    assert math.isnan(mean_column_spearman(truth, columns([1, 8, 9], [3, 2, 1], [7, math.nan, 8])))


def test_log_errors_are_averaged_over_groups_and_not_over_rows():
    groups = np.array(["1JHC", "2JHH", "1JHC", "1JHC"])
    # Mean errors e (of three rows) and e³ (of one): logarithms 1 and 3.
    prediction = np.array([0, math.e**3, math.e, 2 * math.e])
    assert grouped_log_mae(np.zeros(4), prediction, groups=groups) == pytest.approx(2)


def test_the_log_of_a_perfect_group_is_floored_by_kaggle_and_minus_infinity_as_published():
    truth, groups = np.array([1.0, 2.0]), np.array(["a", "b"])
    assert grouped_log_mae(truth, truth, groups=groups) == pytest.approx(math.log(1e-9))
    assert grouped_log_mae(truth, truth, groups=groups, floor=0) == -math.inf
    half_right = np.array([1.0, 3.0])
    assert grouped_log_mae(truth, half_right, groups=groups) == pytest.approx(math.log(1e-9) / 2)
    assert grouped_log_mae(truth, half_right, groups=groups, floor=0) == -math.inf


def test_laplace_likelihood_of_the_right_answers_is_the_published_one():
    # The answers of osic-pulmonary-fibrosis-progression, submitted, score -log(100 √2).
    answers = columns([2500, 3000.5], [100, 100])
    assert laplace_log_likelihood(answers, answers) == pytest.approx(-4.9517437762680645, rel=1e-15)


def test_laplace_likelihood_floors_the_confidence_and_caps_the_error():
    truth = columns([2000], [math.nan])
    floored = -math.log(70 * math.sqrt(2))
    assert laplace_log_likelihood(truth, columns([2000], [0])) == pytest.approx(floored)
    capped = -math.sqrt(2) * 1000 / 200 - math.log(200 * math.sqrt(2))
    assert laplace_log_likelihood(truth, columns([9000], [200])) == pytest.approx(capped)
    plain = -math.sqrt(2) * 50 / 80 - math.log(80 * math.sqrt(2))
    assert laplace_log_likelihood(truth, columns([1950], [80])) == pytest.approx(plain)


def test_laplace_likelihood_is_that_of_scipy_where_nothing_is_clipped():
    truth, prediction, _ = random_rows(1, 20, 2)
    prediction[:, 1] += 100
    expected = scipy.stats.laplace.logpdf(truth[:, 0], prediction[:, 0], prediction[:, 1] / math.sqrt(2)).mean()
    # A Laplace density has log(2 b) where the metric, for b = s / √2, has log(√2 s): the same.
    assert laplace_log_likelihood(truth, prediction) == pytest.approx(expected)


def test_weeks_that_were_not_measured_do_not_count():
    truth, prediction = columns([math.nan, 2000], [100, 100]), columns([0, 2000], [100, 100])
    assert math.isnan(laplace_log_likelihood(truth, prediction))


@pytest.mark.parametrize(
    ("truth", "prediction", "angle"),
    [
        ([0, 0], [2, 0], 0),  # zenith 0 is one direction, whatever the azimuth
        ([0, 0], [1, math.pi], math.pi),
        ([0, math.pi / 2], [math.pi / 2, math.pi / 2], math.pi / 2),
        ([0.1, math.pi / 2], [2 * math.pi - 0.2, math.pi / 2], 0.3),  # across azimuth 0
        ([1, 0.5], [1, 1.25], 0.75),
    ],
)
def test_angles_worked_by_hand(truth, prediction, angle):
    assert mean_angular_error(np.array([truth]), np.array([prediction])) == pytest.approx(angle, abs=1e-7)


@given(st.integers(0, 10_000), st.floats(-7, 7))
def test_angles_are_those_between_vectors_and_invariant_under_rotation(seed, turn):
    truth, prediction, _ = random_rows(seed, 30, 2)

    def vectors(angles):
        azimuth, zenith = angles.T
        return np.column_stack(
            [np.cos(azimuth) * np.sin(zenith), np.sin(azimuth) * np.sin(zenith), np.cos(zenith)],
        )

    cross = np.linalg.norm(np.cross(vectors(truth), vectors(prediction)), axis=1)
    expected = np.arctan2(cross, (vectors(truth) * vectors(prediction)).sum(axis=1)).mean()
    assert mean_angular_error(truth, prediction) == pytest.approx(expected, abs=1e-7)
    turned = np.array([turn, 0])
    assert mean_angular_error(truth + turned, prediction + turned) == pytest.approx(expected, abs=1e-7)


def test_a_million_angles_average_as_a_few_do():
    truth, prediction = np.tile([0.0, 0.0], (1_000_000, 1)), np.tile([0.0, 1.0], (1_000_000, 1))
    prediction[-1] = 0.0
    assert mean_angular_error(truth, prediction) == pytest.approx(1 - 1e-6)


def test_distance_on_the_ground_is_half_median_and_half_95th_percentile():
    # 0, 1, ..., 20 degrees along the equator: the median is 10, the 95th percentile 19.
    degrees = np.arange(21.0)
    score = haversine_p50_p95(np.zeros((21, 2)), columns(np.zeros(21), degrees), groups=np.array(["trip"] * 21))
    assert score == pytest.approx(14.5 * METRES_PER_DEGREE)


def test_distances_are_averaged_over_trips_and_not_over_rows():
    groups = np.array(["a", "b", "a", "a"])
    prediction = columns([1, 3, 1, 1], [0, 0, 0, 0])
    assert haversine_p50_p95(np.zeros((4, 2)), prediction, groups=groups) == pytest.approx(2 * METRES_PER_DEGREE)


def test_distances_between_opposite_points_are_half_way_round():
    truth, prediction = np.array([[40.0, 20.0]]), np.array([[-40.0, -160.0]])
    assert haversine_p50_p95(truth, prediction, groups=np.array([1])) == pytest.approx(180 * METRES_PER_DEGREE)


def test_latitudes_beyond_the_poles_may_have_no_distance():
    # For some of these opposite points, the published formula takes the arc sine of 1.0000000000000002.
    truth = columns(np.linspace(30, 40, 5000), np.full(5000, -114.114))
    prediction = columns(-360 - truth[:, 0], truth[:, 1] + 180)
    assert math.isnan(haversine_p50_p95(truth, prediction, groups=np.arange(5000)))


def test_the_sample_position_is_as_far_from_mountain_view_as_its_published_score_says():
    # The sample of smartphone-decimeter-2022 is one point in Indiana, published as 3,122,773.6564 m from the drives.
    truth, sample = np.array([[37.42, -122.08]]), np.array([[37.904611315634504, -86.48107806249548]])
    assert haversine_p50_p95(truth, sample, groups=np.array([1])) == pytest.approx(3122773.6564, rel=0.01)


def test_the_published_grader_pairs_the_rows_of_a_trip_in_file_order():
    truth = columns([0, 1, 5, 2], [0, 0, 0, 0])
    groups = np.array(["a", "a", "b", "a"])
    rows = np.array([1, 2, 0, 3])
    assert haversine_p50_p95(truth, truth, groups=groups, submission_rows=rows) == 0.0
    # Trip a submitted as 1, 0, 2 degrees: errors 1, 1, 0, so median 1 and 95th percentile 1; trip b is right.
    swapped = haversine_p50_p95(truth, truth, groups=groups, submission_rows=np.array([2, 1, 0, 3]))
    assert haversine_p50_p95(truth, truth, groups=groups) == 0.0
    assert swapped == pytest.approx(METRES_PER_DEGREE / 2)


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_row_order_does_not_matter(seed, rows):
    truth, prediction, generator = random_rows(seed, rows, 2)
    groups, keep, order = generator.integers(0, 4, rows), generator.random(rows) < 0.5, generator.permutation(rows)
    shuffled = truth[order], prediction[order]
    for metric, extra in [
        (scored_mcrmse, {"mask": keep}),
        (mae, {}),
        (mean_column_rmsle, {}),
        (mean_column_spearman, {}),
        (grouped_log_mae, {"groups": groups}),
        (laplace_log_likelihood, {}),
        (mean_angular_error, {}),
        (haversine_p50_p95, {"groups": groups}),
    ]:
        ordered = {name: values[order] for name, values in extra.items()}
        expected = pytest.approx(metric(truth, prediction, **extra), nan_ok=True)
        assert metric(*shuffled, **ordered) == expected, metric


@pytest.mark.parametrize("metric", [mae, mcrmse, mean_column_rmsle, laplace_log_likelihood, mean_angular_error])
def test_no_rows_have_no_score(metric):
    assert math.isnan(metric(NONE, NONE))


@pytest.mark.parametrize("metric", [grouped_log_mae, haversine_p50_p95])
def test_no_groups_have_no_score(metric):
    assert math.isnan(metric(NONE, NONE, groups=np.empty(0, str)))


def test_a_mask_that_keeps_nothing_leaves_no_score():
    truth = columns([1, 2], [3, 4])
    assert math.isnan(scored_mcrmse(truth, truth, mask=np.zeros(2, bool)))


def test_a_missing_coordinate_leaves_no_score():
    truth, prediction = columns([1, 2], [1, 2]), columns([1, math.inf], [1, math.nan])
    assert math.isnan(mean_angular_error(truth, prediction))
    assert math.isnan(haversine_p50_p95(truth, prediction, groups=np.array([1, 1])))
