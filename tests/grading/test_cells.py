"""Cells that spell masks, points, boxes and lists are decoded on both sides, and a fault names column and row."""

import pytest

from assay.core.errors import InvalidSubmission
from assay.formats import parse_integers, parse_mask, parse_span, parse_words

SIZE = {"height": "rows", "width": "columns"}


@pytest.fixture(params=[True, False], ids=["published", "strict"])
def outcome(request, make_task, graded):
    """The score of a submission, or why it has none, in both ways of reading."""

    def judge(submission: str, answers: str, **rules):
        task = make_task(lenient=request.param, direction="higher", **rules)
        grade = graded(task, answers, submission)
        return grade.why or grade.score

    return judge


def test_masks_take_their_size_from_a_differently_named_column_of_the_answers(outcome):
    """hubmap-kidney-segmentation."""
    codec = {"name": "mask", "answers": SIZE}
    column = {"type": "text", "missing": "", "codec": codec, "answer": "encoding"}
    rules = {"columns": {"predicted": column}, "metric": "mean_dice"}
    answers = "id,encoding,columns,rows\na,1 4,2,3\nb,,5.0,1.0\n"
    assert outcome("id,predicted\nb,\na,1 4\n", answers, **rules) == 1.0
    # In a: 2 common pixels of 4 + 2; in b: one predicted, none true.
    assert outcome("id,predicted\nb,1 1\na,1 2\n", answers, **rules) == pytest.approx((4 / 6 + 0) / 2, abs=1e-5)
    why = "submission.csv, column 'predicted', id 'a': a run ends at pixel 7, but the image has 6 pixels (3 x 2)."
    assert outcome("id,predicted\nb,\na,1 7\n", answers, **rules) == why
    why = "submission.csv, column 'predicted', id 'b': a mask is written as pairs of integers, start and length;"
    assert outcome("id,predicted\nb,1 x\na,1 6\n", answers, **rules).startswith(why)


def test_masks_take_their_size_and_spelling_from_the_rules(outcome):
    params = {"height": 2, "width": 2, "order": "row", "empty": "-", "cut_beyond": True}
    codec = {"name": "mask", "params": params}
    rules = {"columns": {"mask": {"type": "text", "codec": codec}}, "metric": "global_dice"}
    answers = "id,mask\na,1 2\nb,-\n"
    assert outcome("id,mask\na,1 2\nb,-\n", answers, **rules) == 1.0
    assert outcome("id,mask\na,1 2\nb,3 99\n", answers, **rules) == pytest.approx(2 * 2 / (2 + 4), abs=1e-5)
    assert "must begin after run" in outcome("id,mask\na,2 2 1 1\nb,-\n", answers, **rules)


def test_three_numbers_may_be_two_runs_of_one_length():
    mask = parse_mask("1 5 9", 4, 4, "here", share_length=True)
    assert (mask.starts.tolist(), mask.ends.tolist()) == ([0, 8], [5, 13])


def test_masks_are_read_as_loosely_as_published_graders_do():
    loose = {"empty": "-", "share_length": True, "blank_is_empty": True, "python_integers": True, "cut_beyond": True}

    def pixels(text):
        return parse_mask(text, 4, 4, "here", **loose).decode().ravel(order="F").nonzero()[0].tolist()

    assert pixels("+2 1_0") == list(range(1, 11))
    assert pixels("15 99999999999999999999") == [14, 15]
    assert pixels("7") == pixels(" ") == pixels("-") == []
    for text in (" - ", "x", "0", "1 2 9 2 20"):
        with pytest.raises(InvalidSubmission):
            pixels(text)


def test_points_are_matched_with_boxes_in_the_format_of_the_answers(outcome):
    """kuzushiji-recognition: points are submitted, and the answers hold boxes."""
    column = {"type": "text", "missing": "", "codec": {"name": "points"}, "truth": {"name": "rectangles"}}
    rules = {"columns": {"labels": column}, "metric": "point_in_box_f1"}
    answers = "id,labels\na,U+1 0 0 10 10 U+2 50 50 4 4\nb,U+1 5 5 2 2\n"
    # Hits: U+1 in a and in b; one box is missed, no point is in vain: 2 * 2 / (3 + 2).
    assert outcome("id,labels\na,U+1 5 5\nb,U+1 6 6\n", answers, **rules) == 0.8
    assert outcome("id,labels\na,\nb,\n", answers, **rules) == 0.0
    needed = "groups of 3, label x y, are needed; 2 words are not a multiple of that."
    why = f"submission.csv, column 'labels', id 'b': {needed}"
    assert outcome("id,labels\na,\nb,U+1 6\n", answers, **rules) == why


def test_cells_may_be_split_at_each_space(outcome):
    codec = {"name": "points", "params": {"split_at_spaces": True}}
    column = {"type": "text", "missing": "", "codec": codec, "truth": {"name": "rectangles"}}
    rules = {"columns": {"labels": column}, "metric": "point_in_box_f1"}
    answers = "id,labels\na,U+1 0 0 10 10\n"
    assert outcome('id,labels\na,"U+1 5\t 5\n"\n', answers, **rules) == 1.0
    assert outcome('id,labels\na,"U+1\t 5 5"\n', answers, **rules) == 0.0
    for text in ("U+1  5 5", " ", "U+1 5 5 "):
        assert "are needed" in outcome(f"id,labels\na,{text}\n", answers, **rules)
    assert "x must be a number" in outcome("id,labels\na,  \n", answers, **rules)


