"""Boxes in space are compared as boxes worked out by hand, and as rectangles that are cut along each other's sides."""

import builtins
import math
from itertools import pairwise

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from task_metrics import task_metric

from assay.core.errors import AssayError, InvalidSubmission
from assay.formats import parse_boxes_3d

map_3d_iou = task_metric("map_3d_iou")


def scene(*rows):
    return parse_boxes_3d(" ".join(rows), "here")


CAR = "1 0 0 0 2 4 1 0 car"


@pytest.mark.parametrize("threshold", (0.3, 0.55, 0.65, 0.99))
@pytest.mark.parametrize(
    ("predicted", "overlap"),
    [
        ("1 0 0 0 2 4 1 0 car", 1),
        ("1 1 0 0 2 4 1 0 car", 3 / 5),  # moved along its length of 4 by 1: common 3, joint 5
        ("1 0 0.5 0 2 4 1 0 car", 1.5 / 2.5),  # moved across its width of 2
        ("1 0 0 0.25 2 4 1 0 car", 0.75 / 1.25),  # lifted
        ("1 0 0 0 4 2 1 1.5707963267948966 car", 1),  # as wide as the other is long, and turned by a right angle
        ("1 0 0 0 2 4 1 3.141592653589793 car", 1),
        ("1 0 0 0 2 4 2 0 car", 0.5),
        ("1 0 0 2 2 4 1 0 car", 0),  # above
        ("1 9 0 0 2 4 1 0 car", 0),
        ("1 0 0 0 2 4 1 0 bus", 0),
    ],
)
def test_overlap_in_space_by_hand(predicted, overlap, threshold):
    assert map_3d_iou([scene(CAR)], [scene(predicted)], thresholds=[threshold]) == (overlap > threshold)


def test_a_square_rotated_by_45_degrees_overlaps_in_an_octagon():
    # Its area is 2 (sqrt 2 - 1) of the unit square, so the IoU is A / (2 - A) = sqrt 1/2.
    square, turned = scene("1 5 5 0 1 1 1 0 car"), scene(f"1 5 5 0 1 1 1 {math.pi / 4} car")
    score = [map_3d_iou([square], [turned], thresholds=[math.sqrt(0.5) + nudge]) for nudge in (-1e-9, 1e-9)]
    assert score == [1, 0]


def test_ten_thresholds_are_averaged():
    # IoU 3 / 5 is above 0.50 and 0.55; and of two scenes, the other is right.
    truth, prediction = [scene(CAR), scene(CAR)], [scene("1 1 0 0 2 4 1 0 car"), scene(CAR)]
    assert map_3d_iou(truth, prediction) == pytest.approx((0.2 + 1) / 2)
    assert map_3d_iou(truth, prediction, average_precision=True) == pytest.approx((0.2 + 1) / 2)


FAR = "1 50 50 0 2 4 1 0 car"
BUS = "1 0 0 0 3 9 3 0 bus"


@pytest.mark.parametrize(
    ("true", "predicted", "share", "area"),
    [
        ([CAR], [CAR, FAR], 1 / 2, 1.0),  # a false box after the hit costs no area
        ([CAR], [FAR, CAR], 1 / 2, 1 / 2),
        ([CAR, FAR], [CAR], 1 / 2, 1 / 2),
        ([CAR], [CAR, CAR], 1 / 2, 1.0),  # the second hit on the same box is false
        ([CAR], [CAR, BUS], 1 / 2, 1.0),  # a class that is not there is free only in the area
        ([CAR, BUS, FAR], [CAR, FAR], 2 / 3, 1 / 2),  # classes weigh the same in the area
        ([CAR], ["0.1" + FAR[1:], CAR], 1 / 2, 1.0),  # by score, not by place
        ([CAR, FAR], [], 0, 0),
        ([], [CAR], 0, math.nan),
        ([], [], 1, math.nan),
    ],
)
def test_the_share_of_hits_and_the_published_area_by_hand(true, predicted, share, area):
    truth, prediction = [scene(*true)], [scene(*predicted)]
    assert map_3d_iou(truth, prediction) == pytest.approx(share)
    assert map_3d_iou(truth, prediction, average_precision=True) == pytest.approx(area, nan_ok=True)


