from pathlib import Path

import pandas as pd
from competition import Competition, Files, split, to_csv
from graders import align, require_columns
from sklearn.metrics import f1_score


class TestPlantSeedlingsClassification(Competition):
    name = "plant-seedlings-classification"
    id = "file"
    targets = ("species",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        photos = sorted(path.relative_to(raw).as_posix() for path in raw.glob("train/*/*.png"))
        train, test = split(photos, test_size=0.14)
        names, species = [Path(path).name for path in test], [path.split("/")[1] for path in test]
        answers = pd.DataFrame({"file": names, "species": species})
        return {
            **{f"public/{path}": (raw / path).read_bytes() for path in train},
            **{f"public/test/{Path(path).name}": (raw / path).read_bytes() for path in test},
            "public/sample_submission.csv": to_csv(answers.assign(species="Sugar beet")),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "file", "species")
        predicted, true = align(submission, answers, "file")
        # As lists: NumPy makes one array of text of them, in which a missing species is the word "nan".
        return f1_score(true["species"].tolist(), predicted["species"].tolist(), average="micro")
