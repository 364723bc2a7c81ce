"""Cells that hold masks, points and boxes are read as written, and refused with a sentence that says what is wrong."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.core.errors import InvalidSubmission
from assay.formats import (
    encode_mask,
    mask_from_pixels,
    parse_boxes,
    parse_boxes_3d,
    parse_mask,
    parse_points,
    parse_rectangles,
)

WHERE = "submission.csv, id 'a1'"
ORDER = st.sampled_from(["column", "row"])
PIXELS = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7))


@pytest.mark.parametrize(
    ("order", "drawn"),
    [("column", [[0, 1, 0], [1, 1, 0]]), ("row", [[0, 1, 1], [1, 0, 0]])],
)
def test_runs_go_down_the_columns_or_along_the_rows(order, drawn):
    # Pixels 2, 3 and 4 of an image of two rows and three columns.
    assert parse_mask("2 3", 2, 3, WHERE, order=order).decode().astype(int).tolist() == drawn


@given(PIXELS, ORDER)
def test_a_mask_written_and_read_is_the_same_mask(pixels, order):
    text = encode_mask(mask_from_pixels(pixels, order=order))
    assert np.array_equal(parse_mask(text, *pixels.shape, WHERE, order=order).decode(), pixels)


def test_a_full_image_is_one_run():
    assert encode_mask(mask_from_pixels(np.ones((6, 5)))) == "1 30"


@given(PIXELS, st.data())
def test_area_and_overlap_of_runs_are_those_of_drawn_masks(pixels, data):
    other = data.draw(hnp.arrays(bool, pixels.shape))
    mask, other_mask = mask_from_pixels(pixels), mask_from_pixels(other)
    assert mask.area == pixels.sum()
    assert mask.overlap(other_mask) == other_mask.overlap(mask) == (pixels & other).sum()


def test_runs_may_touch_and_blanks_may_be_many():
    mask = parse_mask("  1 2\t 3  1 ", 2, 2, WHERE)
    assert mask.area == 3
    assert mask.decode().astype(int).tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize(("empty", "text"), [("", ""), ("", "  "), ("-", "-"), ("-", " - ")])
def test_a_mask_without_pixels_is_written_as_the_task_says(empty, text):
    assert parse_mask(text, 2, 3, WHERE, empty=empty).area == 0
    assert encode_mask(parse_mask(text, 2, 3, WHERE, empty=empty), empty=empty) == empty


@pytest.mark.parametrize(
    ("text", "empty", "sentence"),
    [
        ("", "-", "there is no mask; .* an empty mask is written '-'"),
        ("", None, "there is no mask; .* start and length\\."),
        ("-", "", "'-' is not an integer"),
        ("1 2 x 1", "", "pairs of integers, start and length; 'x' is not"),
        ("1.0 2", "", "'1.0' is not an integer"),
        ("-1 2", "", "'-1' is not an integer"),
        ("１ 2", "", "is not an integer"),
        ("nan 1", "", "'nan' is not an integer"),
        ("__import__('os') 1", "", "is not an integer"),
        ("0 2", "", "both counted from 1; one of them is 0"),
        ("1 00", "", "both counted from 1; one of them is 0"),
        ("1 2 3", "", "the 3 numbers are not pairs"),
        ("1 3 3 1", "", "run '3 1' must begin after run '1 3' ends"),
        ("5 1 1 1", "", "run '1 1' must begin after run '5 1' ends"),
        ("5 3", "", r"a run ends at pixel 7, but the image has 6 pixels \(2 x 3\)"),
        (f"1 {10**18}", "", "is not an integer of at most 18 digits"),
        (f"1 {10**18 - 1}", "", "a run ends at pixel 999,999,999,999,999,999"),
        ("9" * 100_000, "", "is not an integer"),
    ],
)
def test_a_mask_that_is_not_runs_of_the_image_is_refused(text, empty, sentence):
    with pytest.raises(InvalidSubmission, match=sentence) as refusal:
        parse_mask(text, 2, 3, WHERE, empty=empty)
    assert str(refusal.value).startswith(f"{WHERE}: ")
    assert len(str(refusal.value)) < 300


def test_pixels_beyond_the_image_can_be_cut_as_published_graders_do():
    # "1 1 5 1" on one pixel, as seen with the published grader of vesuvius-challenge-ink-detection.
    assert parse_mask("1 1 5 1", 1, 1, WHERE, cut_beyond=True).area == 1
    assert parse_mask(f"2 {10**17} {10**17 + 5} 9", 2, 3, WHERE, cut_beyond=True).decode().sum() == 5
    assert parse_mask("7 2", 2, 3, WHERE, cut_beyond=True).area == 0


def test_masks_of_different_image_sizes_raise_an_error():
    with pytest.raises(ValueError, match="different images"):
        parse_mask("1 1", 2, 3, WHERE).overlap(parse_mask("1 1", 3, 2, WHERE))


def test_a_mask_of_a_trillion_pixels_is_measured_without_decoding_it():
    large, small = (parse_mask(text, 10**6, 10**6, WHERE) for text in ("1 999999999999", "5 10 900000000000 1"))
    assert (large.area, large.overlap(small)) == (10**12 - 1, 11)


def test_points_and_boxes_are_read_in_the_order_of_their_words():
    points = parse_points("U+306F 1.5 2  U+304B 3 -4", WHERE)
    assert (points.labels.tolist(), points.positions.tolist()) == (["U+306F", "U+304B"], [[1.5, 2.0], [3.0, -4.0]])
    rectangles = parse_rectangles("U+306F 10 20 3 4", WHERE)
    assert rectangles.corners.tolist() == [[10, 20, 13, 24]]
    boxes = parse_boxes("opacity 0.5 1 2 3 4", WHERE)
    assert (boxes.labels[0], boxes.scores[0], boxes.corners.tolist()) == ("opacity", 0.5, [[1, 2, 3, 4]])
    solid = parse_boxes_3d("0.9 1 2 3 4 5 6 0.7 car ", WHERE)
    assert (solid.labels[0], solid.scores[0], solid.yaws[0]) == ("car", 0.9, 0.7)
    assert (solid.centers.tolist(), solid.sizes.tolist()) == ([[1, 2, 3]], [[4, 5, 6]])


@pytest.mark.parametrize("parse", [parse_points, parse_rectangles, parse_boxes, parse_boxes_3d])
def test_an_empty_cell_means_no_objects_or_is_refused_as_the_task_says(parse):
    assert len(parse(" ", WHERE).labels) == 0
    with pytest.raises(InvalidSubmission, match=r"id 'a1': it is empty; groups of [3569], .* are needed"):
        parse(" ", WHERE, may_be_empty=False)


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parse_points, "U+306F 1", "groups of 3, label x y, are needed; 2 words are not a multiple of that"),
        (parse_points, "U+306F 1 up", "y must be a number between -1e.12 and 1e.12, but is 'up'"),
        (parse_rectangles, "a 1 2 3 inf", "height must be a number .* but is 'inf'"),
        (parse_boxes, "opacity nan 0 0 1 1", "confidence must be a number .* but is 'nan'"),
        (parse_boxes, "opacity 1 0 0 1e300 1", "xmax must be a number .* but is '1e300'"),
        (parse_boxes, "none 1 0 0 1 1 opacity", "groups of 6, label confidence xmin ymin xmax ymax, are needed; 7"),
        (parse_boxes, f"none {'9' * 10_000} 0 0 1 1", "confidence must be a number"),
        (parse_boxes_3d, "1 0 0 0 1 0 1 0 car", "must be above 0; those of box 1 are 1, 0, 1"),
        (parse_boxes_3d, "1 0 0 0 1 1 1 0 car 1 0 0 0 1 1 -2 0 car", "those of box 2 are 1, 1, -2"),
        (parse_boxes_3d, "1 0 0 0 1 1 1 car 0", "yaw must be a number .* but is 'car'"),
    ],
)
def test_a_cell_that_is_not_such_objects_is_refused(parse, text, sentence):
    with pytest.raises(InvalidSubmission, match=sentence) as refusal:
        parse(text, WHERE)
    assert str(refusal.value).startswith(f"{WHERE}: ")
    assert len(str(refusal.value)) < 300


def test_whole_labels_are_compared_as_numbers():
    assert parse_boxes("14.0 1 0 0 1 1 3 1 0 0 1 1", WHERE, whole_labels=True).labels.tolist() == ["14", "3"]
    with pytest.raises(InvalidSubmission, match=r"label must be an integer, but is '3\.5'"):
        parse_boxes("3.5 1 0 0 1 1", WHERE, whole_labels=True)
    with pytest.raises(InvalidSubmission, match="label must be a number"):
        parse_boxes("none 1 0 0 1 1", WHERE, whole_labels=True)


def test_a_run_start_without_a_length_is_an_empty_mask_where_runs_share_lengths():
    for text in ("7", " 1_0 ", "9" * 30):
        assert parse_mask(text, 3, 4, WHERE, share_length=True).area == 0
    for text in ("0", "-1", "x", "1 2 3 4 5"):
        with pytest.raises(InvalidSubmission):
            parse_mask(text, 3, 4, WHERE, share_length=True)
    with pytest.raises(InvalidSubmission, match="not pairs"):
        parse_mask("7", 3, 4, WHERE)


def test_a_page_of_more_points_than_allowed_is_refused():
    # kuzushiji-recognition allows 1200 predictions for a page.
    assert len(parse_points("a 1 1 " * 1200, WHERE, max_count=1200).labels) == 1200
    with pytest.raises(InvalidSubmission, match="there are more than 1,200 groups of 3, label x y"):
        parse_points("a 1 1 " * 1201, WHERE, max_count=1200)


def test_a_million_boxes_are_refused_without_reading_them():
    text = "opacity 1 0 0 1 1 " * 1_000_000
    began = time.process_time()
    with pytest.raises(InvalidSubmission, match="more than 10,000 groups of 6"):
        parse_boxes(text, WHERE)
    assert time.process_time() - began < 1
