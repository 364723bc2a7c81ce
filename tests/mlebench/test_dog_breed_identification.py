from pathlib import Path

import pandas as pd
from competition import Competition, Files, Miniatures, copy_files, find_task, prepare_raw, split, to_csv, write_file
from graders import log_loss, require_columns


class TestDogBreedIdentification(Competition):
    name = "dog-breed-identification"
    id = "id"
    targets = tuple(find_task(name).submission.columns)
    predictions = "distribution"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "labels.csv"), test_size=0.1)
        dummies = pd.get_dummies(test["breed"], dtype=int).reindex(columns=self.targets, fill_value=0)
        shares = pd.DataFrame(1 / 120, index=test.index, columns=self.targets)
        return {
            "public/labels.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(pd.concat([test["id"], shares], axis=1)),
            "private/test.csv": to_csv(pd.concat([test["id"], dummies], axis=1)),
            **copy_files(raw / "train", "public/train", train["id"] + ".jpg"),
            **copy_files(raw / "train", "public/test", test["id"] + ".jpg"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", *self.targets)
        return log_loss(submission, answers, "id", list(self.targets))

    def test_breeds_that_do_not_occur_have_their_columns(self, raw: Path) -> None:
        labels = pd.DataFrame({"id": [f"d{number}" for number in range(20)], "breed": ["pug", "beagle"] * 10})
        write_file(raw / "labels.csv", to_csv(labels))
        for id in labels["id"]:
            write_file(raw / f"train/{id}.jpg")
        files, test = prepare_raw(self.name, raw), split(labels, test_size=0.1)[1]
        header = ",".join(["id", *self.targets])
        rows = [",".join([id, *(str(int(name == breed)) for name in self.targets)]) for id, breed in test.to_numpy()]
        assert files["private/test.csv"].decode().splitlines() == [header, *rows]
        shares = [",".join([id, *["0.008333333333333333"] * 120]) for id in test["id"]]
        assert files["public/sample_submission.csv"].decode().splitlines() == [header, *shares]

    def test_fixed_divides_rows_by_their_sum_and_clips_as_kaggle_does(self, miniatures: Miniatures) -> None:
        targets = list(self.targets)
        halved = self.scores_after(miniatures, lambda table: table.assign(**table[targets] / 2))
        assert halved == {"v1": None, "fixed": 0}
        self.check_clipping(miniatures)
