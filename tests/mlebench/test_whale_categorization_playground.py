import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Table,
    copy_files,
    perturb,
    perturb_guesses,
    prepare_raw,
    split,
    to_csv,
    write_file,
)
from graders import map_at_5, require

from assay.core.errors import SourceError


class TestWhaleCategorizationPlayground(Competition):
    name = "whale-categorization-playground"
    id = "Image"
    targets = ("Id",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        table = pd.read_csv(raw / "train.csv")
        generator = np.random.default_rng(0)
        side = pd.Series("", index=table.index)
        for whale in table["Id"].unique():
            group = table[table["Id"] == whale]
            if len(group) == 1:
                side[group.index[0]] = generator.choice(["train", "test"], p=[0.9, 0.1])
            else:
                side[group.sample(2, random_state=0).index] = ["train", "test"]
        for name, rows in zip(("train", "test"), split(table[side == ""], test_size=0.1), strict=True):
            side[rows.index] = name
        train, test = table[side == "train"], table[side == "test"].copy()
        test.loc[~test["Id"].isin(train["Id"]), "Id"] = "new_whale"
        sample = test.assign(Id="new_whale w_1287fbc w_98baff9 w_7554f44 w_1eafe46")
        return {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(sample),
            "private/test.csv": to_csv(test),
            **copy_files(raw / "train", "public/train", train["Image"]),
            **copy_files(raw / "train", "public/test", test["Image"]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(set(submission.columns) == {"Image", "Id"})
        return map_at_5(submission, answers, "Image", "Id")

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from perturb(table, draw)
        yield from perturb_guesses(table, "Id", draw)

    @pytest.mark.parametrize("columns", [["Image", "Id"], ["Id", "Image"]])
    def test_whales_of_every_size_are_split_as_published(self, raw: Path, columns: list[str]) -> None:
        """Of 40 single photographs several go to test; ids may need quotes."""
        whales = [f"w {size}" for size in range(2, 9) for _ in range(size)] + [f"x,{single}" for single in range(40)]
        table = pd.DataFrame({"Image": [f"{number}.jpg" for number in range(len(whales))], "Id": whales})
        write_file(raw / "train.csv", to_csv(table.sample(frac=1, random_state=1)[columns]))
        for name in table["Image"]:
            write_file(raw / "train" / name, name.encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_other_columns_are_refused(self, raw: Path) -> None:
        write_file(raw / "train.csv", b"Image,Id,More\na.jpg,w,1\n")
        with pytest.raises(SourceError, match=r"train\.csv has the columns"):
            prepare_raw(self.name, raw)
