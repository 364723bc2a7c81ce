from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, prepare_raw, read_archive, split, to_csv, write_archive
from graders import require, require_columns
from sklearn import metrics


class TestDogsVsCatsReduxKernelsEdition(Competition):
    name = "dogs-vs-cats-redux-kernels-edition"
    id = "id"
    targets = ("label",)

    def prepare_reference(self, raw: Path) -> Files:
        pictures = {Path(name).name: content for name, content in read_archive(raw / "train.zip").items()}
        train, test = split(sorted(pictures), test_size=0.1)
        public: Files = {}
        for kind in ("cat", "dog"):
            for number, name in enumerate(name for name in train if kind in name):
                public[f"train/{kind}.{number}.jpg"] = public[f"train.zip/{kind}.{number}.jpg"] = pictures[name]
        for number, name in enumerate(test, start=1):
            public[f"test/{number}.jpg"] = public[f"test.zip/{number}.jpg"] = pictures[name]
        labels = [1 if "dog" in name else 0 for name in test]
        answers = pd.DataFrame({"id": np.arange(len(test)) + 1, "label": labels})
        return {
            **{f"public/{path}": content for path, content in public.items()},
            "public/sample_submission.csv": to_csv(answers.assign(label=0.5)),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "label")
        require(set(submission["id"]) == set(answers["id"]) and len(submission) == len(answers))
        require(bool(((submission["label"] >= 0) & (submission["label"] <= 1)).all()))
        predicted, true = submission.sort_values("id"), answers.sort_values("id")
        return metrics.log_loss(true["label"], predicted["label"])

    def test_only_photos_directly_in_their_folder_count(self, raw: Path) -> None:
        photos = [f"{kind}.{number}.jpg" for kind in ("cat", "dog") for number in range(10)]
        others = {"train/deep/cat.99.jpg": "x", "train/dog.98.JPG": "x", "__MACOSX/train/._cat.1.jpg": "x"}
        write_archive(raw / "train.zip", {**{f"train/{name}": name for name in photos}, **others})
        files = prepare_raw(self.name, raw)
        test = split(sorted(photos), test_size=0.1)[1]
        labels = pd.DataFrame({"id": [1, 2], "label": [int("dog" in name) for name in test]})
        assert files["private/answers.csv"] == to_csv(labels)
        assert [files[f"public/test/{number}.jpg"].decode() for number in (1, 2)] == test
        assert sum(name.startswith("public/train/") for name in files) == 18

    def test_fixed_clips_as_kaggle_does(self, miniatures: Miniatures) -> None:
        self.check_clipping(miniatures)
