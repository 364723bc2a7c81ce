"""Metrics of found objects give the numbers worked out by hand, those of pycocotools, and those of plain loops."""

import contextlib
import io
import math

import numpy as np
import pytest
import shapely
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from task_metrics import task_metric

from assay.formats import parse_boxes, parse_points, parse_rectangles

coco_map_iou40 = task_metric("coco_map_iou40")
map_iou50_siim = task_metric("map_iou50_siim")
point_in_box_f1 = task_metric("point_in_box_f1")
SIDE = st.integers(1, 6)
CORNERS = st.tuples(st.integers(0, 5), st.integers(0, 5), SIDE, SIDE).map(
    lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
)
BOX = st.tuples(st.sampled_from("12"), st.sampled_from([0.1, 0.3, 0.5, 0.9]), CORNERS)
PICTURES = st.lists(st.tuples(st.lists(BOX, max_size=3), st.lists(BOX, max_size=5)), min_size=1, max_size=5)
"""True and predicted boxes of some images, as (label, score, corners)."""
ANY_CORNERS = st.tuples(*[st.integers(-3, 9)] * 4)
ANY_BOX = st.tuples(st.sampled_from("12"), st.sampled_from([0.1, 0.3, 0.5, 0.9]), ANY_CORNERS)
FOUND = st.lists(
    st.tuples(st.lists(BOX | ANY_BOX, max_size=3), st.lists(BOX | ANY_BOX, max_size=5)), min_size=1, max_size=5
)
"""The same with boxes whose corners may be in the wrong order."""


def boxes(*texts):
    return [parse_boxes(text, "here") for text in texts]


def of(images, side):
    texts = (" ".join(f"{label} {score} {' '.join(map(str, at))}" for label, score, at in p[side]) for p in images)
    return boxes(*texts)


def iou(box, other):
    """The IoU of two boxes, as polygons."""
    box, other = shapely.box(*box), shapely.box(*other)
    return box.intersection(other).area / box.union(other).area


@pytest.mark.parametrize(
    ("true", "predicted", "by_hand"),
    [
        ("a 0 0 10 10", "a 5 5", 1.0),
        ("a 0 0 10 10", "b 5 5", 0.0),
        ("a 0 0 10 10", "a 10 5", 0.0),  # on the border is not inside
        ("a 0 0 10 10", "a 5 5 a 6 6", 2 / 3),  # precision 1/2, recall 1
        ("a 0 0 10 10 a 5 5 10 10", "a 7 7", 2 / 3),  # one point cannot hit two boxes
        # The first box takes the first point inside, and leaves none for the second: 1 hit of 2 and 2.
        ("a 0 0 10 10 a 5 5 10 10", "a 7 7 a 2 2", 0.5),
        ("a 0 0 10 10 a 5 5 10 10", "a 2 2 a 7 7", 1.0),
        ("", "", 0.0),
        ("", "a 1 1", 0.0),
        ("a 0 0 10 10", "", 0.0),
    ],
)
def test_points_in_boxes_by_hand(true, predicted, by_hand):
    score = point_in_box_f1([parse_rectangles(true, "here")], [parse_points(predicted, "here")])
    assert score == pytest.approx(by_hand)


def test_hits_are_pooled_over_pages():
    # 1 hit of 1 box and 1 point, then 0 hits of 2 boxes and 0 points: 2 / (3 + 1).
    truth = [parse_rectangles(text, "here") for text in ("a 0 0 4 4", "a 0 0 4 4 b 9 9 4 4")]
    assert point_in_box_f1(truth, [parse_points(text, "here") for text in ("a 1 1", "")]) == 0.5


def test_the_published_sample_of_kuzushiji_scores_zero():
    truth = [parse_rectangles("U+306F 1231 3465 133 53 U+304B 0 0 90 90", "here")]
    assert point_in_box_f1(truth, [parse_points("U+003F 1 1 U+FF2F 2 2", "here")]) == 0


