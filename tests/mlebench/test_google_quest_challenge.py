import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    find_task,
    prepare_raw,
    read_exactly,
    split,
    to_csv,
    write_file,
)
from graders import require
from scipy.stats import spearmanr

from assay.grading import grade_submission

RATINGS = list(find_task("google-quest-challenge").submission.columns)


class TestGoogleQuestChallenge(Competition):
    name = "google-quest-challenge"
    id = "qa_id"
    targets = tuple(RATINGS)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(read_exactly(raw / "train.csv"), test_size=0.1)
        if test["question_type_spelling"].nunique() == 1:
            partner = train.index[train["question_type_spelling"] != 0][0]
            rows, first = read_exactly(raw / "train.csv"), test.index[0]
            train = rows.loc[[first if row == partner else row for row in train.index]]
            test = rows.loc[[partner, *test.index[1:]]]
        ramp = dict.fromkeys(RATINGS, np.linspace(0, 1, len(test)))
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns=RATINGS)),
            "public/sample_submission.csv": to_csv(test[["qa_id"]].assign(**ramp)),
            "private/test.csv": to_csv(test[["qa_id", *RATINGS]]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(set(submission.columns) == {"qa_id", *RATINGS} and submission.shape[1] == 31)
        require(len(submission) == len(answers))
        predicted, true = submission.sort_values("qa_id"), answers.sort_values("qa_id")
        columns = [spearmanr(true[name], predicted[name]).statistic for name in RATINGS]
        return float(np.mean(columns))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for cells in (("a", "b", ""), ("True", "False", ""), ("a", "b")):
            yield f"a column of {cells}", table.change(lambda _: {RATINGS[0]: draw.choice(cells)})  # noqa: B023

    def test_a_rating_that_is_constant_in_test_is_swapped_in(self, raw: Path) -> None:
        texts = {f"text_{number}": ["a", "NA", "b,\r\nc"] for number in range(10)}
        table = pd.DataFrame({"qa_id": np.arange(30) * 7} | {name: values * 10 for name, values in texts.items()})
        ratings = {name: (np.arange(30) + column) % 3 / 2 for column, name in enumerate(RATINGS[::-1])}
        table = table.assign(**ratings).assign(question_type_spelling=0)
        first, second = split(table, test_size=0.1)[0].index[[5, 9]]
        table.loc[[first, second], "question_type_spelling"] = 1
        write_file(raw / "train.csv", to_csv(table))
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert files["private/test.csv"].decode().splitlines()[1].startswith(f"{first * 7},")

    def test_fixed_compares_ids(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = pd.read_csv(prepared.private / "test.csv")
            perfect = grade_submission(to_csv(answers), prepared, home=miniatures.home)
            assert perfect.score == 1
            wrong = to_csv(answers.assign(qa_id=answers["qa_id"] + 10**6))
            scores[edition] = grade_submission(wrong, prepared, home=miniatures.home).score
        assert scores == {"v1": 1.0, "fixed": None}
