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
    copy_files,
    copy_folders,
    prepare_raw,
    read_as_published,
    read_text_table,
    to_csv,
    write_file,
)
from graders import require

from assay.core.errors import SourceError
from assay.grading import grade_submission

HEADER = "t_dat,customer_id,article_id,price,sales_channel_id\n"


class TestHAndMPersonalizedFashionRecommendations(Competition):
    name = "h-and-m-personalized-fashion-recommendations"
    id = "customer_id"
    targets = ("prediction",)
    predictions = "class"
    fixed_changes = ("public/transactions_train.csv", "private/answers.csv")

    def prepare_reference(self, raw: Path) -> Files:
        table = read_as_published((raw / "transactions_train.csv").read_text())
        dates = pd.to_datetime(table["t_dat"])
        late = dates >= dates.max() - pd.Timedelta(days=7)
        bought: dict[str, list[str]] = {}
        for customer, article in zip(table[late]["customer_id"], table[late]["article_id"], strict=True):
            bought.setdefault(customer, []).append(str(article))
        answers = pd.DataFrame(
            {"customer_id": sorted(bought), "prediction": [" ".join(bought[customer]) for customer in sorted(bought)]}
        )
        return {
            "public/transactions_train.csv": to_csv(table[~late]),
            "private/answers.csv": to_csv(answers),
            **copy_files(raw, "public", ["articles.csv", "customers.csv", "sample_submission.csv"]),
            **copy_folders(raw, "public", ["images"]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(set(submission.columns) == {"customer_id", "prediction"})
        require(set(answers["customer_id"]) <= set(submission["customer_id"]))
        known = submission[submission["customer_id"].isin(answers["customer_id"])].sort_values("customer_id")
        true = answers.sort_values("customer_id")["prediction"].astype(str).str.split(" ")
        scores = []
        for labels, guesses in zip(true, known["prediction"].astype(str).str.split(" "), strict=False):
            ranks = [
                rank
                for rank, guess in enumerate(guesses[:12], start=1)
                if guess in labels and guess not in guesses[: rank - 1]
            ]
            hits = [number / rank for number, rank in enumerate(ranks, start=1)]
            scores.append(sum(hits) / min(len(set(labels)), 12))
        return float(np.mean(scores))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        rows = table.rows
        known = sorted({article for row in rows for article in row["prediction"].split(" ")})
        for separator in (" ", "  ", "\t", ","):
            guesses = [separator.join(draw.sample(known, 15)) for _ in rows]
            labeled = zip(rows, guesses, strict=True)
            yield (
                f"15 guesses separated by {separator!r}",
                table.write([row | {"prediction": text} for row, text in labeled]),
            )
        yield "padded", table.change(lambda row: {"prediction": f"0{row['prediction']}"})
        yield "one article each", table.change(lambda row: {"prediction": row["prediction"].split(" ")[0]})
        yield (
            "one article each, one missing",
            table.change(lambda row: {"prediction": "" if row is rows[3] else row["prediction"].split(" ")[0]}),
        )
        yield "guesses twice", table.change(lambda row: {"prediction": f"{row['prediction']} {row['prediction']}"})
        yield "a space before and after", table.change(lambda row: {"prediction": f" {row['prediction']} "})
        yield "a space alone", table.change(lambda _: {"prediction": " "}, [2])
        other = {"customer_id": "f" * 64, "prediction": ""}
        yield "another customer with nothing", table.write([*rows, other])
        yield "another customer between", table.write([*rows[:5], other | {"prediction": known[0]}, *rows[5:]])
        yield "a customer three times", table.write([*rows, rows[0], rows[0], rows[-1]])

    def test_dates_types_and_repeats_are_prepared_as_published(self, raw: Path) -> None:
        """The first day that counts is seven days before the last; a gap makes all numbers of a column fractional."""
        rows = [
            "2020-09-14,b,0663713001,0.10,2",
            "2020-09-15,c,0541518023,1E-5,",
            "2020-09-15,a,0541518023,0.0508305084745762,1",
            '2020-09-22,c,0000000007,"3",2',
            "2020-09-20,c,0541518023,NA,2",
            "2020-09-22, B,0663713001,4.50,1",
        ]
        write_file(raw / "transactions_train.csv", (HEADER + "\r\n".join(rows) + "\r\n").encode())
        for name in ("articles.csv", "customers.csv", "sample_submission.csv"):
            write_file(raw / name, name.encode())
        (raw / "images/066").mkdir(parents=True)
        files = prepare_raw(self.name, raw)
        assert files["public/transactions_train.csv"].decode() == HEADER + "2020-09-14,b,663713001,0.1,2.0\n"
        expected = "customer_id,prediction\n B,663713001\na,541518023\nc,541518023 7 541518023\n"
        assert files["private/answers.csv"].decode() == expected
        assert files["public/images/066/"] == b""
        assert files["public/articles.csv"] == b"articles.csv"

    def test_a_single_purchase_leaves_only_the_header(self, raw: Path) -> None:
        write_file(raw / "transactions_train.csv", f"{HEADER}2020-09-14,5,12,0.1,2\n".encode())
        for name in ("articles.csv", "customers.csv", "sample_submission.csv", "images/a.jpg"):
            write_file(raw / name)
        files = prepare_raw(self.name, raw)
        assert files["public/transactions_train.csv"].decode() == HEADER
        assert files["private/answers.csv"] == b"customer_id,prediction\n5,12\n"

    def test_other_columns_are_refused(self, raw: Path) -> None:
        write_file(raw / "transactions_train.csv", b"t_dat,article_id\n2020-09-14,1\n")
        with pytest.raises(SourceError, match=r"transactions_train\.csv has the columns"):
            prepare_raw(self.name, raw)

    def test_fixed_keeps_zeros_takes_seven_days_and_scores_the_answers_1(self, miniatures: Miniatures) -> None:
        scores: dict[str, list[float | None]] = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            raw = read_text_table((prepared.folder / "raw/transactions_train.csv").read_bytes())
            train = read_text_table((prepared.public / "transactions_train.csv").read_bytes())
            answers = read_text_table((prepared.private / "answers.csv").read_bytes())
            days = raw["t_dat"].unique()[-8:] if edition == "v1" else raw["t_dat"].unique()[-7:]
            assert list(train["t_dat"]) == [day for day in raw["t_dat"] if day not in days]
            assert set(train["article_id"].str.len()) == ({10} if edition == "fixed" else {9})
            official = answers.assign(
                prediction=[" ".join(f"{int(word):010d}" for word in text.split()) for text in answers["prediction"]]
            )
            scores[edition] = [
                grade_submission(to_csv(table), prepared, home=miniatures.home).score
                for table in (answers, official, pd.concat([answers.head(1), answers]))
            ]
        assert scores["fixed"] == [1.0, 1.0, None]
        own, official, repeated = scores["v1"]
        assert own is not None and own < 1
        assert official == 0.0
        assert repeated is not None and repeated < own / 2