@pytest.mark.parametrize(
    ("true", "predicted", "by_hand"),
    [
        ("a 1 0 0 2 2", "a 0.3 0 0 2 2", 1.0),
        ("a 1 0 0 2 2", "a 0.3 0 0 2 1", 0.0),  # IoU exactly 0.5 is not above
        ("a 1 0 0 2 2", "b 0.3 0 0 2 2", 0.0),
        ("a 1 0 0 2 2 a 1 5 5 7 7", "a 0.3 0 0 2 2", 0.5),
        # The surer box is wrong: precision 1/2 at recall 1.
        ("a 1 0 0 2 2", "a 0.9 5 5 7 7 a 0.3 0 0 2 2", 0.5),
        # A second box on the same object is wrong: hit, false, hit. Precision 1 to recall 1/2, then 2/3.
        ("a 1 0 0 2 2 a 1 5 5 7 7", "a 0.9 0 0 2 2 a 0.8 0 0 2 2 a 0.7 5 5 7 7", 0.5 + 0.5 * 2 / 3),
        # Class b has no prediction and scores 0; class c is not true and is not scored.
        ("a 1 0 0 2 2 b 1 0 0 2 2", "a 0.3 0 0 2 2 c 1 0 0 2 2", 0.5),
        ("a 1 0 0 2 2", "", 0.0),
        # A box that ends before it begins covers nothing, even where the true one does too.
        ("a 1 2 2 0 0", "a 1 2 2 0 0", 0.0),
    ],
)
def test_voc_average_precision_by_hand(true, predicted, by_hand):
    assert map_iou50_siim(boxes(true), boxes(predicted)) == pytest.approx(by_hand)


def test_boxes_of_equal_score_count_together():
    # Two images, one hit: at the only score, precision is 1/2, whichever image comes first.
    truth, prediction = boxes("a 1 0 0 2 2", "b 1 0 0 2 2"), boxes("a 1 0 0 2 2", "a 1 0 0 2 2")
    assert map_iou50_siim(truth, prediction) == map_iou50_siim(truth[::-1], prediction[::-1]) == 0.25


def test_the_published_siim_grader_pays_for_predicting_nothing():
    truth = boxes("negative 1 0 0 1 1", "typical 1 0 0 1 1", "none 1 0 0 1 1", "opacity 1 0 0 9 9 opacity 1 20 0 29 9")
    nothing = boxes("", "", "", "")
    assert map_iou50_siim(truth, nothing) == 0
    # Each class is worth its share: 1 of 4 images for three of them; for opacity two boxes, and three without.
    assert map_iou50_siim(truth, nothing, misses_at_zero=True) == pytest.approx((3 * 1 / 4 + 2 / 5) / 4)


def test_the_published_siim_sample_scores_the_prevalence_of_classes():
    # Studies all "negative", images all "none": those two score their share among studies and among images, as equal
    # scores count together; the other classes score their share among all rows. The published 0.24492 is this mean.
    truth = boxes(
        *["negative 1 0 0 1 1"] * 3, *["typical 1 0 0 1 1"] * 7, *["none 1 0 0 1 1"] * 4, *["o 1 0 0 9 9"] * 8
    )
    sample = boxes(*["negative 1 0 0 1 1"] * 10, *["none 1 0 0 1 1"] * 12)
    by_hand = (3 / 10 + 7 / 22 + 4 / 12 + 8 / 22) / 4
    assert map_iou50_siim(truth, sample, misses_at_zero=True) == pytest.approx(by_hand)
    assert map_iou50_siim(truth, sample) == pytest.approx((3 / 10 + 4 / 12) / 4)


def test_a_box_matches_the_best_object_and_as_published_the_best_unmatched_object():
    # Both boxes overlap the first object most; the second box also overlaps the second object by 7 / 13.
    truth, prediction = boxes("a 1 0 0 10 1 a 1 3 0 13 1"), boxes("a 0.9 0 0 10 1 a 0.8 0 0 10 1")
    assert map_iou50_siim(truth, prediction) == pytest.approx(0.5)
    assert map_iou50_siim(truth, prediction, misses_at_zero=True) == pytest.approx(1.0)


