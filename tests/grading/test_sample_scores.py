"""Sample submissions score what they are known to score, wherever that does not depend on the real data.

A constant has the same score whatever the answers are: chance for rankings, the logarithm of the number of classes for
probabilities. The figures are those that the published graders give for the competitions' own sample submissions.
"""

import math
import random

import pytest
from task_metrics import find_in_tasks

PRECISION = 2.220446049250313e-16
SHARE, NUMBER, CLASS = {"type": "number", "min": 0, "max": 1}, {"type": "number"}, {"type": "category"}


def one_hot(row: int, classes: int) -> list[str]:
    """The cells of a row that belongs to one class."""
    return [str(int(column == row % classes)) for column in range(classes)]


def files(columns: int, truth, sample: str, rows: int = 120) -> tuple[str, str]:
    """Answers with `truth(row)` in the columns, and a sample submission with the same value everywhere."""
    header = ",".join(["id", *(f"c{column}" for column in range(columns))])
    answers = "".join(f"r{row}," + ",".join(truth(row)) + "\n" for row in range(rows))
    constants = "".join(f"r{row}," + ",".join([sample] * columns) + "\n" for row in range(rows))
    return f"{header}\n{answers}", f"{header}\n{constants}"


@pytest.fixture(params=[True, False], ids=["published", "strict"])
def score(request, make_task, graded):
    """The score of a constant, in both ways of reading."""

    def judge(metric: str, columns: int, rule, truth, sample: str, params=None, **rules):
        names = {f"c{column}": rule for column in range(columns)}
        task = make_task(columns=names, metric=metric, params=params, lenient=request.param, **rules)
        grade = graded(task, *files(columns, truth, sample))
        assert grade.valid_submission, grade.why
        return grade.score

    return judge


@pytest.mark.parametrize("sample", ["0", "0.5"])
def test_a_constant_ranks_nothing(score, sample):
    """0.5 for aerial-cactus, histopathologic, siim-isic, whale-redux, tabular-may-2022, seti and ten more."""
    assert score("roc_auc", 1, SHARE, lambda row: [str(row % 2)], sample) == 0.5


@pytest.mark.parametrize(("columns", "sample"), [(2, "0.5"), (4, "0.25"), (6, "0.5"), (9, "0")])
def test_a_constant_ranks_nothing_in_any_column(score, columns, sample):
    """0.5 for playground-series-s3e18, plant-pathology-2020, jigsaw-toxic and ranzcr."""
    draw = random.Random(columns)
    truth = [[str(draw.randrange(2)) for _ in range(columns)] for _ in range(120)]
    assert score("mean_column_roc_auc", columns, NUMBER, truth.__getitem__, sample) == 0.5


def test_unscored_rows_do_not_change_that(score):
    """0.5 for jigsaw-toxic-comment-classification-challenge, whose answers are -1 where they do not count."""
    draw, skip = random.Random(0), {"column": "c0", "value": -1}
    truth = [["-1"] * 6 if row % 3 == 0 else [str(draw.randrange(2)) for _ in range(6)] for row in range(120)]
    assert score("mean_column_roc_auc", 6, NUMBER, truth.__getitem__, "0.5", skip=skip) == 0.5
    assert score(find_in_tasks("mean_column_roc_auc"), 6, NUMBER, truth.__getitem__, "0.5") == 0.5


def test_a_constant_has_a_weighted_area_of_its_own(score):
    """0.58571 for alaska2-image-steganalysis."""
    assert score("weighted_roc_auc", 1, NUMBER, lambda row: [str(row % 2)], "0") == 0.58571


def test_predictions_below_the_threshold_are_all_alike(make_task, graded):
    """0.5 for jigsaw-unintended-bias-in-toxicity-classification."""
    task = make_task(
        columns={"prediction": {"type": "number", "missing": "keep", "answer": "toxicity"}},
        metric="jigsaw_bias_auc", direction="higher", params={"threshold_predictions": True},
        takes={"identities": ["male", "female"]}, lenient=True,
    )  # fmt: skip
    draw = random.Random(0)
    rows = [[f"r{row}", *(f"{draw.random():.2f}" for _ in range(3))] for row in range(120)]
    answers = "id,toxicity,male,female\n" + "".join(",".join(row) + "\n" for row in rows)
    assert graded(task, answers, "id,prediction\n" + "".join(f"{row[0]},0.0\n" for row in rows)).score == 0.5


