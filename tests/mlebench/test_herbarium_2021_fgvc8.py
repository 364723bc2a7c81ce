import json
from pathlib import Path

import pandas as pd
from coco_split import split_by_category, to_json, with_pairs
from competition import Competition, Files, Miniatures, prepare_raw, read_prepared, to_csv, write_file
from graders import macro_f1


class TestHerbarium2021Fgvc8(Competition):
    name = "herbarium-2021-fgvc8"
    id = "Id"
    targets = ("Predicted",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        metadata = json.loads((raw / "train/metadata.json").read_bytes())
        train, test = split_by_category(metadata, 0.2)
        files, images = {}, []
        for _, image in train:
            files[f"public/train/{image['file_name']}"] = (raw / "train" / image["file_name"]).read_bytes()
        for number, (_, image) in enumerate(test):
            name = f"images/{number // 1000:03d}/{number}.jpg"
            files[f"public/test/{name}"] = (raw / "train" / image["file_name"]).read_bytes()
            images.append({**image, "id": str(number), "file_name": name})
        answers = pd.DataFrame({"Id": range(len(test)), "Predicted": [pair[0]["category_id"] for pair in test]})
        return files | {
            "public/train/metadata.json": with_pairs(metadata, train),
            "public/test/metadata.json": to_json(
                {key: metadata[key] for key in ("info", "licenses")} | {"images": images}
            ),
            "public/sample_submission.csv": to_csv(answers.assign(Predicted=0)),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return macro_f1(submission, answers, "Id", "Predicted")

    def test_images_without_an_annotation_are_dropped(self, miniatures: Miniatures, raw: Path) -> None:
        folder = miniatures.prepared(self.name).folder / "raw"
        metadata = json.loads((folder / "train/metadata.json").read_bytes())
        expected = read_prepared(miniatures.prepared(self.name))
        for image in metadata["images"]:
            write_file(raw / "train" / image["file_name"], (folder / "train" / image["file_name"]).read_bytes())
        metadata["images"].append({"id": "lost", "file_name": "images/lost.jpg"})
        write_file(raw / "train/metadata.json", json.dumps(metadata).encode())
        assert prepare_raw(self.name, raw) == expected
