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
    printed = assay("tasks", "mlebench", "--category", "image to image", "--split", "low", "--json").stdout
    (row,) = json.loads(printed)["tasks"]
    assert (row["task"], row["splits"]) == ("mlebench/denoising-dirty-documents", ["low", "all"])
    assert row["download"] == 60_000_000 and row["prepared"] == "no"


def test_prepared_tasks_and_kinds_are_selected_and_a_single_task_is_shown_in_detail(assay):
    leaf = "mlebench/leaf-classification"
    assert assay("prepare", leaf, "--synthetic", "--quiet").returncode == 0
    assert names(assay("tasks", "--prepared", "--json")) == {"leaf-classification"}
    assert "leaf-classification" not in names(assay("tasks", "mlebench:low", "--not-prepared", "--json"))
    audio = names(assay("tasks", "mlebench", "--kind", "Audio-Classification", "--split", "low", "--json"))
    assert "mlsp-2013-birds" in audio and "leaf-classification" not in audio
    details = json.loads(assay("tasks", leaf, "--json").stdout)
    assert details["title"] and details["prepared"] == ["v1/synthetic-0"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--split", "huge"], "no split is named 'huge'; available: low, medium, high, dev, all, systemcard"),
        (["--kind", "guess"], "no kind is named 'guess'; available: audio-"),
        (["--category", "Images"], "no category is named 'Images'; available: Audio Classification, Image"),
    ],
)
def test_an_unknown_split_or_category_is_answered_with_the_known_ones(assay, options, why):
    result = assay("tasks", "mlebench", *options)
    assert result.returncode == 2
    assert why in result.stderr
