import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, prepare_raw, read_tree, to_csv, write_file
from graders import require
from PIL import Image
from run_masks import decode_runs, mask_cells
from sklearn import metrics

from assay.grading import grade_submission

HIDDEN = ("inklabels.png", "inklabels_rle.csv", "ir.png")


class TestVesuviusChallengeInkDetection(Competition):
    name = "vesuvius-challenge-ink-detection"
    id = "Id"
    targets = ("Predicted",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        test = {path: content for path, content in read_tree(raw / "train/3").items() if path not in HIDDEN}
        width, height = Image.open(raw / "train/3/ir.png").size
        labels = pd.read_csv(raw / "train/3/inklabels_rle.csv")
        labels["Id"] = "a"
        return {
            **{f"public/train/1/{path}": content for path, content in read_tree(raw / "train/1").items()},
            **{f"public/train/2/{path}": content for path, content in read_tree(raw / "train/2").items()},
            **{f"public/test/a/{path}": content for path, content in test.items()},
            "public/sample_submission.csv": b"Id,Predicted\na,1 1 5 1\n",
            "private/gold_submission.csv": to_csv(labels),
            "private/inklabels_rle.csv": to_csv(labels.assign(width=width, height=height)),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(len(submission) == len(answers))
        require(len(submission.columns) == 2 and set(submission.columns) == {"Id", "Predicted"})
        scores = []
        for (_, prediction), (_, answer) in zip(submission.iterrows(), answers.iterrows(), strict=True):
            require(prediction["Id"] == answer["Id"])
            sides = [decode_runs(row["Predicted"], answer["height"], answer["width"]) for row in (answer, prediction)]
            scores.append(metrics.fbeta_score(*sides, beta=0.5))
        return float(np.mean(scores))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        good, mask = table.write(), table.rows[0]["Predicted"]
        yield "unchanged", good
        numbers = list(map(int, mask.split()))
        cells = mask_cells() | {
            "half of the runs": " ".join(map(str, numbers[: len(numbers) // 4 * 2])),
            "shifted runs": " ".join(str(number + 3 * (index % 2 == 0)) for index, number in enumerate(numbers)),
            "everything": "1 2880",
            "missing": "",
            "a number": "5",
        }
        for label, cell in cells.items():
            yield label, table.change(lambda _: {"Predicted": cell})  # noqa: B023
        yield "columns reversed", table.write(header=["Predicted", "Id"])
        yield "an extra column", table.write([row | {"note": "0"} for row in table.rows], [*table.header, "note"])
        yield "no id column", table.write(header=["Predicted"])
        yield "no mask column", table.write(header=["Id"])
        yield "another id", table.change(lambda _: {"Id": "b"})
        yield "a missing id", table.change(lambda _: {"Id": ""})
        yield "the row twice", table.write([*table.rows, *table.rows])
        yield "no rows", table.write([])
        yield "upper-case names", good.replace("Id,Predicted", "ID,PREDICTED")
        yield "Windows line ends", table.write(end="\r\n")
        yield "everything quoted", table.write(quoting=1)

    def test_hidden_names_are_hidden_at_any_depth(self, raw: Path) -> None:
        write_file(raw / "train/1/notes/any.txt")
        (raw / "train/2/empty").mkdir(parents=True)
        for name in ("inklabels.png", "mask.png", "deep/er/00.tif", "deep/er/inklabels.png"):
            write_file(raw / "train/3" / name, name.encode())
        (raw / "train/3/inklabels_rle.csv").write_text('Predicted,Id\n"2 3 9 2",3\n')
        Image.new("L", (6, 4)).save(raw / "train/3/ir.png")
        assert prepare_raw(self.name, raw) == {
            "public/train/1/notes/any.txt": b"x",
            "public/train/2/empty/": b"",
            "public/test/a/mask.png": b"mask.png",
            "public/test/a/deep/er/00.tif": b"deep/er/00.tif",
            "public/sample_submission.csv": b"Id,Predicted\na,1 1 5 1\n",
            "private/gold_submission.csv": b"Predicted,Id\n2 3 9 2,a\n",
            "private/inklabels_rle.csv": b"Predicted,Id,width,height\n2 3 9 2,a,6,4\n",
        }

    @pytest.mark.parametrize(("edition", "valid"), [("v1", True), ("fixed", False)])
    def test_masks_beyond_the_image_are_refused_in_fixed(
        self, miniatures: Miniatures, edition: str, valid: bool
    ) -> None:
        prepared = miniatures.prepared(self.name, edition)
        for cell in ("5 1000000", "1 2 9"):
            table = f"Id,Predicted\na,{cell}\n".encode()
            grade = grade_submission(table, prepared, home=miniatures.home)
            assert grade.valid_submission == valid
        gold = (prepared.private / "gold_submission.csv").read_bytes()
        assert grade_submission(gold, prepared, home=miniatures.home).score == 1.0
