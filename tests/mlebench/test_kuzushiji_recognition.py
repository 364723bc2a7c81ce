import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    prepare_raw,
    read_archive,
    split,
    to_csv,
    write_archive,
    write_file,
)
from graders import align, require, require_columns

from assay.core.errors import SourceError
from assay.grading import grade_submission


class TestKuzushijiRecognition(Competition):
    name = "kuzushiji-recognition"
    id = "image_id"
    targets = ("labels",)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        pages = read_archive(raw / "train_images.zip")
        codes = "unicode_translation.csv"
        return {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(labels="U+003F 1 1 U+FF2F 2 2")),
            f"public/{codes}": (raw / codes).read_bytes(),
            "private/test.csv": to_csv(test),
            "private/gold_submission.csv": to_csv(test.assign(labels=test["labels"].map(gold))),
            **{f"public/train_images.zip/{id}.jpg": pages[f"{id}.jpg"] for id in train["image_id"]},
            **{f"public/test_images.zip/{id}.jpg": pages[f"{id}.jpg"] for id in test["image_id"]},
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "image_id", "labels")
        predicted, true = align(submission, answers, "image_id")
        counts = [count_hits(*pair) for pair in zip(predicted["labels"], true["labels"], strict=True)]
        hits, points, boxes = (sum(column) for column in zip(*counts, strict=True))
        if not hits:
            return 0.0
        precision, recall = hits / points, hits / boxes
        return 2 * precision * recall / (precision + recall)

    def _predict(self, row: Mapping[str, str], known: Mapping[str, list[str]], draw: random.Random) -> dict[str, str]:
        words = draw.choice(known["labels"]).split()
        return {"labels": " ".join(f"{words[at]} {int(words[at + 1]) + 2}.5 {words[at + 2]}" for at in (0, 5))}

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        yield "one point on every page", table.change(lambda _: {"labels": "U+306F 20 20"})
        yield "a grid of points", table.change(lambda _: {"labels": GRID})
        for cell in (
            "U+306F 5",
            "U+306F 5 5 U+304C",
            "U+306F x 5",
            "U+306F 5  5",
            "U+306F 1e1 1_0",
            "a b c",
            "U+306F nan inf",
            "U+306F 1e13 5",
            "U+306F 5 5\n",
            "U+306F 5\t 5",
            "\u00a0 5 5",
            " 5 5",
            " ",
            "  ",
            "\t",
        ):
            yield f"points {cell!r}", table.change(lambda _: {"labels": cell}, [2])  # noqa: B023

    def test_numbers_as_ids_and_spaces_in_labels(self, raw: Path) -> None:
        rows = "".join(f"{number},U+306F  0{number} 7 5 5 U+304C 1 1 4 4\n" for number in range(20))
        write_file(raw / "train.csv", f"image_id,labels\n{rows}".replace("\n5,U+306F  05", "\n5,U+306F 5").encode())
        write_archive(raw / "train_images.zip", {f"{number}.jpg": f"page {number}" for number in range(25)})
        write_file(raw / "unicode_translation.csv", b"Unicode,char\r\n")
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_a_test_page_without_labels_is_an_error(self, raw: Path) -> None:
        rows = "".join(f"p{number},{'' if number == 18 else 'U+1 1 1 5 5'}\n" for number in range(20))
        write_file(raw / "train.csv", f"image_id,labels\n{rows}".encode())
        with pytest.raises(SourceError, match="without labels"):
            prepare_raw(self.name, raw)

    @pytest.mark.parametrize(("edition", "valid"), (("v1", True), ("fixed", False)))
    def test_fixed_limits_the_points_of_a_page(self, miniatures: Miniatures, edition: str, valid: bool) -> None:
        prepared = miniatures.prepared(self.name, edition)
        perfect = pd.read_csv(prepared.private / "gold_submission.csv")
        grade = grade_submission(to_csv(perfect), prepared, home=miniatures.home)
        assert grade.score == 1
        many = to_csv(perfect.assign(labels=" ".join(["U+306F 1 1"] * 1201)))
        grade = grade_submission(many, prepared, home=miniatures.home)
        assert grade.valid_submission is valid


GRID = " ".join(f"U+306F {x} {y}" for x in range(2, 60, 5) for y in range(2, 60, 5))


def gold(labels: str) -> str:
    words = labels.split()
    return " ".join(f"{words[at]} {int(words[at + 1]) + 1} {int(words[at + 2]) + 1}" for at in range(0, len(words), 5))


def count_hits(predicted: object, true: str) -> tuple[int, int, int]:
    """Count hits, points and boxes of a page; a missing prediction has no points."""
    words = true.split(" ")
    boxes = [(words[at], *map(float, words[at + 1 : at + 5])) for at in range(0, len(words), 5)]
    if isinstance(predicted, float) and math.isnan(predicted):
        return 0, 0, len(boxes)
    words = predicted.split(" ")  # type: ignore[attr-defined]
    require(len(words) % 3 == 0)
    points = [(words[at], float(words[at + 1]), float(words[at + 2])) for at in range(0, len(words), 3)]
    total, hits = len(points), 0
    for code, left, top, width, height in boxes:
        for point in points:
            if point[0] == code and left < point[1] < left + width and top < point[2] < top + height:
                points.remove(point)
                hits += 1
                break
    return hits, total, len(boxes)
