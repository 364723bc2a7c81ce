from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, copy_files, read_prepared, read_table, split, to_csv
from graders import roc_auc


class TestRanzcrClipCatheterLineClassification(Competition):
    name = "ranzcr-clip-catheter-line-classification"
    id = "StudyInstanceUID"
    targets = (
        "ETT - Abnormal", "ETT - Borderline", "ETT - Normal", "NGT - Abnormal", "NGT - Borderline",
        "NGT - Incompletely Imaged", "NGT - Normal", "CVC - Abnormal", "CVC - Borderline",
    )  # fmt: skip
    fixed_changes = ("public/*", "private/test.csv")

    def prepare_reference(self, raw: Path) -> Files:
        studies, annotations = (pd.read_csv(raw / name) for name in ("train.csv", "train_annotations.csv"))
        train, test = split(studies, test_size=0.1)
        sample = test[["StudyInstanceUID"]].assign(**dict.fromkeys(self.targets, 0))
        return {
            **copy_files(raw / "train", "public/train", train["StudyInstanceUID"] + ".jpg"),
            **copy_files(raw / "train", "public/test", test["StudyInstanceUID"] + ".jpg"),
            "public/train.csv": to_csv(train),
            "public/train_annotations.csv": to_csv(
                annotations[annotations["StudyInstanceUID"].isin(train["StudyInstanceUID"])]
            ),
            "public/sample_submission.csv": to_csv(sample),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return float(np.mean([roc_auc(submission, answers, "StudyInstanceUID", name) for name in self.targets]))

    def test_fixed_keeps_patients_on_one_side_and_asks_for_all_labels(self, miniatures: Miniatures) -> None:
        shared = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            files = read_prepared(prepared)
            train, test = (read_table(files[path]) for path in ("public/train.csv", "private/test.csv"))
            shared[edition] = set(train["PatientID"]) & set(test["PatientID"])
        assert shared["v1"]
        assert not shared["fixed"]
        studies = pd.read_csv(prepared.folder / "raw/train.csv")["StudyInstanceUID"]
        assert sorted([*train["StudyInstanceUID"], *test["StudyInstanceUID"]]) == sorted(studies)
        sample = read_table(files["public/sample_submission.csv"])
        assert list(sample.columns) == list(test.columns[:12])
        assert list(sample["StudyInstanceUID"]) == list(test["StudyInstanceUID"])
        pictured = {Path(path).stem for path in files if path.startswith("public/test/")}
        assert pictured == set(test["StudyInstanceUID"])
        annotated = set(read_table(files["public/train_annotations.csv"])["StudyInstanceUID"])
        assert annotated <= set(train["StudyInstanceUID"])
