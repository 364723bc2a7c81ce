import math
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
    find_task,
    prepare_raw,
    read_archive,
    split,
    to_csv,
    write_archive,
)
from graders import log_loss, require


class TestLeafClassification(Competition):
    name = "leaf-classification"
    id = "id"
    targets = tuple(find_task(name).submission.columns)
    predictions = "distribution"

    def prepare_reference(self, raw: Path) -> Files:
        table = pd.read_csv(raw / "train.csv.zip")
        train, test = split(table, test_size=0.1)
        dummies = pd.get_dummies(test["species"], dtype=int).reindex(columns=self.targets, fill_value=0)
        shares = pd.DataFrame(1 / 99, index=test.index, columns=self.targets)
        pictures = read_archive(raw / "images.zip")
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="species")),
            "public/sample_submission.csv": to_csv(pd.concat([test["id"], shares], axis=1)),
            "private/test.csv": to_csv(pd.concat([test["id"], dummies], axis=1)),
            "private/images/": b"",
            **{f"public/images/{id}.jpg": pictures[f"images/{id}.jpg"] for id in table["id"]},
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(set(submission.columns) == {"id", *self.targets})
        return log_loss(submission, answers, "id", list(self.targets))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for number in range(20):
            shares = [draw.random() for _ in self.targets]
            scale = (1 - 1.1e-5) / math.fsum(shares)  # where the order of adding decides whether the row is valid
            row = {target: repr(share * scale) for target, share in zip(self.targets, shares, strict=True)}
            yield f"a sum at the tolerance {number}", table.change(lambda _: row, [0])  # noqa: B023

    def test_an_unlisted_species_gets_a_last_column_in_v1(self, raw: Path) -> None:
        leaves = pd.DataFrame({"id": range(1, 21), "species": "Acer_Mono", "margin1": 0.5})
        strange = int(split(leaves, test_size=0.1)[1]["id"].iloc[1])
        leaves.loc[strange - 1, "species"] = "Nova"
        write_archive(raw / "train.csv.zip", {"train.csv": to_csv(leaves)})
        write_archive(raw / "images.zip", {f"images/{id}.jpg": "x" for id in range(1, 23)})
        files = prepare_raw(self.name, raw)
        answers, sample = (
            [line.split(",") for line in files[path].decode().splitlines()]
            for path in ("private/test.csv", "public/sample_submission.csv")
        )
        assert answers[0] == sample[0] == ["id", *self.targets, "Nova"]
        assert [row[-1] for row in answers[1:]] == [row[-1] for row in sample[1:]] == ["", "1.0"]
        assert [row[1:-1].count("1") for row in answers[1:]] == [1, 0]
        assert {value for row in sample[1:] for value in row[1:-1]} == {"0.010101010101010102"}
        with pytest.raises(ValueError, match="classes that are not listed"):
            prepare_raw(self.name, raw, "fixed")

    def test_fixed_divides_rows_by_their_sum_and_clips_as_kaggle_does(self, miniatures: Miniatures) -> None:
        targets = list(self.targets)
        halved = self.scores_after(miniatures, lambda table: table.assign(**table[targets] / 2))
        assert halved == {"v1": None, "fixed": 0}
        self.check_clipping(miniatures)
