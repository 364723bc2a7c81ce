from pathlib import Path

import pandas as pd
from competition import Competition, Files, Miniatures, split, to_csv
from graders import accuracy


class TestSpaceshipTitanic(Competition):
    name = "spaceship-titanic"
    id = "PassengerId"
    targets = ("Transported",)
    predictions = "class"
    fixed_changes = ("public/*.csv", "private/test.csv")

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns="Transported")),
            "public/sample_submission.csv": to_csv(test[["PassengerId"]].assign(Transported=False)),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "PassengerId", "Transported")

    def test_fixed_keeps_a_travel_group_together(self, miniatures: Miniatures) -> None:
        shared = {}
        for edition in ("v1", "fixed"):
            public = miniatures.prepared(self.name, edition).public
            train, test = (
                set(pd.read_csv(public / f"{side}.csv")["PassengerId"].str[:4]) for side in ("train", "test")
            )
            shared[edition] = train & test
        assert shared["v1"]
        assert not shared["fixed"]
