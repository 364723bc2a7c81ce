import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Table, perturb, perturb_guesses, prepare_raw, split, to_csv, write_file
from graders import map_at_5, require_columns

from assay.core.errors import SourceError


class TestHotelId2021Fgvc8(Competition):
    name = "hotel-id-2021-fgvc8"
    id = "image"
    targets = ("hotel_id",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        table = pd.read_csv(raw / "train.csv")
        train, test = split(table[table["image"] != "ce27d36c9147cc19.jpg"], test_size=0.1)
        files: Files = {}
        for chain, name in zip(train["chain"], train["image"], strict=True):
            files[f"public/train_images/{chain}/{name}"] = (raw / f"train_images/{chain}/{name}").read_bytes()
        for chain, name in zip(test["chain"], test["image"], strict=True):
            files[f"public/test_images/{name}"] = (raw / f"train_images/{chain}/{name}").read_bytes()
        sample = test[["image"]].assign(hotel_id="36363 53586 18807 64314 60181")
        return files | {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(sample),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "image", "hotel_id")
        return map_at_5(submission, answers, "image", "hotel_id")

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from perturb(table, draw)
        yield from perturb_guesses(table, "hotel_id", draw)

    def test_columns_and_chains_are_as_pandas_reads_them(self, raw: Path) -> None:
        rows = [f"{number % 3:03d},p{number}.jpg,{number}.0,NA" for number in range(25)]
        write_file(raw / "train.csv", "\n".join(["chain,image,hotel_id,timestamp", *rows]).encode())
        for number in range(25):
            write_file(raw / f"train_images/{number % 3}/p{number}.jpg", b"%d" % number)
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_a_photograph_may_be_listed_twice_on_one_side_only(self, raw: Path) -> None:
        rows = [[f"p{number}.jpg", number % 3, number] for number in range(25)]
        (first, second, *_), (third, fourth, _) = (side.tolist() for side in split(np.arange(25), test_size=0.1))
        rows[second], rows[fourth][0] = rows[first], rows[third][0]
        rows[third][1], rows[fourth][1] = 1, None
        table = pd.DataFrame(rows, columns=["image", "chain", "hotel_id"])
        for image, chain, hotel in table.itertuples(index=False):
            write_file(raw / f"train_images/{chain}/{image}", b"%d" % hotel)
        write_file(raw / "train.csv", to_csv(table))
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
        write_file(raw / "train.csv", to_csv(pd.concat([table, table])))
        with pytest.raises(SourceError, match="once for training and once for test"):
            prepare_raw(self.name, raw, "fixed")
