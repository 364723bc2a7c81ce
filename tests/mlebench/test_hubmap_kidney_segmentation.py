import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, prepare_raw, read_prepared, split, to_csv, write_file
from graders import require, require_columns
from run_masks import decode_runs

from assay.core.errors import SourceError
from assay.data import Prepared
from assay.grading import grade_submission

INFORMATION = "HuBMAP-20-dataset_information.csv"


class TestHubmapKidneySegmentation(Competition):
    name = "hubmap-kidney-segmentation"
    id = "id"
    targets = ("predicted",)
    fixed_changes = ("public/test/?????????.json",)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), train_size=12, test_size=3)
        facts = pd.read_csv(raw / INFORMATION)
        facts["id"] = [name.split(".")[0] for name in facts["image_file"]]
        answers = test.merge(facts[["id", "width_pixels", "height_pixels"]], on="id", how="inner")
        known = facts[facts["id"].isin([*train["id"], *test["id"]])].drop(columns="id")
        sample = "id,predicted\n" + "".join(f"{id},\n" for id in answers["id"])
        kinds = (".tiff", ".json", "-anatomical-structure.json")
        return {
            "public/train.csv": to_csv(train),
            f"public/{INFORMATION}": to_csv(known),
            "public/sample_submission.csv": sample.encode(),
            "public/test/sample_submission.csv": sample.encode(),
            "private/test.csv": to_csv(answers),
            "private/gold_submission.csv": to_csv(
                answers.rename(columns={"encoding": "predicted"})[["id", "predicted"]]
            ),
            **{
                f"public/{side}/{id}{kind}": (raw / "train" / f"{id}{kind}").read_bytes()
                for side, table in (("train", train), ("test", test))
                for id in table["id"]
                for kind in kinds
            },
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "predicted")
        require(len(submission) == len(answers) and set(submission["id"]) == set(answers["id"]))
        cells = dict(zip(submission["id"], submission["predicted"].astype(object).fillna(""), strict=True))
        scores = []
        for row in answers.itertuples():
            true = decode_runs(row.encoding, row.height_pixels, row.width_pixels)
            guess = decode_runs(cells[row.id], row.height_pixels, row.width_pixels)
            total = true.sum() + guess.sum()
            scores.append(2 * (true & guess).sum() / total if total else 1.0)
        return np.mean(scores)

    def _predict(self, row: dict[str, str], known: dict[str, list[str]], draw: random.Random) -> dict[str, str]:
        start = draw.randrange(1, 1000)
        return {"predicted": f"{start} {draw.randrange(1, 2000)} {start + 2500} 300"}

    def _submission(self, prepared: Prepared, answers: str, draw: random.Random) -> Table:
        """The answers have another column than the submission."""
        rows = [{"id": line.split(",")[0], **self._predict({}, {}, draw)} for line in answers.splitlines()[1:]]
        return Table("id", ("predicted",), ("id", "predicted"), rows)

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for cell in (
            "1 99999", "99999 5", "99999 5 99999 2", "99999 5 99998 2", "1 1 2 1", "1 3 2 1", "5 1 1 1", "1 0", "0 1",
            "1 5 9", "7", "1 5 x", "+3 1_0", "1 99999999999999999999", "99999999999999999999",
        ):  # fmt: skip
            yield f"mask {cell!r}", table.change(lambda _: {"predicted": cell}, [1])  # noqa: B023

    def test_raw_data_must_have_fifteen_images(self, raw: Path) -> None:
        rows = "".join(f"x{number},1 1\n" for number in range(16))
        write_file(raw / "train.csv", f"id,encoding\n{rows}".encode())
        with pytest.raises(SourceError, match="16 rows"):
            prepare_raw(self.name, raw)

    def test_fixed_hides_the_outlines_of_the_test_images(self, miniatures: Miniatures) -> None:
        v1, fixed = (read_prepared(miniatures.prepared(self.name, edition)) for edition in ("v1", "fixed"))
        ids = pd.read_csv(miniatures.prepared(self.name).private / "test.csv")["id"]
        for id in ids:
            assert f"public/test/{id}.json" in v1
            assert f"public/test/{id}.json" not in fixed
            assert f"public/test/{id}.tiff" in fixed

    def test_the_gold_submission_is_perfect_in_fixed(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        gold = (prepared.private / "gold_submission.csv").read_bytes()
        assert grade_submission(gold, prepared, home=miniatures.home).score == 1
