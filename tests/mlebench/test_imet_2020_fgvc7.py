import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
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


class TestImet2020Fgvc7(Competition):
    name = "imet-2020-fgvc7"
    id = "id"
    targets = ("attribute_ids",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.15)
        return {
            "public/train.csv": to_csv(train),
            "public/labels.csv": (raw / "labels.csv").read_bytes(),
            "public/sample_submission.csv": to_csv(test.assign(attribute_ids="0 1 2")),
            "private/answers.csv": to_csv(test),
            **copy_files(raw / "train", "public/train", train["id"] + ".png"),
            **copy_files(raw / "train", "public/test", test["id"] + ".png"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return micro_f1_of_labels(submission, answers, "id", "attribute_ids")

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from perturb(table, draw)
        yield "unknown labels", table.change(lambda row: {"attribute_ids": f"{row['attribute_ids']} 77777 x"})
        yield (
            "labels twice",
            table.change(lambda row: {"attribute_ids": f"{row['attribute_ids']}  {row['attribute_ids']}"}),
        )

    def test_columns_and_missing_values_are_written_as_pandas_reads_them(self, raw: Path) -> None:
        rows = [f"{number}.50,c{number},{'NA' if number == 3 else number},{number} 7" for number in range(20)]
        write_file(raw / "train.csv", "\r\n".join(["x,id,n,attribute_ids", *rows]).encode())
        write_file(raw / "labels.csv", b"any\r\nbytes")
        for number in range(20):
            write_file(raw / f"train/c{number}.png")
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_counts_unknown_labels_as_wrong(self, miniatures: Miniatures, tmp_path: Path) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            table = pd.read_csv(prepared.private / "answers.csv")
            table["attribute_ids"] += " 77777"
            scores[edition] = grade_submission(to_csv(table), prepared, home=Home(tmp_path)).score
        assert scores["v1"] == 1
        assert scores["fixed"] is not None and scores["fixed"] < 0.9
