import json
import random
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, copy_files, prepare_raw, to_csv, write_file
from graders import require, require_columns

from assay.core.errors import SourceError
from assay.grading import grade_submission


class TestAI4Code(Competition):
    name = "AI4Code"
    id = "id"
    targets = ("cell_order",)
    predictions = "order"

    def prepare_reference(self, raw: Path) -> Files:
        ancestors = pd.read_csv(raw / "train_ancestors.csv").sample(frac=1, random_state=0)
        size = 20_000 if len(ancestors) >= 20_000 else len(ancestors) // 7
        test: list[str] = []
        for _, family in ancestors.groupby("ancestor_id", sort=False, dropna=False):
            if len(test) + len(family) <= size:
                test += family["id"].tolist()
        assert len(test) == size
        in_test = ancestors["id"].isin(test)
        orders = pd.read_csv(raw / "train_orders.csv")
        answers = orders[orders["id"].isin(test)]
        notebooks = [json.loads((raw / f"train/{id}.json").read_bytes()) for id in answers["id"]]
        return {
            "public/train_ancestors.csv": to_csv(ancestors[~in_test]),
            "public/train_orders.csv": to_csv(orders[orders["id"].isin(ancestors["id"][~in_test])]),
            "public/sample_submission.csv": to_csv(
                answers.assign(cell_order=[" ".join(notebook["cell_type"]) for notebook in notebooks])
            ),
            "private/test_orders.csv": to_csv(answers),
            **copy_files(raw / "train", "public/train", ancestors["id"][~in_test] + ".json"),
            **copy_files(raw / "train", "public/test", ancestors["id"][in_test] + ".json"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(len(submission) == len(answers))
        require_columns(submission, "id", "cell_order")
        require(set(submission["id"]) == set(answers["id"]))
        predicted, true = (side.sort_values("id")["cell_order"] for side in (submission, answers))
        inversions = pairs = 0
        for order, cells in zip(predicted.map(str).str.split(), true.map(str).str.split(), strict=True):
            require(len(order) == len(cells))
            positions = [order.index(cell) for cell in cells]
            inversions += sum(first > other for first, other in combinations(positions, 2))
            pairs += len(cells) * (len(cells) - 1)
        return 1 - 4 * inversions / pairs

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        long = max(range(len(table.rows)), key=lambda row: len(table.rows[row]["cell_order"].split()))
        cells = table.rows[long]["cell_order"].split()
        for label, order in (
            ("a cell missing", cells[1:]),
            ("a cell twice", [*cells, cells[0]]),
            ("a cell instead of another", [cells[1], *cells[1:]]),
            ("an unknown cell", ["ffffffff", *cells[1:]]),
            ("an unknown cell more", [*cells, "ffffffff"]),
            ("cells in upper case", [cell.upper() for cell in cells]),
            ("no cells", []),
        ):
            yield label, table.change(lambda _: {"cell_order": " ".join(order)}, [long])  # noqa: B023
        for separator in ("  ", "\t", "\n", "\u00a0", ",", ", ", ";"):
            change = {"cell_order": separator.join(cells)}
            yield f"cells separated by {separator!r}", table.change(lambda _: change, [long])  # noqa: B023
        yield "reversed", table.change(lambda row: {"cell_order": " ".join(row["cell_order"].split()[::-1])})
        yield "spaces around", table.change(lambda row: {"cell_order": f"  {row['cell_order']} "})

    def test_families_and_numbers_in_ids_are_kept(self, raw: Path) -> None:
        """Ids may look like numbers, families may have no ancestor, cell ids may repeat and need quotes."""
        draw = random.Random(0)
        ids = [*(f"{number:03d}" for number in range(30)), "1e5", "é", "a b"]
        families = [draw.choice(["", "7", "1e5", "x", *ids, *ids]) for _ in ids]
        rows = [f"{id},{family},{draw.choice(['', 'p'])}" for id, family in zip(ids, families, strict=True)]
        write_file(raw / "train_ancestors.csv", "\r\n".join(["id,ancestor_id,parent_id", *rows]).encode())
        orders = [f'{id},"b,1 a"' for id in draw.sample(ids, len(ids))]
        write_file(raw / "train_orders.csv", "\n".join(["id,cell_order", *orders, "unknown,a"]).encode())
        for id in ids:
            write_file(raw / f"train/{id}.json", b'{"source": {}, "cell_type": {"b,1": "x", "\xc3\xa9": 1, "b,1": 2}}')
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_families_that_cannot_fill_the_test_set_are_refused(self, raw: Path) -> None:
        write_file(
            raw / "train_ancestors.csv", b"id,ancestor_id,parent_id\n" + b"".join(b"n%d,a,\n" % n for n in range(9))
        )
        with pytest.raises(SourceError, match="cannot fill a test set of 1: only 0 fit"):
            prepare_raw(self.name, raw)

    def test_the_answers_score_1_in_fixed(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        answers = (prepared.private / "test_orders.csv").read_bytes()
        assert grade_submission(answers, prepared, home=miniatures.home).score == 1
