"""Metrics of masks give the numbers worked out by hand, and those of the masks drawn in full."""

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import directed_hausdorff
from task_metrics import task_metric

from assay.core.errors import InvalidSubmission
from assay.formats import mask_from_pixels, parse_mask
from assay.grading.metrics.segmentation import global_dice, mean_dice

dice_hausdorff = task_metric("dice_hausdorff")
fbeta_pixel = task_metric("fbeta_pixel")
mean_iou_precision = task_metric("mean_iou_precision")
IMAGES = hnp.arrays(bool, st.tuples(st.integers(1, 4), st.just(2), st.integers(1, 5), st.integers(1, 5)))
"""Truth and prediction (second axis) of one to four images of one size."""


def masks(*texts, height=10, width=10):
    return [parse_mask(text, height, width, "here") for text in texts]


def drawn(pixels):
    return [mask_from_pixels(image) for image in pixels]


def test_dice_is_twice_the_common_pixels_of_all_pixels():
    # 10 true and 10 predicted pixels, 5 common: 2 * 5 / 20. Then a miss, 0, and nothing where there is nothing, 1.
    truth, prediction = masks("1 10", "1 4", ""), masks("6 10", "50 6", "")
    assert mean_dice(truth, prediction) == pytest.approx((0.5 + 0 + 1) / 3)
    assert mean_dice(truth, prediction, both_empty=0) == pytest.approx(0.5 / 3)
    # All images as one: 5 common pixels of 10 + 4 true and 10 + 6 predicted ones.
    assert global_dice(truth, prediction) == pytest.approx(10 / 30)


def test_fbeta_weighs_precision_above_recall():
    # 5 hits of 20 true and 10 predicted: precision 1/2, recall 1/4. F0.5 = 1.25 * (1/8) / (0.25 / 2 + 1/4).
    truth, prediction = masks("1 20"), masks("16 10")
    assert fbeta_pixel(truth, prediction) == pytest.approx(1.25 / 8 / (0.125 + 0.25))
    # F1 is Dice's coefficient.
    assert fbeta_pixel(truth, prediction, beta=1) == pytest.approx(mean_dice(truth, prediction))


@pytest.mark.parametrize(
    ("true", "predicted", "by_hand"),
    [
        ("1 20", "1 20", 1.0),
        ("1 20", "1 13", 0.3),  # 13/20 = 0.65 is above 0.50, 0.55 and 0.60, and not above 0.65
        ("1 20", "1 10", 0.0),  # exactly 0.5 is not above
        ("1 20", "", 0.0),
        ("", "", 1.0),
        ("", "7 1", 0.0),
        ("1 80", "", 0.0),
        ("1 100", "", 0.0),
    ],
)
def test_iou_precision_is_the_share_of_thresholds_passed(true, predicted, by_hand):
    assert mean_iou_precision(masks(true), masks(predicted)) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("true", "predicted", "by_hand"),
    [
        ("1 80", "", 0.6),  # taken for all 100 pixels, IoU 0.8 is above 0.50 … 0.75
        ("1 100", "", 1.0),
        ("1 50", "", 0.0),
        ("", "", 1.0),
        ("1 20", "1 13", 0.3),
    ],
)
def test_the_published_salt_grader_takes_an_empty_prediction_for_a_full_one(true, predicted, by_hand):
    score = mean_iou_precision(masks(true), masks(predicted), empty_prediction_is_full=True)
    assert score == pytest.approx(by_hand)


def test_the_published_salt_grader_counts_an_empty_prediction_as_numpys_histogram_does():
    # The published grader counts pairs of labels in 2 x 2 bins over the range found: all-0 falls in the upper bin.
    truth, prediction = masks("1 80")[0].decode().ravel(), np.zeros(100)
    table, _, _ = np.histogram2d(truth, prediction, bins=(2, 2))
    iou = table[1, 1] / (table[1].sum() + table[:, 1].sum() - table[1, 1])
    expected = np.mean(iou > np.arange(0.5, 1.0, 0.05))
    assert mean_iou_precision(masks("1 80"), masks(""), empty_prediction_is_full=True) == pytest.approx(expected)


@given(IMAGES)
def test_metrics_of_run_length_masks_equal_those_of_decoded_masks(images):
    truth, prediction = images[:, 0], images[:, 1]
    predicted = drawn(truth), drawn(prediction)
    common = (truth & prediction).sum((1, 2))
    total = truth.sum((1, 2)) + prediction.sum((1, 2))
    per_image = [2 * c / t if t else 1.0 for c, t in zip(common, total, strict=True)]
    assert mean_dice(*predicted) == pytest.approx(np.mean(per_image))
    pooled = 2 * common.sum() / total.sum() if total.sum() else math.nan
    assert global_dice(*predicted) == pytest.approx(pooled, nan_ok=True)
    steps = np.arange(0.5, 1.0, 0.05)
    iou = [np.mean(c / (t - c) > steps) if t else 1.0 for c, t in zip(common, total, strict=True)]
    assert mean_iou_precision(*predicted) == pytest.approx(np.mean(iou))


