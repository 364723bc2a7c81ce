import json
import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from coco_split import split_by_category, to_json, with_pairs
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    perturb,
    prepare_raw,
    read_archive,
    read_prepared,
    to_csv,
    write_file,
)
from graders import align, require_columns
from sklearn import metrics

from assay.core.errors import SourceError


class TestInaturalist2019Fgvc6(Competition):
    name = "inaturalist-2019-fgvc6"
    id = "id"
    targets = ("predicted",)
    predictions = "class"
    fixed_changes = ("public/train_val2019.tar.gz/*",)

    def prepare_reference(self, raw: Path) -> Files:
        metadata = json.loads((raw / "train2019.json").read_bytes())
        photos = read_archive(raw / "train_val2019.tar.gz")
        train, test = split_by_category(metadata, 0.12)
        files, images = {}, []
        for _, image in train:
            name = image["file_name"].removeprefix("train_val2019/")
            files[f"public/train_val2019.tar.gz/{name}"] = photos[image["file_name"]]
        for _, image in test:
            name = Path(image["file_name"]).name
            files[f"public/test2019.tar.gz/{name}"] = photos[image["file_name"]]
            images.append({**image, "file_name": f"test2019/{name}"})
        rows = [{"id": image["id"], "predicted": annotation["category_id"]} for annotation, image in test]
        answers = pd.DataFrame(rows)
        public_test = {"images": images, "info": metadata["info"], "licenses": metadata["licenses"]}
        return files | {
            "public/train2019.json": with_pairs(metadata, train),
            "public/test2019.json": to_json(public_test),
            "public/val2019.json": (raw / "val2019.json").read_bytes(),
            "public/kaggle_sample_submission.csv": to_csv(answers.assign(predicted=random.Random(42).randint(0, 1009))),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "predicted")
        predicted, true = align(submission, answers, "id")
        guesses = [int(cell) if isinstance(cell, int) else int(cell.split()[0]) for cell in predicted["predicted"]]
        return 1 - float(metrics.accuracy_score(true["predicted"].tolist(), guesses))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from perturb(table, draw)
        yield "several guesses", table.change(lambda row: {"predicted": f"{row['predicted']} 3 4"})
        yield "several guesses in some rows", table.change(lambda row: {"predicted": f"{row['predicted']} 3"}, [1, 5])
        yield "later guesses are words", table.change(lambda row: {"predicted": f" {row['predicted']}\tx 1.5"}, [0])
        yield "a blank cell next to words", table.change(lambda row: {"predicted": " "}, [0])

    def test_fixed_adds_the_validation_images(self, miniatures: Miniatures) -> None:
        raw = miniatures.prepared(self.name).folder / "raw"
        images = json.loads((raw / "val2019.json").read_bytes())["images"]
        names = {"public/train_val2019.tar.gz/" + image["file_name"].removeprefix("train_val2019/") for image in images}
        v1, fixed = (read_prepared(miniatures.prepared(self.name, edition)) for edition in ("v1", "fixed"))
        assert names
        assert not names & v1.keys()
        assert fixed.keys() - v1.keys() == names

    def test_unpacked_photos_are_used_without_the_archive(self, miniatures: Miniatures, raw: Path) -> None:
        source = miniatures.prepared(self.name).folder / "raw"
        for name, content in read_archive(source / "train_val2019.tar.gz").items():
            write_file(raw / name, content)
        for name in ("train2019.json", "val2019.json"):
            write_file(raw / name, (source / name).read_bytes())
        assert prepare_raw(self.name, raw) == self.prepare_reference(source)

    def test_two_test_photos_of_the_same_name_are_refused(self, raw: Path) -> None:
        names = [f"train_val2019/Plants/{category}/{name}.jpg" for category in (1, 2) for name in ("a", "b")]
        metadata = {
            "images": [{"id": id, "file_name": name} for id, name in enumerate(names)],
            "annotations": [{"image_id": id, "category_id": id // 2} for id in range(4)],
            "categories": [],
            "info": {},
            "licenses": [],
        }
        write_file(raw / "train2019.json", json.dumps(metadata).encode())
        write_file(raw / "val2019.json", b"{}")
        with pytest.raises(SourceError, match="two images of the same name"):
            prepare_raw(self.name, raw)