@pytest.mark.parametrize(
    ("classes", "known"), [(120, 4.78749), (99, 4.59512), (3, 1.09861)], ids=["dog-breed", "leaf", "lmsys"]
)
def test_a_uniform_prediction_costs_the_log_of_the_number_of_classes(score, classes, known):
    params = {"epsilon": PRECISION, "rescale_rows": False}
    rules = {"row_sum": {"tolerance": 1.1e-5}, "params": params}
    assert round(math.log(classes), 5) == known
    assert score("log_loss", classes, SHARE, lambda row: one_hot(row, classes), repr(1 / classes), **rules) == known


def test_a_half_costs_the_logarithm_of_two(score):
    """0.69315 for dogs-vs-cats-redux, statoil-iceberg-classifier and rsna-2022-cervical-spine-fracture-detection."""
    assert score("log_loss", 1, SHARE, lambda row: [str(row % 2)], "0.5", {"epsilon": PRECISION}) == 0.69315
    weights = {"negative_weight": 1, "positive_weight": 2}
    assert score("weighted_multilabel_log_loss", 1, SHARE, lambda row: [str(row % 2)], "0.5", weights) == 0.69315


@pytest.mark.parametrize("metric", ["quadratic_weighted_kappa", "matthews_corrcoef"])
def test_a_constant_agrees_no_more_than_chance(score, metric):
    """0 for aptos2019-blindness-detection and nfl-player-contact-detection."""
    assert score(metric, 1, {"type": "integer"}, lambda row: [str(row % 2)], "0") == 0.0


def test_a_class_that_is_never_true_is_never_right(score):
    """0 for tensorflow-speech-recognition-challenge and paddy-disease-classification, whose samples guess no class."""
    assert score("accuracy", 1, CLASS, lambda row: [["yes", "no"][row % 2]], "silence") == 0.0
    assert score("macro_f1", 1, {"type": "integer"}, lambda row: [str(row % 2 + 1)], "0") == 0.0


@pytest.mark.parametrize("lenient", [True, False])
def test_an_empty_mask_or_text_overlaps_nothing(make_task, graded, lenient):
    """0 for hubmap-kidney-segmentation, tweet-sentiment-extraction, chaii and 3d-object-detection."""
    empty = "id,c0\n" + "".join(f"r{row},\n" for row in range(9))
    cells = {"mean_dice": "3 4", "mean_word_jaccard": "some words", "map_3d_iou": "1 0 0 0 2 4 2 0 car"}
    codecs = {"mean_dice": {"name": "mask", "params": {"height": 5, "width": 5}}, "map_3d_iou": {"name": "boxes_3d"}}
    for metric, cell in cells.items():
        rule = {"type": "text", "missing": "", "codec": codecs.get(metric)}
        task = make_task(columns={"c0": rule}, metric=metric, lenient=lenient)
        assert graded(task, empty.replace(",\n", f",{cell}\n"), empty).score == 0.0


def test_a_constant_has_no_correlation(make_task, graded):
    """Not a number, and valid all the same, for us-patent-phrase-to-phrase-matching."""
    task = make_task(columns={"c0": NUMBER}, metric="pearson", direction="higher", lenient=True)
    grade = graded(task, *files(1, lambda row: [str(row)], "0"))
    assert (grade.score, grade.not_finite, grade.valid_submission) == (None, "nan", True)


def test_a_perfect_answer_scores_what_the_published_grader_gives(make_task, graded):
    """2.2e-16 by clipping, which rounds to 0; minus infinity without a floor; -ln(100 √2) for a confidence of 100."""
    answers = "id,c0\na,1\nb,0\n"
    clipped = make_task(columns={"c0": SHARE}, metric="log_loss", params={"epsilon": PRECISION}, lenient=True)
    assert graded(clipped, answers, answers).score == 0.0
    grouped = {"metric": "grouped_log_mae", "params": {"floor": 0}, "takes": {"groups": "id"}, "lenient": True}
    assert graded(make_task(columns={"c0": NUMBER}, **grouped), answers, answers).not_finite == "-inf"
    osic = make_task(
        columns={"FVC": NUMBER, "Confidence": {"type": "number", "missing": 0}},
        ids="subset", metric="laplace_log_likelihood", lenient=True,
    )  # fmt: skip
    answers = "id,FVC,Confidence\na_1,2000,100\n"
    assert graded(osic, answers, answers).score == -4.95174
