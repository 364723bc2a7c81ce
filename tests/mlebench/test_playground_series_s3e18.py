from pathlib import Path

import pandas as pd
from competition import Competition, Files, prepare_raw, read_exactly, split, to_csv, write_file
from graders import align, require_columns
from sklearn import metrics


class TestPlaygroundSeriesS3e18(Competition):
    name = "playground-series-s3e18"
    id = "id"
    targets = ("EC1", "EC2")

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(read_exactly(raw / "train.csv"), test_size=0.1)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test.drop(columns=[f"EC{number}" for number in range(1, 7)])),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(EC1=0.5, EC2=0.5)),
            "private/test.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", *self.targets)
        predicted, true = align(submission, answers, "id")
        columns = list(self.targets)
        return metrics.roc_auc_score(true[columns].to_numpy(), predicted[columns].to_numpy(), average="macro")

    def test_the_sample_has_its_columns_in_the_raw_order(self, raw: Path) -> None:
        columns = ["EC2", *(f"f{number}" for number in range(31)), "EC1", "id", "EC3", "EC4", "EC5", "EC6"]
        write_file(raw / "train.csv", to_csv(pd.DataFrame({name: range(20) for name in columns})))
        test = split(pd.DataFrame({"id": range(20)}), test_size=0.1)[1]
        sample = "EC2,EC1,id\n" + "".join(f"0.5,0.5,{id}\n" for id in test["id"])
        assert prepare_raw(self.name, raw)["public/sample_submission.csv"].decode() == sample
