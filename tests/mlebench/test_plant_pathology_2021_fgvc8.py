import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    copy_files,
    perturb,
    prepare_raw,
    split,
    to_csv,
    write_file,
)
from graders import micro_f1_of_labels

from assay.core.home import Home
from assay.grading import grade_submission


class TestPlantPathology2021Fgvc8(Competition):
    name = "plant-pathology-2021-fgvc8"
    id = "image"
    targets = ("labels",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.2)
        return {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(labels="healthy")),
            "private/answers.csv": to_csv(test),
            **copy_files(raw / "train_images", "public/train_images", train["image"]),
            **copy_files(raw / "train_images", "public/test_images", test["image"]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return micro_f1_of_labels(submission, answers, "image", "labels")

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from perturb(table, draw)
        yield "unknown labels", table.change(lambda row: {"labels": f"{row['labels']} blight Scab"})
        yield "all labels everywhere", table.change(lambda row: {"labels": "scab healthy rust complex"})

    def test_all_columns_are_in_the_sample(self, raw: Path) -> None:
        names = [f"p{number}.jpg" for number in range(11)]
        table = pd.DataFrame({"labels": ["scab rust", "healthy"] * 5 + ["scab"], "size": 0.10, "image": names})
        write_file(raw / "train.csv", to_csv(table))
        for name in names:
            write_file(raw / "train_images" / name)
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_takes_the_mean_over_leaves(self, miniatures: Miniatures, tmp_path: Path) -> None:
        """Predicting scab everywhere: F1 of a leaf with n labels is 2 / (n + 1) if it has scab, else 0."""
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            table = pd.read_csv(prepared.private / "answers.csv")
            labels = table["labels"].str.split()
            sample = to_csv(table.assign(labels="scab"))
            scores[edition] = grade_submission(sample, prepared, home=Home(tmp_path)).score
        hits = sum("scab" in row for row in labels)
        expected = sum(2 / (len(row) + 1) for row in labels if "scab" in row) / len(labels)
        assert scores["v1"] == pytest.approx(2 * hits / (labels.str.len().sum() + len(labels)), abs=1e-5)
        assert scores["fixed"] == pytest.approx(expected, abs=1e-5)
        assert scores["v1"] != scores["fixed"]
