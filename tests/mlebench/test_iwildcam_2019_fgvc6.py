from pathlib import Path

import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    prepare_raw,
    read_archive,
    read_prepared,
    read_table,
    split,
    to_csv,
    write_archive,
    write_file,
)
from graders import macro_f1

MISSING = 6
"""Of eleven locations, the seed draws this one and another."""


class TestIwildcam2019Fgvc6(Competition):
    name = "iwildcam-2019-fgvc6"
    id = "Id"
    targets = ("Category",)
    predictions = "class"
    fixed_changes = ("public/sample_submission.csv",)

    def prepare_reference(self, raw: Path) -> Files:
        table = pd.read_csv(raw / "train.csv")
        photos = read_archive(raw / "train_images.zip")
        _, test_locations = split(table["location"].unique(), test_size=0.1, random_state=8)
        in_test = table["location"].map(lambda location: location in test_locations)
        train, test = table[~in_test], table[in_test]
        answers = test[["id", "category_id"]].rename(columns={"id": "Id", "category_id": "Category"})
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="category_id")),
            "public/sample_submission.csv": answers.assign(Category=0).to_csv().encode(),
            "private/test.csv": to_csv(test),
            "private/answers.csv": to_csv(answers),
            **{f"public/train_images.zip/{id}.jpg": photos[f"{id}.jpg"] for id in train["id"]},
            **{f"public/test_images.zip/{id}.jpg": photos[f"{id}.jpg"] for id in test["id"]},
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return macro_f1(submission, answers, "Id", "Category")

    def test_the_fixed_sample_has_the_columns_of_a_submission(self, miniatures: Miniatures) -> None:
        v1, fixed = (
            read_table(read_prepared(miniatures.prepared(self.name, edition))["public/sample_submission.csv"])
            for edition in ("v1", "fixed")
        )
        assert list(v1.columns) == ["Unnamed: 0", "Id", "Category"]
        assert list(fixed.columns) == ["Id", "Category"]
        assert fixed.equals(v1[["Id", "Category"]])

    @pytest.mark.parametrize("locations", [list("bacdbeaf"), [*range(MISSING), None, *range(MISSING, 10), None]])
    def test_locations_may_be_text_or_missing_and_ids_numbers(self, raw: Path, locations: list[object]) -> None:
        ids = range(len(locations))
        table = pd.DataFrame({"location": locations, "id": ids, "category_id": 1, "x": [0.5, *[None] * (len(ids) - 1)]})
        write_file(raw / "train.csv", to_csv(table))
        write_archive(raw / "train_images.zip", {f"{id}.jpg": f"{id}" for id in ids})
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