@pytest.mark.parametrize("quirk", (False, True))
def test_the_published_sample_of_lyft_without_boxes_scores_zero(quirk):
    assert map_3d_iou([scene(CAR, BUS), scene(FAR)], [scene(), scene()], average_precision=quirk) == 0


SOLID = st.tuples(*[st.floats(-2, 2)] * 3, *[st.floats(0.5, 4)] * 3, st.floats(-7, 7), st.sampled_from([0.2, 0.5, 0.9]))


def corners(x, y, width, length, yaw):
    """The corners of a turned rectangle, counterclockwise."""
    ahead = (length / 2 * math.cos(yaw), length / 2 * math.sin(yaw))
    aside = (-width / 2 * math.sin(yaw), width / 2 * math.cos(yaw))
    signs = ((1, -1), (1, 1), (-1, 1), (-1, -1))
    return [(x + a * ahead[0] + b * aside[0], y + a * ahead[1] + b * aside[1]) for a, b in signs]


def common_area(polygon, others):
    """The area that two convex polygons share: one is cut along each side of the other (Sutherland and Hodgman)."""
    for (x, y), (x2, y2) in pairwise([*others, others[0]]):
        depths = [(x2 - x) * (b - y) - (y2 - y) * (a - x) for a, b in polygon]  # negative outside of the side
        kept = []
        for point, depth, following, next_depth in zip(
            polygon, depths, [*polygon[1:], *polygon[:1]], [*depths[1:], *depths[:1]], strict=True
        ):
            if depth >= 0:
                kept.append(point)
            if depth * next_depth < 0:
                share = depth / (depth - next_depth)
                kept.append(tuple(a + share * (b - a) for a, b in zip(point, following, strict=True)))
        polygon = kept
    return sum(a * d - b * c for (a, b), (c, d) in pairwise([*polygon, *polygon[:1]])) / 2


@given(SOLID, SOLID, st.floats(0.01, 0.95))
def test_overlap_in_space_equals_that_of_rotated_rectangles(solid, other, threshold):
    (x, y, z, width, length, height, yaw, _), (x2, y2, z2, width2, length2, height2, yaw2, _) = solid, other
    ground = common_area(corners(x, y, width, length, yaw), corners(x2, y2, width2, length2, yaw2))
    low, high = max(z - height / 2, z2 - height2 / 2), min(z + height / 2, z2 + height2 / 2)
    common = ground * max(0, high - low)
    overlap = common / (width * length * height + width2 * length2 * height2 - common)
    truth, prediction = (scene(" ".join(map(str, [1, *values[:7], "car"]))) for values in (solid, other))
    score = map_3d_iou([truth], [prediction], thresholds=[threshold])
    assert score == (overlap > threshold) or overlap == pytest.approx(threshold)


def test_boxes_that_shapely_intersects_in_points_overlap_except_in_the_published_score():
    sides = (1.5, 1.7177960806290145)
    yaw = 3.893362564142847
    smaller, larger = (corners(0, 0, width, sides[1], yaw) for width in sides)
    assert shapely.Polygon(smaller).intersection(shapely.Polygon(larger)).geom_type == "MultiPoint"
    # The smaller box lies inside of the larger one, and has 1.5 / 1.7178 = 0.873 of its volume.
    prediction, truth = (scene(f"1 0 0 0 {width} {sides[1]} 1 {yaw} car") for width in sides)
    score = [map_3d_iou([truth], [prediction], thresholds=[threshold]) for threshold in (0.87, 0.88)]
    assert score == [1, 0]
    assert map_3d_iou([truth], [prediction], thresholds=[0.5], average_precision=True, check_corners=True) == 0


