import random
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, read_archive, to_csv, write_archive
from graders import align, require, require_columns

from assay.grading import grade_submission

WORDS = [*"aé\"',\\😀", "word", "\x00"]
BLANKS = [*[" "] * 5, "  ", "\t", "\r", "\n", "\r\n", "\u00a0", "\u2028", "\x85", "\x0c", "\x1c"]


class TestBillionWordImputation(Competition):
    name = "billion-word-imputation"
    id = "id"
    targets = ("sentence",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        text = read_archive(raw / "train_v2.txt.zip")["train_v2.txt"].decode()
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        draw = np.random.RandomState(0)
        train, public, full = [], ['"id","sentence"'], ['"id","sentence"']
        for line in lines[:30_301_028]:
            tokens = line.strip().replace('"', '""').split()
            if draw.uniform() > 0.01 or len(tokens) < 3:
                train.append(line)
                continue
            removed = draw.randint(low=1, high=len(tokens) - 1)
            number = len(full) - 1
            full.append(f'{number},"{line.strip().replace(chr(34), chr(34) * 2)}"')
            public.append(f'{number},"{" ".join(tokens[:removed] + tokens[removed + 1 :])}"')
        test = ("\n".join(public) + "\n").encode()
        return {
            "public/train_v2.txt.zip/train_v2.txt": "".join(train).encode(),
            "public/test_v2.txt.zip/test_v2.txt": test,
            "private/sample_submission.csv": test,
            "private/test.csv": ("\n".join(full) + "\n").encode(),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "sentence")
        predicted, true = align(submission, answers, "id")
        require(all(isinstance(text, str) for text in predicted["sentence"].tolist()))
        return np.mean(
            [distance(text, other) for text, other in zip(predicted["sentence"], true["sentence"], strict=True)]
        )

    @pytest.mark.parametrize("end", ["", "\n", "\r"])
    def test_any_text_is_split_at_line_ends_and_blanks_alone(self, raw: Path, end: str) -> None:
        draw = random.Random(0)
        lines = ["".join(draw.choices(WORDS + BLANKS, k=draw.randrange(40))) for _ in range(5000)]
        write_archive(raw / "train_v2.txt.zip", {"train_v2.txt": ("\n".join(lines) + end).encode()})
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert files["private/test.csv"].count(b"\n") > 20

    def test_the_first_hundredth_line_is_for_the_test(self, raw: Path) -> None:
        """The first number that is at most 0.01 is the 100th, whatever the lines hold."""
        lines = [f"{number} has three" for number in range(100)]
        write_archive(raw / "train_v2.txt.zip", {"train_v2.txt": "\n".join(lines)})
        files = prepare_raw(self.name, raw)
        assert files["private/test.csv"] == b'"id","sentence"\n0,"99 has three"\n'
        assert files["private/sample_submission.csv"] == b'"id","sentence"\n0,"99 three"\n'
        assert files["public/train_v2.txt.zip/train_v2.txt"] == ("\n".join(lines[:99]) + "\n").encode()

    @pytest.mark.parametrize("edition", ("v1", "fixed"))
    def test_fixed_grades_sentences_that_look_like_numbers(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "test.csv")
        perfect = grade_submission(to_csv(answers), prepared, home=miniatures.home)
        assert perfect.score == 0
        numbers = answers.assign(sentence="7")
        grade = grade_submission(to_csv(numbers), prepared, home=miniatures.home)
        assert grade.valid_submission == (edition == "fixed")


@cache
def distance(text: str, other: str) -> int:
    """Levenshtein distance by the textbook table, row by row."""
    above = np.arange(len(other) + 1)
    columns = np.arange(len(other) + 1)
    letters = np.array(list(other))
    for character in text:
        current = above + 1
        current[1:] = np.minimum(current[1:], above[:-1] + (letters != character))
        above = np.minimum.accumulate(current - columns) + columns
    return int(above[-1])
