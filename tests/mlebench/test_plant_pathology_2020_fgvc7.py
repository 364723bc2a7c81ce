from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, prepare_raw, split, to_csv, write_file
from graders import align, require
from sklearn import metrics

from assay.core.errors import SourceError


class TestPlantPathology2020Fgvc7(Competition):
    name = "plant-pathology-2020-fgvc7"
    id = "image_id"
    targets = ("healthy", "multiple_diseases", "rust", "scab")

    def prepare_reference(self, raw: Path) -> Files:
        files: Files = {}
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        for name, side in (("Train", train), ("Test", test)):
            new_names = [f"{name}_{number}" for number in range(len(side))]
            for old, new in zip(side["image_id"], new_names, strict=True):
                files[f"public/images/{new}.jpg"] = (raw / "images" / f"{old}.jpg").read_bytes()
            side["image_id"] = new_names
        return files | {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test[["image_id"]]),
            "public/sample_submission.csv": to_csv(test[["image_id"]].assign(**dict.fromkeys(self.targets, 0.25))),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(set(submission.columns) == {"image_id", *self.targets})
        predicted, true = align(submission, answers, "image_id")
        return float(np.mean([metrics.roc_auc_score(true[name], predicted[name]) for name in self.targets]))

    def test_an_extra_column_is_refused_in_fixed(self, raw: Path) -> None:
        table = b"image_id,rust,scab,healthy,multiple_diseases,more\nTrain_0,1,0,0,0,x\n"
        write_file(raw / "train.csv", table)
        with pytest.raises(SourceError, match=r"train\.csv has the columns"):
            prepare_raw(self.name, raw, "fixed")
