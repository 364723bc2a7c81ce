import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, read_archive, split, to_csv
from graders import require, require_columns
from sklearn import metrics

from assay.core.errors import SourceError
from assay.formats import seven_zip
from assay.grading import grade_submission


class TestStatoilIcebergClassifierChallenge(Competition):
    name = "statoil-iceberg-classifier-challenge"
    id = "id"
    targets = ("is_iceberg",)

    def prepare_reference(self, raw: Path) -> Files:
        images = json.loads(read_archive(raw / "train.json.7z")["data/processed/train.json"])
        fields = json.loads(read_archive(raw / "test.json.7z")["data/processed/test.json"])[0]
        train, test = split(images, test_size=0.2)
        labels = [int(image["is_iceberg"]) for image in test]
        answers = pd.DataFrame({"id": [image["id"] for image in test], "is_iceberg": labels})
        sample = to_csv(answers.assign(is_iceberg=0.5))
        public = [{field: image[field] for field in fields} for image in test]
        return {
            "public/train.json.7z/train.json": json.dumps(train).encode(),
            "public/test.json.7z/test.json": json.dumps(public).encode(),
            "public/sample_submission.csv.7z/sample_submission.csv": sample,
            "private/sample_submission.csv": sample,
            "private/test.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "is_iceberg")
        require(set(submission["id"]) == set(answers["id"]))
        require(bool(((submission["is_iceberg"] >= 0) & (submission["is_iceberg"] <= 1)).all()))
        predicted, true = submission.sort_values("id"), answers.sort_values("id")
        return metrics.log_loss(true["is_iceberg"], predicted["is_iceberg"])

    def test_objects_keep_their_fields_and_numbers(self, raw: Path) -> None:
        images = [
            {"id": f"é{number}", "is_iceberg": number % 2, "inc_angle": 0.1 + number, "band_1": [1, -2.50, 1e-7]}
            for number in range(20)
        ]
        images[3] = dict(reversed(images[3].items()))
        write_json(raw, "train", json.dumps(images, indent=1))
        write_json(raw, "test", " [ " + json.dumps({"band_1": ["x" * 3_000_000], "id": "t", "inc_angle": "na"}) + "]")
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert list(json.loads(files["public/test.json.7z/test.json"])[0]) == ["band_1", "id", "inc_angle"]

    def test_a_test_file_without_objects_is_damaged(self, raw: Path) -> None:
        write_json(raw, "train", json.dumps([{"id": "a", "is_iceberg": 0}, {"id": "b", "is_iceberg": 1}]))
        write_json(raw, "test", "[]")
        with pytest.raises(SourceError, match=r"test\.json is not a JSON list of objects"):
            prepare_raw(self.name, raw)

    @pytest.mark.parametrize(("edition", "cost"), (("v1", 36.04365338911715), ("fixed", 34.538776394910684)))
    def test_fixed_clips_as_kaggle_does(self, miniatures: Miniatures, edition: str, cost: float) -> None:
        """One confident mistake among n images costs -ln(1e-15) / n, and -ln(2.2e-16) / n in v1."""
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "test.csv")
        perfect = grade_submission(to_csv(answers), prepared, home=miniatures.home)
        assert perfect.score == 0
        answers.loc[0, "is_iceberg"] = 1 - answers.loc[0, "is_iceberg"]
        grade = grade_submission(to_csv(answers), prepared, home=miniatures.home)
        assert grade.score == pytest.approx(cost / len(answers), abs=1e-5)


def write_json(raw: Path, side: str, content: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_text(content, encoding="utf-8")
        seven_zip.pack(raw / f"{side}.json.7z", [(f"data/processed/{side}.json", path)])
