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
    read_prepared,
    read_table,
    read_tree,
    to_csv,
    write_file,
)
from graders import require, require_columns
from scipy.spatial.distance import directed_hausdorff
from sklearn.model_selection import train_test_split

from assay.core.errors import SourceError
from assay.grading import grade_submission

MASKS = (
    "1 99999", "99999 5", "1 1 2 1", "1 3 2 1", "5 1 1 1", "1 0", "0 1", "1 5 9", "7", "1 5 x", " ", "+1 1_0",
    "1 5 9 2 3", "1 1.0", "1\t5", "-1 5", "1 5 1 5",
)  # fmt: skip


class TestUwMadisonGiTractImageSegmentation(Competition):
    name = "uw-madison-gi-tract-image-segmentation"
    id = "id"
    targets = ("predicted",)

    def prepare_reference(self, raw: Path) -> Files:
        masks = pd.read_csv(raw / "train.csv")
        words = [id.split("_") for id in masks["id"]]
        cases, days = ([row[part] for row in words] for part in (0, 1))
        names = list(dict.fromkeys(cases))
        train, test = train_test_split(np.array(names), test_size=0.1, random_state=42)
        moved = set()
        for case in train:
            of_case = {day for other, day in zip(cases, days, strict=True) if other == case}
            moved |= {(case, day) for day in sorted(of_case, key=lambda day: int(day[3:]))[4:]}
        asked = [case in test or (case, day) in moved for case, day in zip(cases, days, strict=True)]
        answers = masks[asked].copy()
        sizes = []
        for case, day, number in [(row[0], row[1], row[-1]) for row, kept in zip(words, asked, strict=True) if kept]:
            images = list((raw / "train" / case / f"{case}_{day}" / "scans").glob(f"slice_{number}_*.png"))
            require(len(images) == 1)
            sizes.append([float(text) for text in images[0].name.split("_")[2:4]])
        answers["image_width"], answers["image_height"] = zip(*sizes, strict=True)
        expected = {
            "public/train.csv": to_csv(masks[[not hidden for hidden in asked]]),
            "public/test.csv": to_csv(answers[[name for name in masks if name != "segmentation"]]),
            "public/sample_submission.csv": to_csv(
                answers[list(masks)].assign(segmentation="1 1 5 2").rename(columns={"segmentation": "predicted"})
            ),
            "private/test.csv": to_csv(answers.rename(columns={"segmentation": "predicted"})),
        }
        for case in names:
            for path, content in read_tree(raw / "train" / case).items():
                day = path.split("/")[0].removeprefix(f"{case}_")
                side = "test" if case in test or (case, day) in moved else "train"
                expected[f"public/{side}/{case}/{path}"] = content
        return expected

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "class", "predicted")
        sizes = [
            (int(height), int(width)) for height, width in zip(answers.image_height, answers.image_width, strict=True)
        ]
        sides = []
        for table in (submission, answers):
            texts = table["predicted"].fillna("").tolist()
            pixels = [decode(text, *size) for text, size in zip(texts, sizes, strict=False)]
            sides.append((pixels, stack(pixels, table["id"].tolist())))
        (predicted, predicted_volumes), (true, true_volumes) = sides
        dice = []
        for mask, other in zip(predicted, true, strict=False):
            total = mask.sum() + other.sum()
            dice.append(2 * (mask & other).sum() / total if total else np.nan)
        distances = [distance(*pair) for pair in zip(predicted_volumes, true_volumes, strict=False)]
        return 0.4 * np.nanmean(dice) + 0.6 * (1 - np.nanmean(distances))

    def _predict(self, row: dict[str, str], known: dict[str, list[str]], draw: random.Random) -> dict[str, str]:
        return {"predicted": draw.choice(known["predicted"])}

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for text in MASKS:
            yield f"mask {text!r}", table.change(lambda _: {"predicted": text}, [1])  # noqa: B023
        for count in (1, 7, len(table.rows) - 4):
            yield f"the first {count} rows", table.write(table.rows[:count])
        yield "further rows", table.write([*table.rows, *table.rows[:5], {"id": "7", "class": "x", "predicted": "x"}])
        yield "all in one volume", table.change(lambda row: {"id": f"case1_day1_slice_{row['id'][-4:]}"})
        yield "each row a volume", table.write([row | {"id": f"v{n}_slice_1"} for n, row in enumerate(table.rows)])
        yield "ids without a slice", table.change(lambda row: {"id": row["id"].split("_")[0]})
        yield "numbers as ids", table.change(lambda row: {"id": row["id"][-1]})
        yield "no class column", table.write(header=["id", "predicted"])
        yield "classes swapped", table.change(lambda _: {"class": "stomach"})

    def test_rows_in_another_order_are_scored_right_in_fixed_only(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = read_table(read_prepared(prepared)["private/test.csv"])[["id", "class", "predicted"]]
            for label, table in (("same", answers), ("reversed", answers[::-1]), ("short", answers[:9])):
                grade = grade_submission(to_csv(table), prepared, home=miniatures.home)
                scores[edition, label] = grade.score
        assert scores["v1", "same"] == 1
        assert scores["v1", "reversed"] < scores["v1", "short"] < 1
        assert scores["fixed", "same"] == scores["fixed", "reversed"] == 1
        assert scores["fixed", "short"] is None

    def test_the_wrong_organ_costs_distance_in_fixed_only(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = read_table(read_prepared(prepared)["private/test.csv"])[["id", "class", "predicted"]]
            swapped = answers.groupby("id")["predicted"].transform(lambda texts: np.roll(texts.to_numpy(), 1))
            grade = grade_submission(to_csv(answers.assign(predicted=swapped)), prepared, home=miniatures.home)
            scores[edition] = grade.score
        assert scores["v1"] >= 0.6  # as if all voxels were right
        assert scores["fixed"] < 0.6

    def test_days_after_the_fourth_move_in_the_order_of_numbers(self, raw: Path) -> None:
        rows = ["class,id,segmentation"]
        for case, days in (("case7", (100, 9, 10, 1, 2, 30)), ("case1", (5,))):
            for day in days:
                name = f"{case}_day{day}"
                rows += [f"b,{name}_slice_0001,1 2", f"a,{name}_slice_0001,", f'"a,""",{name}_slice_0002,5 1']
                for number in (1, 2):
                    write_file(
                        raw / "train" / case / name / "scans" / f"slice_000{number}_30_20_1_1.png", name.encode()
                    )
                (raw / "train" / case / name / "empty").mkdir()
            write_file(raw / "train" / case / "note.txt")
        write_file(raw / "train" / "case3" / "unlisted.txt")
        write_file(raw / "train" / "case7" / "case7_day500" / "unlisted.txt")
        write_file(raw / "train.csv", "\r\n".join([*rows, ""]).encode())
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        folders = {path.split("/")[3] for path in files if path.startswith("public/test/case7/")}
        assert folders == {"case7_day30", "case7_day100"}
        write_file(raw / "train" / "case1" / "case1_day5" / "scans" / "slice_0001_9_9.png")
        (raw.parent / f"{raw.name}-v1").rename(raw.parent / "before")
        with pytest.raises(SourceError, match="2 images of slice 0001"):
            prepare_raw(self.name, raw)


def decode(text: str, height: int, width: int) -> np.ndarray:
    require(isinstance(text, str))
    numbers = [int(word) for word in text.split()]
    pixels = np.zeros(height * width, bool)
    starts, lengths = numbers[0::2], numbers[1::2]
    require(starts == sorted(starts) and all(number > 0 for number in numbers))
    if numbers:
        for start, length in zip(*np.broadcast_arrays(starts, lengths), strict=True):
            start, end = int(start) - 1, int(start) + int(length) - 1
            require(not pixels[start:end].any())
            pixels[start:end] = True
    return pixels.reshape(width, height).T


def stack(pixels: list[np.ndarray], ids: list[str]) -> list[np.ndarray]:
    """Lay the masks of a slice over each other, and stack the slices of each volume, all in the order of the ids."""
    slices: dict[str, np.ndarray] = {}
    for id, mask in sorted(zip(ids, pixels, strict=False), key=lambda pair: pair[0]):
        require(id not in slices or slices[id].shape == mask.shape)
        slices[id] = slices[id] | mask if id in slices else mask
    volumes: dict[str, list[np.ndarray]] = {}
    for id, mask in slices.items():
        volumes.setdefault(id.split("_slice_")[0], []).append(mask)
    return [np.stack(masks) for masks in volumes.values()]


def distance(predicted: np.ndarray, true: np.ndarray) -> float:
    if not predicted.any() and not true.any():
        return np.nan
    if not predicted.any() or not true.any() or predicted.sum() > 10 * true.sum():
        return 1.0
    points, other = (np.argwhere(volume) / true.shape for volume in (predicted, true))
    return max(directed_hausdorff(points, other)[0], directed_hausdorff(other, points)[0]) / np.sqrt(3)
