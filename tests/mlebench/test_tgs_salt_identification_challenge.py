import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    prepare_raw,
    read_archive,
    read_prepared,
    read_table,
    split,
    to_csv,
    write_archive,
    write_file,
)
from graders import align, decode_mask, require

from assay.grading import grade_submission

SIZE = 101


class TestTgsSaltIdentificationChallenge(Competition):
    name = "tgs-salt-identification-challenge"
    id = "id"
    targets = ("rle_mask",)
    predictions = "class"
    fixed_changes = ("public/depths.csv",)
    max_rows = 20

    def prepare_reference(self, raw: Path) -> Files:
        members = read_archive(raw / "competition_data.zip")
        masks = read_table(members["competition_data/train.csv"]).astype(object).fillna("")
        train, test = (side.sort_values("id") for side in split(masks, test_size=0.25))
        depths = pd.read_csv(raw / "depths.csv")
        images = {path.removeprefix("competition_data/train/"): content for path, content in members.items()}
        return {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(
                test[[*test.columns.drop("rle_mask"), "rle_mask"]].assign(rle_mask="1 1")
            ),
            "public/depths.csv": to_csv(depths[depths["id"].isin(train["id"])].sort_values("id")),
            "private/test.csv": to_csv(test),
            **{f"public/train/images/{id}.png": images[f"images/{id}.png"] for id in train["id"]},
            **{f"public/train/masks/{id}.png": images[f"masks/{id}.png"] for id in train["id"]},
            **{f"public/test/images/{id}.png": images[f"images/{id}.png"] for id in test["id"]},
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(set(submission.columns) == {"id", "rle_mask"})
        submission, answers = submission.fillna(""), answers.fillna("")
        require(all(isinstance(cell, str) for cell in submission["rle_mask"]))
        predicted, true = align(submission, answers, "id")
        return np.mean([score(*pair) for pair in zip(true["rle_mask"], predicted["rle_mask"], strict=True)])

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for cell in (
            "1 10201", "1 10300", "10201 1", "10202 5", "1 1 2 1", "1 3 2 1", "5 1 1 1", "1 0", "0 1", "1 5 9", "7",
            "1 2 3 4 5", "1  5", " 1 5 ", "1 -5", "1 5 x", "1.0 5", "1 10 20 10 5000 4000", "   ",
            "+1 1_0", "१ ५", "5 99999999999999999999", "9223372036854775808 1",
        ):  # fmt: skip
            for count in (1, len(table.rows)):
                numbers = draw.sample(range(len(table.rows)), count)
                yield f"{count} masks {cell!r}", table.change(lambda _: {"rle_mask": cell}, numbers)  # noqa: B023

    def test_missing_masks_are_empty_and_depths_may_lack(self, raw: Path) -> None:
        ids = [f"x{number}" for number in range(8)]
        table = to_csv(pd.DataFrame({"rle_mask": "", "id": ids, "note": "a, b"}))
        images = {f"competition_data/train/{kind}/{id}.png": kind + id for kind in ("images", "masks") for id in ids}
        write_archive(raw / "competition_data.zip", {"competition_data/train.csv": table, **images})
        write_file(raw / "depths.csv", b"id,z\nx7,5\nother,\nx0,7\n")
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_gives_the_depths_of_test_images(self, miniatures: Miniatures) -> None:
        known = {}
        for edition in ("v1", "fixed"):
            files = read_prepared(miniatures.prepared(self.name, edition))
            test = set(read_table(files["private/test.csv"])["id"])
            known[edition] = test & set(read_table(files["public/depths.csv"])["id"])
        assert not known["v1"]
        assert len(known["fixed"]) >= len(test) - 1

    @pytest.mark.parametrize(("edition", "above"), (("v1", True), ("fixed", False)))
    def test_fixed_gives_nothing_for_an_empty_mask(self, miniatures: Miniatures, edition: str, above: bool) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "test.csv", keep_default_na=False)
        perfect = grade_submission(to_csv(answers), prepared, home=miniatures.home)
        assert perfect.score == 1
        empty = grade_submission(to_csv(answers.assign(rle_mask="")), prepared, home=miniatures.home)
        without_salt = (answers["rle_mask"] == "").mean()
        assert empty.score is not None
        assert bool(empty.score > without_salt + 1e-5) is above


def score(true: str, predicted: str) -> float:
    """Both sides are binned into two bins between their smallest and largest value, so an empty one looks full."""
    truth, guess = decode_mask(true, SIZE, SIZE), decode_mask(predicted, SIZE, SIZE)
    if not truth.any():
        return float(not guess.any())
    if not guess.any():
        guess = np.ones_like(guess)
    iou = (truth & guess).sum() / (truth | guess).sum()
    return float(np.mean(iou > np.arange(0.5, 1.0, 0.05)))
