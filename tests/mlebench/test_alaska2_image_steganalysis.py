import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, split, to_csv, write_file
from graders import align, require, require_columns
from sklearn.metrics import roc_curve

from assay.grading import grade_submission

ALGORITHMS = ["JMiPOD", "JUNIWARD", "UERD"]


class TestAlaska2ImageSteganalysis(Competition):
    name = "alaska2-image-steganalysis"
    id = "Id"
    targets = ("Label",)

    def prepare_reference(self, raw: Path) -> Files:
        covers = sorted(path.name for path in (raw / "Cover").glob("*.jpg"))
        size = 5000 if len(covers) > 5000 else len(covers) // 15
        train, test = split(covers, test_size=size, random_state=42)
        files = {
            f"public/{folder}/{number:05d}.jpg": (raw / folder / name).read_bytes()
            for folder in ("Cover", *ALGORITHMS)
            for number, name in enumerate(train, 1)
        }
        random.seed(0)
        random.shuffle(test)
        labels = []
        for number, name in enumerate(test, 1):
            hidden = not random.choice([True, False])
            folder = random.choice(ALGORITHMS) if hidden else "Cover"
            files[f"public/Test/{number:04d}.jpg"] = (raw / folder / name).read_bytes()
            labels.append({"Id": f"{number:04d}.jpg", "Label": int(hidden)})
        answers = pd.DataFrame(labels)
        sample = to_csv(answers.assign(Label=0))
        return files | {"public/sample_submission.csv": sample, "private/test.csv": to_csv(answers)}

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "Id", "Label")
        predicted, true = align(submission, answers, "Id")
        values = predicted["Label"].astype(float)
        require(not values.isna().any())
        return weighted_auc(true["Label"].to_numpy(), values.to_numpy())

    def test_of_more_than_5000_photos_5000_are_for_the_test(self, raw: Path) -> None:
        """Photos are links to a few files, because so many files take long to write."""
        for folder in ("Cover", *ALGORITHMS):
            contents = [raw / f"{folder}{number}" for number in range(7)]
            for path in contents:
                path.write_text(path.name)
            (raw / folder).mkdir()
            for number in range(5002):
                (raw / folder / f"{number}.jpg").hardlink_to(contents[number % 7])
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert [f"{folder}/00002.jpg" for folder in ("Cover", *ALGORITHMS)] == sorted(
            path.removeprefix("public/") for path in files if path.endswith("/00002.jpg")
        )

    def test_too_few_photos_are_refused(self, raw: Path) -> None:
        write_file(raw / "Cover/1.jpg")
        with pytest.raises(ValueError, match="1 rows cannot be split"):
            prepare_raw(self.name, raw)

    def test_scores_in_fixed(self, miniatures: Miniatures) -> None:
        """A constant scores 0.82 / 1.4, the published 0.58571."""
        prepared = miniatures.prepared(self.name, "fixed")
        for path, score in ((prepared.private / "test.csv", 1), (prepared.public / "sample_submission.csv", 0.58571)):
            grade = grade_submission(path.read_bytes(), prepared, home=miniatures.home)
            assert grade.score == score


def weighted_auc(true: np.ndarray, predicted: np.ndarray) -> float:
    """Integrate 1 - FPR over TPR, twice where TPR is below 0.4: straight pieces of the curve, cut at 0.4."""
    false_rate, hit_rate, _ = roc_curve(true, predicted)
    area = 0.0
    for low, high, left, right in zip(hit_rate[:-1], hit_rate[1:], false_rate[:-1], false_rate[1:], strict=True):
        for floor, top, weight in ((0, 0.4, 2), (0.4, 1, 1)):
            start, end = max(low, floor), min(high, top)
            if start < end:
                middle = left + ((start + end) / 2 - low) / (high - low) * (right - left)
                area += weight * (end - start) * (1 - middle)
    return area / 1.4
