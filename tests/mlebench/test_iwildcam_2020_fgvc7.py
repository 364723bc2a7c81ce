import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, copy_files, prepare_raw, split, to_csv, write_file
from graders import accuracy

TRAIN = "iwildcam2020_train_annotations.json"
TEST = "iwildcam2020_test_information.json"
DETECTIONS = "iwildcam2020_megadetector_results.json"


class TestIwildcam2020Fgvc7(Competition):
    name = "iwildcam-2020-fgvc7"
    id = "Id"
    targets = ("Category",)
    predictions = "class"
    fixed_changes = ("public/sample_submission.csv", "private/answers.csv")

    def prepare_reference(self, raw: Path) -> Files:
        content, information = (json.loads((raw / name).read_bytes()) for name in (TRAIN, TEST))
        images, annotations = pd.DataFrame(content["images"]), pd.DataFrame(content["annotations"])
        kept, moved = (list(side) for side in split(images["location"].unique(), test_size=0.22))

        def share() -> float:
            count = images["location"].isin(moved).sum()
            return count / (len(images) + count)

        while share() < 0.22:
            moved.append(kept.pop())
        while share() > 0.22:
            kept.append(moved.pop())
        train, test = (images[images["location"].isin(side)] for side in (kept, moved))
        of_train, of_test = (annotations[annotations["image_id"].isin(side["id"])] for side in (train, test))
        answers = pd.DataFrame({"Id": of_test["image_id"], "Category": of_test["category_id"]})
        np.random.seed(0)
        sample = answers.assign(Category=np.random.randint(0, 676, len(answers)))
        train_content = {
            "annotations": of_train.to_dict("records"),
            "images": train.to_dict("records"),
            "categories": pd.DataFrame(content["categories"]).to_dict("records"),
            "info": content["info"],
        }
        test_content = {
            "images": test.to_dict("records"),
            "categories": pd.DataFrame(information["categories"]).to_dict("records"),
            "info": information["info"],
        }
        return {
            f"public/{TRAIN}": json.dumps(train_content).encode(),
            f"public/{TEST}": json.dumps(test_content).encode(),
            f"public/{DETECTIONS}": (raw / DETECTIONS).read_bytes(),
            "public/sample_submission.csv": to_csv(sample),
            "private/answers.csv": to_csv(answers),
            **copy_files(raw / "train", "public/train", train["id"] + ".jpg"),
            **copy_files(raw / "train", "public/test", test["id"] + ".jpg"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "Id", "Category")

    def test_fixed_has_one_answer_per_image(self, miniatures: Miniatures) -> None:
        v1, fixed = (
            pd.read_csv(miniatures.prepared(self.name, edition).private / "answers.csv") for edition in ("v1", "fixed")
        )
        assert v1["Id"].duplicated().any()
        assert not fixed["Id"].duplicated().any()
        assert fixed.equals(v1.groupby("Id", sort=False, as_index=False).first())

    @pytest.mark.parametrize("lacking", ["frame", "location"])
    def test_incomplete_records_go_through_pandas(self, raw: Path, lacking: str) -> None:
        """Fields that some records lack are NaN, and whole numbers next to them get a decimal."""
        images, annotations = [], []
        for number in range(60):
            image = {"id": f"i{number}", "location": number % 17 if number < 40 else 3, "frame": number}
            if number % 5 == 0:
                image["corrupt"] = True
            if number % 7 == 0:
                del image[lacking]
            images.append(image)
            annotations.append({"image_id": f"i{number}", "category_id": number % 4, "box": [0.5, 1]})
            if number % 9 == 0:
                annotations.append({"id": None, "image_id": f"i{number}", "category_id": 7})
            write_file(raw / f"train/i{number}.jpg", b"%d" % number)
        info = {"é": [1.0, None]}
        categories = [{"id": 1, "name": "é"}, {"id": 2, "count": 5}]
        train = {"info": info, "categories": categories, "images": images, "annotations": annotations}
        test = {"info": {}, "categories": categories[:1], "images": []}
        for name, content in ((TRAIN, train), (TEST, test), (DETECTIONS, "any")):
            write_file(raw / name, json.dumps(content, ensure_ascii=False).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
