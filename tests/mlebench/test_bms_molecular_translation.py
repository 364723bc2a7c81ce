from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, prepare_raw, split, to_csv, write_file
from graders import align, require_columns

from assay.grading import grade_submission


class TestBmsMolecularTranslation(Competition):
    name = "bms-molecular-translation"
    id = "image_id"
    targets = ("InChI",)
    predictions = "class"
    max_rows = 30

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train_labels.csv"), test_size=0.2)
        extra = "extra_approved_InChIs.csv"
        return {
            "public/train_labels.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(InChI="InChI=1S/H2O/h1H2")),
            f"public/{extra}": (raw / extra).read_bytes(),
            "private/test.csv": to_csv(test),
            **{
                f"public/{side}/{id[0]}/{id[1]}/{id[2]}/{id}.png": next(raw.glob(f"train/*/*/*/{id}.png")).read_bytes()
                for side, table in (("train", train), ("test", test))
                for id in table["image_id"]
            },
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "image_id", "InChI")
        predicted, true = align(submission, answers, "image_id")
        texts = (table["InChI"].astype(str) for table in (predicted, true))
        return np.mean([distance(text, other) for text, other in zip(*texts, strict=True)])

    def test_texts_are_quoted_only_where_needed(self, raw: Path) -> None:
        rows = [f'a{number:02d}b,"InChI=1S/{number}{"," if number % 2 else ""}x"' for number in range(10)]
        write_file(raw / "train_labels.csv", "\r\n".join(["image_id,InChI", *rows]).encode())
        write_file(raw / "extra_approved_InChIs.csv", b'InChI\r\n"x"\r\n')
        for row in rows:
            id = row.partition(",")[0]
            write_file(raw / "train" / id[0] / id[1] / id[2] / f"{id}.png", id.encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_the_answers_score_0_in_fixed(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        answers = (prepared.private / "test.csv").read_bytes()
        assert grade_submission(answers, prepared, home=miniatures.home).score == 0


@cache
def distance(text: str, other: str) -> int:
    """Levenshtein distance by the textbook table, row by row."""
    above = list(range(len(other) + 1))
    for row, character in enumerate(text, 1):
        current = [row]
        for column, target in enumerate(other, 1):
            replaced = above[column - 1] + (character != target)
            current.append(min(above[column] + 1, current[-1] + 1, replaced))
        above = current
    return above[-1]
