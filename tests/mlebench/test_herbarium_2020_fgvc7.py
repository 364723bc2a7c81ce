import json
from pathlib import Path

import pandas as pd
import pytest
from coco_split import split_by_category, to_json, with_pairs
from competition import Competition, Files, prepare_raw, to_csv, write_file
from graders import macro_f1

from assay.core.errors import SourceError


class TestHerbarium2020Fgvc7(Competition):
    name = "herbarium-2020-fgvc7"
    id = "Id"
    targets = ("Predicted",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        folder = raw / "nybg2020/train"
        metadata = json.loads((folder / "metadata.json").read_bytes().decode("latin-1"))
        train, test = split_by_category(metadata, 0.2)
        files, images = {}, []
        for _, image in train:
            files[f"public/nybg2020/train/{image['file_name']}"] = (folder / image["file_name"]).read_bytes()
        for number, (_, image) in enumerate(test):
            name = f"images/{number // 1000:03d}/{number}.jpg"
            files[f"public/nybg2020/test/{name}"] = (folder / image["file_name"]).read_bytes()
            images.append({**image, "id": str(number), "file_name": name})
        answers = pd.DataFrame({"Id": range(len(test)), "Predicted": [pair[0]["category_id"] for pair in test]})
        public_test = {"images": images, "info": metadata["info"], "licenses": metadata["licenses"]}
        return files | {
            "public/nybg2020/train/metadata.json": with_pairs(metadata, train),
            "public/nybg2020/test/metadata.json": to_json(public_test),
            "public/sample_submission.csv": to_csv(answers.assign(Predicted=0)),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return macro_f1(submission, answers, "Id", "Predicted")

    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
    def test_metadata_in_any_encoding_is_decoded_as_latin_1(self, raw: Path, encoding: str) -> None:
        metadata = write_specimens(raw / "nybg2020", ["é", "ü"], encoding)
        prepared = prepare_raw(self.name, raw)
        assert prepared == self.prepare_reference(raw)
        escaped = rb"\u00c3\u00a9" if encoding == "utf-8" else rb"\u00e9"
        assert escaped in prepared["public/nybg2020/train/metadata.json"]
        assert metadata["info"]["text"] == "éü"

    def test_a_species_has_a_folder_even_if_the_files_of_its_images_are_elsewhere(self, raw: Path) -> None:
        metadata = write_specimens(raw / "nybg2020", ["a"], "utf-8")
        metadata["images"].append({"id": 7, "file_name": "images/000/07/7.jpg"})
        metadata["annotations"].append({"image_id": 7, "category_id": 12345})
        write_file(raw / "nybg2020/train/images/000/07/7.jpg")
        write_file(raw / "nybg2020/train/metadata.json", to_json(metadata))
        empty = {"public/nybg2020/train/images/123/45/": b""}
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw) | empty

    def test_metadata_with_other_keys_is_refused(self, raw: Path) -> None:
        write_specimens(raw / "nybg2020", ["a"], "utf-8", contributors=[])
        with pytest.raises(SourceError, match="annotations, categories, contributors, images"):
            prepare_raw(self.name, raw)


def write_specimens(folder: Path, texts: list[str], encoding: str, **more: object) -> dict:
    """Write two images of one species, and a third that has no annotation."""
    images = [{"id": id, "file_name": f"images/000/07/{id}.jpg", "license": None} for id in (5, 6)]
    for image in images:
        write_file(folder / "train" / image["file_name"])
    metadata = {
        "images": images,
        "annotations": [{"image_id": id, "category_id": 7, "region_id": 1.0} for id in (5, 6)],
        "categories": [],
        "regions": [],
        "licenses": [],
        "info": {"text": "".join(texts)},
        **more,
    }
    text = json.dumps(metadata, ensure_ascii=False)
    write_file(folder / "train/metadata.json", text.encode(encoding))
    return metadata