@given(IMAGES.filter(lambda images: images.any(axis=(1, 2, 3)).all()))
def test_fbeta_equals_that_of_scikit_learn(images):
    expected = [sklearn.metrics.fbeta_score(t.ravel(), p.ravel(), beta=0.5, zero_division=0) for t, p in images]
    assert fbeta_pixel(drawn(images[:, 0]), drawn(images[:, 1])) == pytest.approx(np.mean(expected))


@given(IMAGES, st.randoms(use_true_random=False))
def test_the_order_of_images_and_of_pixels_does_not_matter(images, random):
    order = random.sample(range(len(images)), len(images))
    for metric in (mean_dice, global_dice, mean_iou_precision, fbeta_pixel):
        score = metric(drawn(images[:, 0]), drawn(images[:, 1]))
        moved = metric(drawn(images[order, 0]), drawn(images[order, 1]))
        rows = ([mask_from_pixels(image, order="row") for image in images[:, side]] for side in (0, 1))
        assert moved == pytest.approx(score, nan_ok=True)
        assert metric(*rows) == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize("metric", [mean_dice, global_dice, fbeta_pixel, mean_iou_precision])
def test_no_images_have_no_score(metric):
    assert math.isnan(metric([], []))


def test_dice_and_fbeta_are_undefined_without_true_and_predicted_pixels():
    assert math.isnan(global_dice(masks(""), masks("")))
    assert math.isnan(fbeta_pixel(masks(""), masks("")))


def test_masks_may_come_in_arrays_of_objects():
    truth, prediction = (np.array(masks(*texts), dtype=object) for texts in (("1 10", "1 4"), ("6 10", "1 4")))
    assert truth.shape == (2,)
    assert mean_dice(truth, prediction) == pytest.approx(0.75)
    assert global_dice(truth, prediction) == pytest.approx(2 * 9 / 28)


def test_different_numbers_of_images_raise_an_error():
    with pytest.raises(ValueError, match="shorter"):
        mean_dice(masks("1 1", "1 1"), masks("1 1"))


def test_published_sample_submissions_score_zero_on_any_true_masks_away_from_the_corner():
    # The sample of hubmap is empty, of tgs-salt pixel 1, of vesuvius pixels 1 and 5 along the rows.
    truth = masks("40 20", "60 3")
    assert mean_dice(truth, masks("", "")) == 0
    assert mean_iou_precision(truth, masks("1 1", "1 1")) == 0
    row_major = [parse_mask(text, 10, 10, "here", order="row") for text in ("40 20", "1 1 5 1")]
    assert fbeta_pixel(row_major[:1], row_major[1:]) == 0


def labelled(slices, classes, volume="case1_day0"):
    rows = [(f"{volume}_slice_{number:04}", name) for number in range(slices) for name in classes]
    return dict(zip(("slices", "classes"), zip(*rows, strict=True), strict=True))


def test_dice_and_hausdorff_of_one_voxel_each_by_hand():
    # One slice of 10 x 10, pixels (0, 0) and (3, 0): Dice 0, distance 3/10 of the height.
    score = dice_hausdorff(masks("1 1"), masks("4 1"), **labelled(1, "a"))
    assert score == pytest.approx(0.6 * (1 - 0.3 / math.sqrt(3)))
    # In four slices, the second and the third: 1/4 of the depth.
    truth, prediction = masks("", "1 1", "", ""), masks("", "", "1 1", "")
    assert dice_hausdorff(truth, prediction, **labelled(4, "a")) == pytest.approx(0.6 * (1 - 0.25 / math.sqrt(3)))
    # The weights are those that were passed.
    assert dice_hausdorff(truth, truth, **labelled(4, "a"), dice_weight=2, hausdorff_weight=3) == 5


@pytest.mark.parametrize(
    ("true", "predicted", "dice", "distance"),
    [
        ("1 5", "1 5", 1, 0),
        ("1 5", "", 0, 1),
        ("", "1 5", 0, 1),
        # 10 times as many is still measured: the last of two columns of 10, (9, 1), is farthest from (1, 0).
        ("1 2", "1 20", 4 / 22, math.hypot(8 / 10, 1 / 10) / math.sqrt(3)),
        ("1 2", "1 21", 4 / 23, 1),  # over 10 times as many
    ],
)
def test_edge_cases_of_the_distance_are_fixed(true, predicted, dice, distance):
    score = dice_hausdorff(masks(true), masks(predicted), **labelled(1, "a"))
    assert score == pytest.approx(0.4 * dice + 0.6 * (1 - distance))


