"""`assay tasks` selects by split and category."""

import json

import pytest


def names(result) -> set[str]:
    assert result.returncode == 0, result.stderr
    return {row["task"].removeprefix("mlebench/") for row in json.loads(result.stdout)["tasks"]}


def test_tasks_are_selected_by_split_and_category(assay):
    segmentation = names(assay("tasks", "mlebench", "--split", "high", "--category", "image segmentation", "--json"))
    assert {"vesuvius-challenge-ink-detection"} <= segmentation
    assert "tgs-salt-identification-challenge" not in segmentation, "it is in the split medium"
    both = names(assay("tasks", "mlebench", "--split", "high", "--split", "dev", "--json"))
    assert segmentation < both and "spaceship-titanic" in both and "leaf-classification" not in both
    assert names(assay("tasks", "mlebench", "--split", "dev", "--category", "Image To Image", "--json")) == set()


def test_rows_name_split_and_category(assay):
    rows = json.loads(assay("tasks", "mlebench/leaf-classification", "--json").stdout)["tasks"]
    assert [(row["splits"], row["category"]) for row in rows] == [(["low", "all"], "Image Classification")]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--split", "huge"], "no split is named 'huge'; available: low, medium, high, dev, all, systemcard"),
        (["--category", "Images"], "no category is named 'Images'; available: Audio Classification, Image"),
    ],
)
def test_an_unknown_split_or_category_is_answered_with_the_known_ones(assay, options, why):
    result = assay("tasks", "mlebench", *options)
    assert result.returncode == 2
    assert why in result.stderr
