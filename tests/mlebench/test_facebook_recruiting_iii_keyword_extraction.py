import io
import random
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    prepare_raw,
    read_text_table,
    split,
    to_csv,
    write_archive,
    write_file,
)
from graders import micro_f1_of_labels

from assay.grading import grade_submission


class TestFacebookRecruitingIiiKeywordExtraction(Competition):
    name = "facebook-recruiting-iii-keyword-extraction"
    id = "Id"
    targets = ("Tags",)
    predictions = "class"
    fixed_changes = ("public/*.csv", "private/*.csv")

    def prepare_reference(self, raw: Path) -> Files:
        with zipfile.ZipFile(raw / "Train.zip") as archive:
            rows = pd.read_csv(io.BytesIO(archive.read("Train.csv")), dtype={"Id": str, "Tags": str})
        train, test = split(rows, test_size=0.1)
        questions = test.drop(columns="Tags")
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(questions),
            "public/sample_submission.csv": to_csv(questions.assign(Tags="javascript c# python php java")),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return micro_f1_of_labels(submission, answers, "Id", "Tags")

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        yield "unknown tags", table.change(lambda row: {"Tags": f"{row['Tags']} cobol Python"})
        yield "all tags everywhere", table.change(lambda row: {"Tags": "python c# java php ios nan"})
        yield "a tag twice", table.change(lambda row: {"Tags": f"{row['Tags']}\t{row['Tags']} "})
        yield "only id and tags", table.write(header=["Id", "Tags"])

    def test_texts_keep_their_line_ends_and_ids_their_zeros(self, raw: Path) -> None:
        texts = [
            '"a ""quote"", and more"',
            '"line\r\nend"',
            "NULL",
            "12",
            " space",
            '"tab\there"',
            "é\u2028\\",
            "True",
            "",
        ]
        tags = ["c++ null", "null", "", "nan nan", "007", "1.50"]
        rows = [f"00{row},{texts[row % 9]},{tags[row % 6]},{texts[(row + 4) % 9]}" for row in range(44)]
        write_archive(raw / "Train.zip", {"Train.csv": "\r\n".join(["Id,Title,Tags,Body", *rows])})
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert files["public/sample_submission.csv"].startswith(b"Id,Title,Body,Tags\n")

    def test_a_submission_may_repeat_texts_of_many_lines(self, miniatures: Miniatures, tmp_path: Path) -> None:
        prepared = replace(miniatures.prepared(self.name), private=tmp_path)
        answers = pd.DataFrame({"Id": [1, 2], "Title": "t", "Body": "\n" * 600_000, "Tags": ["c#", "java"]})
        write_file(tmp_path / "test.csv", to_csv(answers))
        assert grade_submission(to_csv(answers), prepared, home=miniatures.home).score == 1

    def test_fixed_keeps_equal_questions_on_one_side(self, miniatures: Miniatures) -> None:
        shared = {}
        for edition in ("v1", "fixed"):
            public = miniatures.prepared(self.name, edition).public
            train, test = (read_text_table((public / f"{side}.csv").read_bytes()) for side in ("train", "test"))
            shared[edition] = len(test.merge(train, on=["Title", "Body"]))
        assert shared["v1"] > 0
        assert shared["fixed"] == 0

    @pytest.mark.parametrize(("edition", "kept"), (("v1", False), ("fixed", True)))
    def test_fixed_keeps_the_tag_nan(self, miniatures: Miniatures, edition: str, kept: bool) -> None:
        prepared = miniatures.prepared(self.name, edition)
        sides = (prepared.public / "train.csv", prepared.private / "test.csv")
        tags = {tag for path in sides for tag in read_text_table(path.read_bytes())["Tags"]}
        assert ("nan" in tags, "" in tags) == (kept, not kept)

    def test_fixed_has_a_small_sample(self, miniatures: Miniatures) -> None:
        samples = [miniatures.prepared(self.name, edition).public for edition in ("v1", "fixed")]
        headers = [(public / "sample_submission.csv").read_text().partition("\n")[0] for public in samples]
        assert headers == ["Id,Title,Body,Tags", "Id,Tags"]

    @pytest.mark.parametrize("edition", ("v1", "fixed"))
    def test_fixed_takes_the_mean_over_questions_and_counts_unknown_tags(
        self, miniatures: Miniatures, edition: str
    ) -> None:
        """With one wrong tag more than the n true ones, F1 of a question is 2 n / (2 n + 1)."""
        prepared = miniatures.prepared(self.name, edition)
        answers = read_text_table((prepared.private / "test.csv").read_bytes())[["Id", "Tags"]]
        perfect, more = (
            grade_submission(to_csv(table), prepared, home=miniatures.home).score
            for table in (answers, answers.assign(Tags=answers["Tags"] + " cobol"))
        )
        counts = answers["Tags"].str.split().str.len()
        assert perfect == 1
        assert more == (1 if edition == "v1" else pytest.approx((2 * counts / (2 * counts + 1)).mean(), abs=1e-5))