def test_rows_and_objects_that_are_empty_on_both_sides_are_left_out():
    truth, prediction = masks("1 5", "", "", ""), masks("1 5", "", "", "")
    assert dice_hausdorff(truth, prediction, **labelled(2, "ab")) == 1
    assert math.isnan(dice_hausdorff(masks(""), masks(""), **labelled(1, "a")))


def test_the_published_grader_merges_classes_and_so_forgives_the_wrong_one():
    # The right voxels under the wrong class: merged, the distance is 0; per class, it is 1 for both.
    truth, prediction = masks("1 5", ""), masks("", "1 5")
    rows = labelled(1, ["stomach", "large_bowel"])
    assert dice_hausdorff(truth, prediction, **rows) == 0
    assert dice_hausdorff(truth, prediction, **rows, merge_classes=True) == pytest.approx(0.6)


def test_the_published_grader_stacks_predictions_by_their_own_names():
    # Two volumes of one slice; named the other way around, each prediction is compared with the other volume.
    truth = masks("1 1", "4 1")
    rows = {"slices": ["case1_day0_slice_0001", "case2_day0_slice_0001"], "classes": "aa", "merge_classes": True}
    assert dice_hausdorff(truth, truth, **rows, predicted_slices=rows["slices"]) == 1
    swapped = dice_hausdorff(truth, truth, **rows, predicted_slices=rows["slices"][::-1])
    assert swapped == pytest.approx(0.4 + 0.6 * (1 - 0.3 / math.sqrt(3)))
    # As text, day 10 comes before day 1: the first predicted volume is the second row.
    days = ["case1_day1_slice_0001", "case1_day10_slice_0001"]
    assert dice_hausdorff(truth, truth, **rows, predicted_slices=days) == pytest.approx(swapped)
    # Two predicted slices in one volume against one true slice: depth counts in true slices.
    names = ["case1_day0_slice_0001", "case1_day0_slice_0002"]
    score = dice_hausdorff(masks("1 1", ""), masks("1 1", "1 1"), **rows, predicted_slices=names)
    assert score == pytest.approx(0.4 * (1 + 0) / 2 + 0.6 * (1 - 1 / math.sqrt(3)))
    # A submission that ends early: its only row is right, and so is its only volume.
    assert dice_hausdorff(truth, [truth[0], None], **rows, predicted_slices=days[:1]) == 1
    other = [*truth[:1], parse_mask("1 1", 5, 5, "here")]
    with pytest.raises(InvalidSubmission, match="different sizes"):
        dice_hausdorff(other, other, **rows, predicted_slices=names)
    # In a third predicted volume, which is compared with none of the two true ones.
    four = {"slices": ["v_slice_1", "v_slice_2", "w_slice_1", "w_slice_2"], "classes": "aaaa", "merge_classes": True}
    large_small = [*masks("1 1", "1 1"), *masks("1 1", "1 1", height=5, width=5)]
    with pytest.raises(InvalidSubmission, match="different sizes"):
        dice_hausdorff(large_small, large_small, **four, predicted_slices=["a", "zz", "b", "zz"])


@given(hnp.arrays(bool, st.tuples(st.just(2), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5))))
def test_the_distance_equals_that_of_scipy(pair):
    truth, prediction = pair
    assume(0 < prediction.sum() <= 10 * truth.sum())
    points, other = (np.argwhere(volume) / volume.shape for volume in pair)
    expected = max(directed_hausdorff(points, other)[0], directed_hausdorff(other, points)[0]) / math.sqrt(3)
    rows = labelled(len(truth), "a")
    for method in ({"max_pairs": 0}, {}):  # with a tree, and from all pairs of voxels
        score = dice_hausdorff(drawn(truth), drawn(prediction), **rows, dice_weight=0, hausdorff_weight=1, **method)
        assert score == pytest.approx(1 - expected)


@given(hnp.arrays(bool, st.tuples(st.just(2), st.just(8), st.just(3), st.just(3))), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter_to_volumes(pair, random):
    two = [labelled(2, "ab", volume) for volume in ("case1_day0", "case2_day0")]
    rows = {key: two[0][key] + two[1][key] for key in two[0]}
    order = random.sample(range(8), 8)
    moved_rows = {key: [values[row] for row in order] for key, values in rows.items()}
    for merge in (False, True):
        score = dice_hausdorff(*map(drawn, pair), **rows, merge_classes=merge)
        moved = dice_hausdorff(*(drawn(side[order]) for side in pair), **moved_rows, merge_classes=merge)
        assert moved == pytest.approx(score, nan_ok=True)