@given(st.lists(st.lists(SOLID, min_size=1, max_size=3), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_scenes_does_not_matter(solids, random):
    scenes = [scene(*(" ".join(map(str, [s[7], *s[:7], "car"])) for s in rows)) for rows in solids]
    pairs = list(zip(scenes, scenes[1:] + scenes[:1], strict=True))
    moved = random.sample(pairs, len(pairs))
    for quirk in (False, True):
        score, other = (map_3d_iou(*zip(*each, strict=True), average_precision=quirk) for each in (pairs, moved))
        assert score == pytest.approx(other)


def test_boxes_of_absurd_size_are_measured_without_error():
    extreme = ["1 0 0 0 1e-300 1e-300 1e-300 0 car", "1 1e12 1e12 0 1 1 1 0.3 car", "1 0 0 0 1e12 1e12 1e12 1e12 car"]
    for quirk in (False, True):
        assert 0 <= map_3d_iou([scene(CAR, *extreme)], [scene(*extreme, CAR)], average_precision=quirk) <= 1


def test_the_published_grader_checks_boxes_of_true_classes_only():
    quirks = {"average_precision": True, "check_corners": True}
    assert map_3d_iou([scene(CAR)], [scene(CAR)], **quirks) == 1
    for box in ("1 0 0 0 -2 4 1 0 car", "1 0 0 0 2 4 0 0 car", "1 1e9 1e9 0 2 4 1 0.3 car"):
        prediction = parse_boxes_3d(f"{CAR} {box}", "here", any_size=True)
        with pytest.raises(InvalidSubmission, match="size"):
            map_3d_iou([scene(CAR)], [prediction], **quirks)
        other = parse_boxes_3d(f"{CAR} {box.replace('car', 'bus')}", "here", any_size=True)
        assert map_3d_iou([scene(CAR)], [other], **quirks) == 1


def test_cells_may_be_split_at_each_space():
    assert len(parse_boxes_3d(" \t", "here", split_at_spaces=True).labels) == 0
    assert parse_boxes_3d(CAR, "here", split_at_spaces=True).labels.tolist() == ["car"]


@pytest.mark.parametrize("text", [f" {CAR}", f"{CAR} ", CAR.replace(" 0 ", "  0 ", 1), CAR.replace(" ", "\t", 1)])
def test_other_white_space_is_accepted_unless_cells_are_split_at_each_space(text):
    assert parse_boxes_3d(text, "here").labels.tolist() == ["car"]
    with pytest.raises(InvalidSubmission):
        parse_boxes_3d(text, "here", split_at_spaces=True)


def test_without_shapely_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name == "shapely":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(AssayError, match=r"\[mlebench\]"):
        map_3d_iou([scene(CAR)], [scene(CAR)])


def test_no_scenes_have_no_score():
    assert math.isnan(map_3d_iou([], []))


def test_steps_of_recall_are_subtracted_as_published_to_the_last_digit():
    # Six of six boxes found: the steps k/6 - (k - 1)/6 add up to 1, whereas six times 1/6 is 0.9999999999999999.
    six = scene(*(f"1 {20 * number} 0 0 2 4 1 0 car" for number in range(6)))
    assert map_3d_iou([six], [six], thresholds=[0.5], average_precision=True) == 1


def test_scenes_are_added_up_in_the_order_of_their_names_where_these_are_given():
    # With n of ten boxes right a scene scores n/10, and 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 to the last digit.
    boxes = [f"1 {20 * number} 0 0 2 4 1 0 car" for number in range(10)]
    truth, prediction = [scene(*boxes[:right]) for right in (1, 2, 3)], [scene(*boxes)] * 3
    forward, backward = (0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3
    assert forward != backward
    assert map_3d_iou(truth, prediction, thresholds=[0.5]) == forward
    assert map_3d_iou(truth, prediction, thresholds=[0.5], scenes=["c", "b", "a"]) == backward