def siim_by_loops(images):
    """The published rule in plain loops, with scikit-learn's average precision."""
    areas = []
    for label in {box[0] for true, _ in images for box in true}:
        pairs = []
        for true, guesses in images:
            left = [box[2] for box in true if box[0] == label]
            mine = sorted((box for box in guesses if box[0] == label), key=lambda box: -box[1])
            if not left and not mine:
                pairs.append((0, 0))
            for _, score, at in mine:
                best = max(left, key=lambda box: iou(at, box), default=None)
                hit = best is not None and iou(at, best) > 0.5
                pairs.append((int(hit), score))
                if hit:
                    left.remove(best)
            pairs += [(1, 0)] * len(left)
        areas.append(sklearn.metrics.average_precision_score(*zip(*pairs, strict=True)))
    return np.mean(areas) if areas else math.nan


@given(PICTURES)
def test_the_published_siim_rule_equals_plain_loops_and_scikit_learn(images):
    score = map_iou50_siim(of(images, 0), of(images, 1), misses_at_zero=True)
    assert score == pytest.approx(siim_by_loops(images), nan_ok=True)


@given(PICTURES, st.randoms(use_true_random=False))
def test_the_order_of_pictures_does_not_matter(images, random):
    moved = random.sample(images, len(images))
    for quirk in (False, True):
        score = map_iou50_siim(of(images, 0), of(images, 1), misses_at_zero=quirk)
        assert map_iou50_siim(of(moved, 0), of(moved, 1), misses_at_zero=quirk) == pytest.approx(score, nan_ok=True)


def coco_by_pycocotools(images, *, corners_as_sizes=False, first_id=1):
    def entry(image, box):
        label, score, (left, top, right, bottom) = box
        bbox = [left, top, right, bottom] if corners_as_sizes else [left, top, right - left, bottom - top]
        area = (right - left) * (bottom - top)
        return {"image_id": image, "category_id": int(label), "score": score, "bbox": bbox, "area": area}

    sides = []
    for side in (0, 1):
        entries = [entry(n, box) for n, image in enumerate(images) for box in image[side]]
        data = COCO()
        data.dataset = {
            "images": [{"id": n} for n in range(len(images))],
            "annotations": [box | {"id": first_id + number, "iscrowd": 0} for number, box in enumerate(entries)],
            "categories": [{"id": 1}, {"id": 2}],
        }
        sides.append(data)
    with contextlib.redirect_stdout(io.StringIO()):
        for data in sides:
            data.createIndex()
        evaluation = COCOeval(*sides, "bbox")
        evaluation.params.iouThrs = np.array([0.4])
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, -1]
    return precision[precision > -1].mean() if (precision > -1).any() else math.nan


@settings(deadline=None)
@given(FOUND.filter(lambda images: any(predicted for _, predicted in images)))
def test_coco_precision_equals_that_of_pycocotools(images):
    truth, prediction = of(images, 0), of(images, 1)
    assert coco_map_iou40(truth, prediction) == pytest.approx(coco_by_pycocotools(images), nan_ok=True)


@settings(deadline=None)
@given(FOUND.filter(lambda images: images[0][1]))
def test_the_published_vinbigdata_rule_equals_pycocotools_with_its_errors(images):
    # Ids from 0: pycocotools takes the id 0 of a match for no match, on either side.
    truth, prediction = of(images, 0), of(images, 1)
    quirks = {"corners_as_sizes": True, "first_truth_never_counts": True}
    score = coco_map_iou40(truth, prediction, **quirks, positions=range(len(truth)))
    expected = coco_by_pycocotools(images, corners_as_sizes=True, first_id=0)
    assert score == pytest.approx(expected, nan_ok=True)


