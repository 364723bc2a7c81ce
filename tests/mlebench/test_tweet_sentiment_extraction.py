from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pandas as pd
from competition import Competition, Files, Miniatures, Table, prepare_raw, read_text_table, split, to_csv, write_file
from graders import align, require_columns

from assay.grading import grade_submission


class TestTweetSentimentExtraction(Competition):
    name = "tweet-sentiment-extraction"
    id = "textID"
    targets = ("selected_text",)
    predictions = "class"
    fixed_changes = ("public/train.csv",)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="selected_text")),
            "public/sample_submission.csv": to_csv(test[["textID"]].assign(selected_text="")),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "textID", "selected_text")
        predicted, true = align(submission, answers, "textID")
        sides = (table["selected_text"].astype(object).fillna("").astype(str) for table in (true, predicted))
        total = 0.0
        for text, other in zip(*sides, strict=True):
            a, b = set(text.lower().split()), set(other.lower().split())
            total += len(a & b) / (len(a) + len(b) - len(a & b))
        return total / len(answers)

    def perturbations(self, table: Table, draw: Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        changes = {
            "upper case": str.upper,
            "words twice": lambda text: f"{text}\t{text}",
            "line ends in text": lambda text: text.replace(" ", "\r\n"),
        }
        for label, change in changes.items():
            yield label, table.change(lambda row: {"selected_text": change(row["selected_text"])})  # noqa: B023

    def test_text_of_any_kind_is_written_as_pandas_writes_it(self, raw: Path) -> None:
        cells = ['"plain"', '"a, b"', "12", "NA", '"a ""quoted"" word"', '"a\r\nb"', "' x '", ""]
        rows = [f"{number}x,{cells[number % 8]},{cells[number % 7]},neutral" for number in range(60)]
        write_file(raw / "train.csv", "\r\n".join(["textID,text,selected_text,sentiment", *rows]).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_a_tweet_without_words_is_scored_only_in_fixed(self, miniatures: Miniatures, tmp_path: Path) -> None:
        verdicts = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            private = tmp_path / edition
            private.mkdir()
            (private / "test.csv").write_text("textID,text,selected_text,sentiment\na1,x,,neutral\nb2,y z,z,positive\n")
            prepared = replace(prepared, private=private)
            content = b"textID,selected_text\na1,\nb2,z\n"
            verdicts[edition] = grade_submission(content, prepared, home=miniatures.home).score
        assert verdicts == {"v1": None, "fixed": 1.0}

    def test_fixed_keeps_words_that_look_missing(self, miniatures: Miniatures) -> None:
        texts = {}
        for edition in ("v1", "fixed"):
            train = read_text_table((miniatures.prepared(self.name, edition).public / "train.csv").read_bytes())
            texts[edition] = set(train["selected_text"])
        assert texts["fixed"] - texts["v1"] == {"null", "N/A", "None"}
