from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, prepare_raw, read_tree, split, to_csv, write_file
from graders import roc_auc


class TestSetiBreakthroughListen(Competition):
    name = "seti-breakthrough-listen"
    id = "id"
    targets = ("target",)

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train_labels.csv"), test_size=0.1)
        return {
            "public/train_labels.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(target=0.5)),
            "private/test.csv": to_csv(test),
            **{
                f"public/{side}/{id[0]}/{id}.npy": (raw / "train" / id[0] / f"{id}.npy").read_bytes()
                for side, table in (("train", train), ("test", test))
                for id in table["id"]
            },
            **{f"public/old_leaky_data/{path}": content for path, content in read_tree(raw / "old_leaky_data").items()},
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "id", "target")

    def test_ids_of_digits_further_columns_and_empty_folders_are_kept(self, raw: Path) -> None:
        ids = ["007", "1e3", *(f"{number:x}f" for number in range(18))]
        labels = pd.DataFrame({"target": [0, 1] * 10, "id": ids, "note": "x"})
        write_file(raw / "train_labels.csv", to_csv(labels))
        for id in ids:
            write_file(raw / "train" / id[0] / f"{id}.npy", id.encode())
        (raw / "old_leaky_data/a/empty").mkdir(parents=True)
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert "public/old_leaky_data/a/empty/" in files

    def test_the_old_data_must_be_there(self, raw: Path) -> None:
        write_file(raw / "train_labels.csv", b"id,target\na,0\nb,1\n")
        for id in "ab":
            write_file(raw / "train" / id / f"{id}.npy")
        with pytest.raises(FileNotFoundError, match="old_leaky_data"):
            prepare_raw(self.name, raw)