def test_boxes_are_matched_by_class_and_overlap(outcome):
    """siim-covid19-detection and vinbigdata-chest-xray-abnormalities-detection."""
    column = {"type": "text", "codec": {"name": "boxes", "params": {"whole_labels": True}}}
    rules = {"columns": {"boxes": column}, "metric": "map_iou50_siim"}
    answers = "id,boxes\na,1 1 0 0 10 10\nb,2 1 0 0 4 4\n"
    assert outcome("id,boxes\nb,2 0.9 0 0 4 4\na,1.0 0.5 0 0 10 10\n", answers, **rules) == 1.0
    assert outcome("id,boxes\nb,1 0.9 0 0 4 4\na,1 0.5 0 0 10 10\n", answers, **rules) == 0.25
    assert "label must be a number" in outcome("id,boxes\nb,x 0.9 0 0 4 4\na,1 1 0 0 1 1\n", answers, **rules)


def test_boxes_in_space_are_matched_by_volume(outcome):
    """3d-object-detection-for-autonomous-vehicles."""
    column = {"type": "text", "missing": "", "codec": {"name": "boxes_3d"}}
    rules = {"columns": {"boxes": column}, "metric": "map_3d_iou"}
    answers = "id,boxes\na,1 0 0 0 2 4 2 0 car\n"
    assert outcome(answers, answers, **rules) == 1.0
    assert outcome("id,boxes\na,\n", answers, **rules) == 0.0
    assert "must be above 0" in outcome("id,boxes\na,1 0 0 0 2 -4 2 0 car\n", answers, **rules)


def test_lists_are_checked_and_scored_as_text(outcome):
    """multi-modal-gesture-recognition."""
    column = {"type": "text", "codec": {"name": "integers", "params": {"min_count": 1, "max_count": 3}}}
    rules = {"columns": {"sequence": column}, "metric": "normalized_edit_distance"}
    answers = "id,sequence\na,1 2 3\nb,4 5\n"
    assert outcome("id,sequence\na,1 3\nb,4 5\n", answers, **rules) == 0.2
    why = "submission.csv, column 'sequence', id 'b': words must be integers, but 'x' is not."
    assert outcome("id,sequence\na,1 2\nb,4 x\n", answers, **rules) == why
    why = "submission.csv, column 'sequence', id 'b': at most 3 words are accepted, but there are 4."
    assert outcome("id,sequence\na,1 2\nb,4 5 6 7\n", answers, **rules) == why


def test_an_answer_is_a_span_and_the_truth_may_list_several(outcome):
    """tensorflow2-question-answering."""
    column = {"type": "text", "missing": "", "codec": {"name": "span"}, "truth": {"name": "words"}}
    rules = {"columns": {"answer": column}, "metric": "nq_micro_f1"}
    answers = "id,answer\na_long,3:7\na_short,4:5 YES\nb_long,\nb_short,\n"
    assert outcome("id,answer\na_long,3:7\na_short,YES\nb_long,\nb_short,\n", answers, **rules) == 1.0
    published = rules | {"params": {"count_true_negatives": True}}
    assert outcome("id,answer\na_long,\na_short,\nb_long,\nb_short,\n", answers, **published) == 0.5
    why = "submission.csv, column 'answer', id 'b_long': 'yes' is not an answer; write start:end, YES, NO, or nothing."
    assert outcome("id,answer\na_long,\na_short,\nb_long,yes\nb_short,\n", answers, **rules) == why


def test_lists_of_words_keep_to_their_grammar():
    assert parse_words("a b", "here", min_count=1, max_count=2) == "a b"
    assert parse_integers("7 x", "here", first_only=True) == "7 x"
    for text in ("", "YES", "NO", "3:7"):
        assert parse_span(text, "here") == parse_span(f" {text} ", "here") == text


@pytest.mark.parametrize("text", ["three", "3:", ":7", "a:b", "no", "3:7:9", "3-7"])
def test_what_is_not_a_span_is_refused(outcome, text):
    column = {"type": "text", "missing": "", "codec": {"name": "span"}, "truth": {"name": "words"}}
    reason = outcome(
        f"id,answer\na,{text}\nb,\n", "id,answer\na,1:2\nb,\n", columns={"answer": column}, metric="nq_micro_f1"
    )
    assert reason.startswith(f"submission.csv, column 'answer', id 'a': {text!r} is not an answer")


def test_a_first_guess_of_a_ranked_list_counts(make_task, graded):
    """inaturalist-2019-fgvc6: whole numbers or lists of them; a column of fractions fails."""
    codec = {"name": "integers", "params": {"first_only": True, "min_count": 1}}
    task = make_task(columns={"predicted": {"type": "text", "codec": codec}}, metric="top1_error", lenient=True)
    answers = "id,predicted\n1,654\n2,3\n"
    assert graded(task, answers, "id,predicted\n1,654\n2,4\n").score == 0.5
    assert graded(task, answers, "id,predicted\n1,654 1 2\n2,3 7\n").score == 0.0
    why = "submission.csv, column 'predicted', id '1': words must be integers, but '654.0' is not."
    assert graded(task, answers, "id,predicted\n1,654.0\n2,4\n").why == why
