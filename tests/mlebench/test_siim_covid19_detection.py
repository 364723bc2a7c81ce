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
    copy_folders,
    prepare_raw,
    read_prepared,
    read_table,
    split,
    to_csv,
    write_file,
)
from graders import align, require, require_columns
from sklearn.metrics import average_precision_score

from assay.grading import grade_submission

Box = tuple[str, float, np.ndarray]
STRINGS = (
    "opacity 0.5 0 0 9 9", "opacity 0.5 0 0 9 9 opacity 0.7 1 1 9 9", "opacity 0.5 0 0 9", "opacity 0.5 0 0 9 9 1",
    "opacity x 0 0 9 9", "none 1 0 0 1 1", "none 1 0 0 1 1 opacity 0.2 3 3 3 3", "opacity 0.5 9 9 0 0",
    "other 1 0 0 1 1", "negative 2 0 0 1 1", "negative -1 0 0 1 1", "opacity 0.5\t0 0  9 9", " typical 1 0 0 1 1 ",
    "1 1 1 1 1 1", "typical 0 0 0 1 1", "typical 0.5 0 0 1 0.6 typical 0.5 0 0 1 1",
    "opacity 0.5 nan 0 9 9 negative 0.9 0 0 1 1", "negative 0.5 0 0 1 inf", "negative 0.5 0 -1e300 1e300 1",
    "negative nan 0 0 1 1",
)  # fmt: skip


class TestSiimCovid19Detection(Competition):
    name = "siim-covid19-detection"
    id = "id"
    targets = ("PredictionString",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        studies, images = (pd.read_csv(raw / f"train_{level}_level.csv") for level in ("study", "image"))
        train, test = (side.sort_values("id") for side in split(studies, test_size=0.1))
        owners = images["StudyInstanceUID"] + "_study"
        train_images, test_images = (images[owners.isin(side["id"])].sort_values("id") for side in (train, test))
        names = np.array(["negative", "typical", "indeterminate", "atypical"])
        classes = names[np.argmax(test.iloc[:, 1:].to_numpy(), axis=1)]
        ids = [*test["id"], *test_images["id"]]
        truth = [*(f"{name} 1 0 0 1 1" for name in classes), *test_images["label"]]
        sample = [*["negative 1 0 0 1 1"] * len(test), *["none 1 0 0 1 1"] * len(test_images)]
        return {
            "public/train_study_level.csv": to_csv(train),
            "public/train_image_level.csv": to_csv(train_images),
            "public/sample_submission.csv": to_csv(pd.DataFrame({"id": ids, "PredictionString": sample})),
            "private/test.csv": to_csv(pd.DataFrame({"id": ids, "PredictionString": truth})),
            **copy_folders(raw / "train", "public/train", [id[: -len("_study")] for id in train["id"]]),
            **copy_folders(raw / "train", "public/test", [id[: -len("_study")] for id in test["id"]]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "PredictionString")
        predicted, true = align(submission, answers, "id")
        rows = list(zip(*(map(parse, side["PredictionString"]) for side in (true, predicted)), strict=True))
        scores = []
        for label in sorted({box[0] for truth, _ in rows for box in truth}):
            pairs = [pair for truth, boxes in rows for pair in match(truth, boxes, label)]
            hits, confidences = zip(*pairs, strict=True)
            require(not all(hits))
            scores.append(average_precision_score(hits, confidences))
        return float(np.mean(scores))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for text in STRINGS:
            for count in (1, len(table.rows) // 2):
                numbers = draw.sample(range(len(table.rows)), count)
                yield f"{count} × {text!r}", table.change(lambda _: {"PredictionString": text}, numbers)  # noqa: B023
        yield (
            "several labels with confidences",
            table.change(
                lambda _: {
                    "PredictionString": " ".join(
                        f"{label} {draw.random()} 0 0 1 1" for label in ("negative", "atypical")
                    )
                }
            ),
        )
        yield "moved boxes", table.change(lambda row: {"PredictionString": shift(row["PredictionString"], draw)})

    def test_predicting_nothing_earns_nothing_in_fixed(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = read_table(read_prepared(prepared)["private/test.csv"])
            assert grade_submission(to_csv(answers), prepared, home=miniatures.home).score == 1
            nothing = to_csv(answers.assign(PredictionString="unknown 1 0 0 1 1"))
            scores[edition] = grade_submission(nothing, prepared, home=miniatures.home).score
        assert scores["v1"] > 0.1
        assert scores["fixed"] == 0

    def test_the_class_of_a_study_is_a_place_among_the_columns(self, raw: Path) -> None:
        count = 21
        studies = {"id": [f"b{number % 7}a{number}_study" for number in range(count)]}
        studies |= {"Z": [0] * count, "Y": [0, 1, 0] * 7, "X": [0, 1, 1] * 7, "W": [0.0] * count}
        write_file(raw / "train_study_level.csv", to_csv(pd.DataFrame(studies)))
        names = [id[: -len("_study")] for id in studies["id"]]
        images = {
            "id": [f"i{number}_image" for number in range(count)],
            "boxes": [None, "[{'x': 1, 'y': 2}]", None] * 7,
        }
        images |= {"label": ["none 1 0 0 1 1", "opacity 1 1.50 2 3 4", "none 1 0 0 1 1"] * 7, "StudyInstanceUID": names}
        write_file(raw / "train_image_level.csv", to_csv(pd.DataFrame(images)))
        for name in [*names, "unlisted"]:
            (raw / "train" / name / "series").mkdir(parents=True)
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)


def parse(text: str) -> list[Box]:
    words = text.split()
    require(len(words) % 6 == 0)
    groups = [words[start : start + 6] for start in range(0, len(words), 6)]
    return [(group[0], float(group[1]), np.array(group[2:], float)) for group in groups]


def match(truth: list[Box], predicted: list[Box], label: str) -> list[tuple[int, float]]:
    """Return (found, confidence) for each box of a label; missed ones are found at 0, and no box at all is one at 0."""
    left = [corners for name, _, corners in truth if name == label]
    pairs = []
    for _, confidence, corners in sorted((box for box in predicted if box[0] == label), key=lambda box: -box[1]):
        overlaps = [intersection_over_union(corners, other) for other in left]
        hit = bool(overlaps) and max(overlaps) > 0.5
        if hit:
            left.pop(int(np.argmax(overlaps)))
        pairs.append((int(hit), confidence))
    return [*pairs, *[(1, 0.0)] * len(left)] or [(0, 0.0)]


def intersection_over_union(box: np.ndarray, other: np.ndarray) -> float:
    common = np.prod(np.clip(np.minimum(box, other)[2:] - np.maximum(box, other)[:2], 0, None))
    joint = np.prod(box[2:] - box[:2]) + np.prod(other[2:] - other[:2]) - common
    return float(common / joint) if joint > 0 else 0.0


def shift(text: str, draw: random.Random) -> str:
    words = text.split()
    boxes = [words[start : start + 6] for start in range(0, len(words), 6)]
    moved = [[box[0], str(draw.random()), *(str(float(word) + draw.random()) for word in box[2:])] for box in boxes]
    return " ".join(word for box in moved for word in box)
