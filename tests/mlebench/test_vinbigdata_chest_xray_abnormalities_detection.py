import contextlib
import io
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    copy_files,
    prepare_raw,
    read_table,
    split,
    to_csv,
    write_file,
)
from graders import require, require_columns
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from assay.grading import grade_submission

BOX = ["x_min", "y_min", "x_max", "y_max"]
STRINGS = (
    "14 1 0 0 1 1", "14 1 0 0 1 1 3 0.5 2 2 9 9", "3 0.5 2 2 9", "3 0.5 2 2 9 9 1", "3 x 2 2 9 9", "x 1 0 0 1 1",
    "3  0.5 2 2 9 9", " 14 1 0 0 1 1", "14 1 0 0 1 1 ", "14\t1 0 0 1 1", "14.0 1 0 0 1 1", "14.9 1 0 0 1 1",
    "-0.5 1 0 0 9 9", "99 1 0 0 1 1", "3 7 2 2 9 9", "3 -1 2 2 9 9", "3 0.5 9 9 2 2", "3 0.5 9 2 2 9",
    "3 1 -9 -9 -2 -2", "14 1 0 0 200000 200000", "14 1_0 0 0 1 1", "14 1 0 0 1 1 14 1 0 0 1 1", "14 1e0 .0 0. +1 1",
    "3 nan 2 2 9 9", "3 inf 2 2 9 9", "3 0.5 nan 2 9 9", "3 0.5 2 2 nan nan", "3 0.5 2 2 inf inf",
    "14 1 0 0 1e308 1e308", "nan 1 0 0 1 1", "14 1 0 0 1 1\n", "\u00a014 1 0 0\t 1 1", "1e15 1 0 0 1 1",
    "1e308 1 0 0 1 1", "inf 1 0 0 1 1", " ", "      ",
)  # fmt: skip


