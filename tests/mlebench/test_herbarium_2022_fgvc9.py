import json
from pathlib import Path

import pandas as pd
from coco_split import split_by_category, to_json, with_pairs
from competition import Competition, Files, prepare_raw, to_csv, write_file
from graders import macro_f1


class TestHerbarium2022Fgvc9(Competition):
    name = "herbarium-2022-fgvc9"
    id = "Id"
    targets = ("Predicted",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        metadata = json.loads((raw / "train_metadata.json").read_bytes())
        train, test = split_by_category(metadata, 0.2, min_random=2)
        files: Files = {}
        counts: dict[int, int] = {}
        renamed, images = [], []
        for annotation, image in train:
            category = annotation["category_id"]
            counts[category] = counts.get(category, 0) + 1
            id = f"{category:05d}__{counts[category]:03d}"
            name = f"{category // 100:03d}/{category % 100:02d}/{id}.jpg"
            files[f"public/train_images/{name}"] = (raw / "train_images" / image["file_name"]).read_bytes()
            renamed.append((annotation | {"image_id": id}, image | {"image_id": id, "file_name": name}))
        for number, (_, image) in enumerate(test):
            name = f"{number // 1000:03d}/test-{number:06d}.jpg"
            files[f"public/test_images/{name}"] = (raw / "train_images" / image["file_name"]).read_bytes()
            images.append(image | {"image_id": str(number), "file_name": name})
        answers = pd.DataFrame({"Id": range(len(test)), "Predicted": [pair[0]["category_id"] for pair in test]})
        return files | {
            "public/train_metadata.json": with_pairs(metadata, renamed),
            "public/test_metadata.json": to_json(images),
            "public/sample_submission.csv": to_csv(answers.assign(Predicted=42)),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return macro_f1(submission, answers, "Id", "Predicted")

    def test_other_keys_and_fields_pass_through(self, raw: Path) -> None:
        images = [{"image_id": number, "file_name": f"{number}.jpg", "x": None} for number in range(4)]
        annotations = [{"image_id": number, "category_id": 123456, "y": [0.1]} for number in range(4)]
        write_file(
            raw / "train_metadata.json", json.dumps({"z": "ü", "images": images, "annotations": annotations}).encode()
        )
        for image in images:
            write_file(raw / "train_images" / str(image["file_name"]))
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