def test_rows_of_one_picture_are_joined_when_they_are_named():
    # The first image is submitted in two rows, and counts once. Its second box hits what is hit already, unless the
    # first hit was by the very first box of the file: then 2 of 2 boxes count as hits, and 2 hits are of 2 true boxes.
    truth = boxes("1 1 0 0 9 9", "1 1 0 0 9 9", "1 1 0 0 9 9")
    predicted = boxes("1 0.9 0 0 9 9", "1 0.8 0 0 9 9", "1 0.7 50 50 60 60")
    assert coco_map_iou40(truth, predicted, images=["a", "a", "b"]) == pytest.approx(51 / 101)
    assert coco_map_iou40(truth, predicted, images=["a", "a", "b"], positions=[1, 2, 0]) == pytest.approx(51 / 101)
    assert coco_map_iou40(truth, predicted, images=["a", "a", "b"], positions=[0, 1, 2]) == 1


def test_only_the_hundred_most_confident_boxes_per_class_and_image_count():
    # The true one is the least sure: of 101, it is not seen; of 100, it comes last and 1 in 100 is right.
    wrong = [("1", 0.9, (50, 50, 60, 60))] * 99
    right = ("1", 0.1, (0, 0, 10, 10))
    for surer, by_hand in ((wrong, 1 / 100), ([wrong[0], *wrong], 0.0)):
        images = [([right], [*surer, right])]
        assert coco_map_iou40(of(images, 0), of(images, 1)) == pytest.approx(by_hand)
        assert coco_by_pycocotools(images) == pytest.approx(by_hand)


def test_an_enormous_box_without_hit_does_not_count_as_in_coco():
    right = ("1", 0.1, (0, 0, 10, 10))
    for corner, by_hand in ((100_000, 0.5), (100_001, 1.0)):
        images = [([right], [("1", 0.9, (0, 0, corner, corner)), right])]
        assert coco_map_iou40(of(images, 0), of(images, 1)) == pytest.approx(by_hand)
        assert coco_by_pycocotools(images) == pytest.approx(by_hand)


def test_corners_read_as_sizes_inflate_the_overlap():
    # Boxes of 5 x 5 that do not meet. Read as sizes, one reaches from 100 to 205 and the other from 106 to 217 along
    # both axes: common 99 x 99 of 105 x 105 + 111 x 111 - 99 x 99, which is 0.72.
    truth, prediction = boxes("1 1 100 100 105 105"), boxes("1 1 106 106 111 111")
    assert coco_map_iou40(truth, prediction) == 0
    for threshold, hit in ((0.72, 1), (0.73, 0)):
        assert coco_map_iou40(truth, prediction, threshold=threshold, corners_as_sizes=True) == pytest.approx(hit)


def test_the_published_vinbigdata_grader_never_counts_the_very_first_true_box():
    # Three images, all right: the first hit counts as false. Ranked first, it leaves 1/2 and 2/3 at recall 1/3, 2/3.
    truth = boxes("14 1 0 0 1 1", "14 1 0 0 1 1", "14 1 0 0 1 1")
    assert coco_map_iou40(truth, truth) == 1
    by_hand = (67 * 2 / 3) / 101  # recalls 0, 0.01 … 0.66
    assert coco_map_iou40(truth, truth, first_truth_never_counts=True) == pytest.approx(by_hand)


def test_the_published_vinbigdata_sample_scores_the_share_of_pictures_without_finding():
    # "No finding" everywhere, right in the first 7 of 10 images: precision 1 up to recall 1. Right in the last 7, the
    # best precision at every recall is 7/10. The published 0.0475 is close to 1/15 of such a share.
    last = boxes(*["3 1 0 0 50 50"] * 3, *["14 1 0 0 1 1"] * 7)
    sample = boxes(*["14 1 0 0 1 1"] * 10)
    assert coco_map_iou40(last[::-1], sample) == pytest.approx(1 / 2)
    assert coco_map_iou40(last, sample) == pytest.approx(0.7 / 2)


@pytest.mark.parametrize("metric", [map_iou50_siim, coco_map_iou40])
def test_no_pictures_have_no_score(metric):
    assert math.isnan(metric([], []))