class TestVinbigdataChestXrayAbnormalitiesDetection(Competition):
    """The published preparation also asserts that there are 15,000 images, which a miniature does not have."""

    name = "vinbigdata-chest-xray-abnormalities-detection"
    id = "image_id"
    targets = ("PredictionString",)
    fixed_changes = ("private/answers.csv", "private/gold_submission.csv")

    def prepare_reference(self, raw: Path) -> Files:
        boxes = pd.read_csv(raw / "train.csv")
        train, test = split(boxes["image_id"].unique(), test_size=0.1)
        answers = boxes[boxes["image_id"].isin(test)].groupby(["image_id", "class_id"]).first().reset_index()
        answers = answers.fillna(0)
        answers.loc[answers["class_id"] == 14, ["x_max", "y_max"]] = 1.0
        gold: dict[str, list[str]] = {}
        rows = answers[["image_id", "class_id", *BOX]].iterrows()
        for image, (_, row) in zip(answers["image_id"], rows, strict=True):
            corners = " ".join(str(row[name]) for name in BOX)
            gold.setdefault(image, []).append(f"{row['class_id']} 1.0 {corners}")
        lines = [f"{image},{' '.join(texts)}\n" for image, texts in gold.items()]
        return {
            "public/train.csv": to_csv(boxes[boxes["image_id"].isin(train)]),
            "public/sample_submission.csv": to_csv(
                pd.DataFrame({"image_id": test, "PredictionString": "14 1 0 0 1 1"})
            ),
            "private/answers.csv": to_csv(answers),
            "private/gold_submission.csv": f"image_id,PredictionString\n{''.join(lines)}".encode(),
            **copy_files(raw / "train", "public/train", [f"{image}.dicom" for image in train]),
            **copy_files(raw / "train", "public/test", [f"{image}.dicom" for image in test]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        """Give both sides to COCO as published: corners in place of sizes, and ids that start at 0."""
        require_columns(submission, "image_id", "PredictionString")
        require(set(submission["image_id"]) == set(answers["image_id"]))
        images = list(answers["image_id"])
        sides = []
        for table in (answers, submission):
            annotations = []
            for image, text in zip(table["image_id"], table["PredictionString"], strict=True):
                for box in np.array([float(word) for word in text.split(" ")]).reshape(-1, 6):
                    corners = box[2:]
                    area = (corners[2] - corners[0]) * (corners[3] - corners[1])
                    entry = {"id": len(annotations), "image_id": images.index(image), "category_id": int(box[0])}
                    annotations.append(
                        entry | {"score": box[1], "bbox": corners, "area": area, "iscrowd": 0, "ignore": 0}
                    )
            sides.append(annotations)
        classes = [{"id": kind} for kind in sorted({box["category_id"] for box in sides[0]})]
        with contextlib.redirect_stdout(io.StringIO()):
            data = []
            for annotations in sides:
                coco = COCO()
                coco.dataset = {"images": [{"id": number} for number in range(len(images))], "annotations": annotations}
                coco.dataset["categories"] = classes
                coco.createIndex()
                data.append(coco)
            evaluation = COCOeval(*data, "bbox")
            evaluation.params.iouThrs = np.array([0.4])
            evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e5**2]], ["all"]
            evaluation.evaluate()
            evaluation.accumulate()
        precision = evaluation.eval["precision"][..., -1]
        return precision[precision > -1].mean() if (precision > -1).any() else -1.0

    def _predict(self, row: dict[str, str], known: dict[str, list[str]], draw: random.Random) -> dict[str, str]:
        texts = known["PredictionString"]
        return {"PredictionString": " ".join(shift(draw.choice(texts), draw) for _ in range(draw.randrange(1, 3)))}

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        target = "PredictionString"
        for text in STRINGS:
            for numbers in ([0], draw.sample(range(len(table.rows)), len(table.rows) // 2)):
                yield f"{text!r} in {len(numbers)} rows", table.change(lambda _: {target: text}, numbers)  # noqa: B023
        yield "moved boxes", table.change(lambda row: {target: shift(row[target], draw)})
        for _ in range(3):
            rows = draw.choices(table.rows, k=10)
            yield "some rows again, others first", table.write([*rows, *draw.sample(table.rows, len(table.rows))])

    def test_the_published_errors_lower_a_perfect_score_in_v1_only(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            gold = (prepared.private / "gold_submission.csv").read_bytes()
            scores[edition] = grade_submission(gold, prepared, home=miniatures.home).score
        assert scores["v1"] < 1
        assert scores["fixed"] == 1

    def test_boxes_that_hardly_overlap_are_hits_in_v1_only(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = read_table((prepared.private / "gold_submission.csv").read_bytes())
            moved = answers.assign(PredictionString=[move(text, 5.0) for text in answers["PredictionString"]])
            scores[edition] = grade_submission(to_csv(moved), prepared, home=miniatures.home).score
        assert scores["v1"] > 4 * scores["fixed"]

    def test_fixed_keeps_all_boxes_of_the_first_radiologist(self, raw: Path) -> None:
        rows = ["image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max"]
        for number in range(10):
            image = f"b{number}"
            write_file(raw / "train" / f"{image}.dicom", b"")
            rows += [f"{image},A,1,R1,1,2,3,4", f"{image},A,1,R2,1,2,3,5", f"{image},A,1,R1,10,20,30,40"]
            rows += [f"{image},None found,14,R3,,,,", f"{image},None found,14,R4,,,,"]
        write_file(raw / "train.csv", "\n".join([*rows, ""]).encode())
        v1, fixed = (prepare_raw(self.name, raw, edition)["private/gold_submission.csv"] for edition in ("v1", "fixed"))
        assert v1.decode().splitlines()[1][3:] == "1 1.0 1.0 2.0 3.0 4.0 14 1.0 0.0 0.0 1.0 1.0"
        both = "1 1.0 1.0 2.0 3.0 4.0 1 1.0 10.0 20.0 30.0 40.0 14 1.0 0.0 0.0 1.0 1.0"
        assert fixed.decode().splitlines()[1][3:] == both

    def test_raw_data_unlike_the_miniature(self, raw: Path) -> None:
        """Numbers as ids, whole numbers as corners, a box on a row without finding, further columns."""
        rows = ["image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max,note"]
        for number in range(21):
            write_file(raw / "train" / f"{100 - number}.dicom", bytes([number]))
            rows.append(f"{100 - number},A,{number % 3},R1,1.50,2,3,{number}e1,")
            rows += [f"{100 - number},No finding,14,R2,5,6,7,8,x", f'{number + 80},"B, C",2,R2,,2,1e16,4,y']
        write_file(raw / "train.csv", "\r\n".join([*rows, ""]).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)


def shift(text: str, draw: random.Random) -> str:
    groups = np.array(text.split(), float).reshape(-1, 6)
    moved = [
        [int(box[0]), round(draw.random(), 2), *(value + draw.randrange(0, 6) for value in box[2:])] for box in groups
    ]
    return " ".join(str(word) for box in moved for word in box)


def move(text: str, distance: float) -> str:
    groups = np.array(text.split(), float).reshape(-1, 6)
    groups[:, 2:] += distance
    return " ".join(str(word) for box in groups.tolist() for word in box)
