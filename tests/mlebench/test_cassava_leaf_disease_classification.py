import re
from pathlib import Path

import pandas as pd
from competition import (
    Competition,
    Files,
    Miniatures,
    copy_files,
    prepare_raw,
    read_prepared,
    split,
    to_csv,
    write_file,
)
from graders import accuracy

from assay.formats import tfrecord
from assay.grading import grade_submission


class TestCassavaLeafDiseaseClassification(Competition):
    name = "cassava-leaf-disease-classification"
    id = "image_id"
    targets = ("label",)
    predictions = "class"
    fixed_changes = ("public/test_tfrecords/ld_test0?-20.tfrec",)

    def prepare_reference(self, raw: Path) -> Files:
        records = split(sorted((raw / "train_tfrecords").glob("*.tfrec")), test_size=0.1)
        held_out = {name for path in records[1] for name in image_names(path.read_bytes())}
        labels = pd.read_csv(raw / "train.csv")
        train, test = labels[~labels["image_id"].isin(held_out)], labels[labels["image_id"].isin(held_out)]
        names = "label_num_to_disease_map.json"
        return {
            "public/train.csv": to_csv(train),
            "public/sample_submission.csv": to_csv(test.assign(label=4)),
            f"public/{names}": (raw / names).read_bytes(),
            "private/test.csv": to_csv(test),
            **copy_files(raw / "train_images", "public/train_images", train["image_id"]),
            **copy_files(raw / "train_images", "public/test_images", test["image_id"]),
            **{
                f"public/{side}_tfrecords/ld_{side}{number:02d}-{path.stem.split('-')[1]}.tfrec": path.read_bytes()
                for side, paths in zip(("train", "test"), records, strict=True)
                for number, path in enumerate(paths)
            },
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "image_id", "label")

    def test_names_keep_the_part_after_the_first_hyphen_and_unlisted_images_are_ignored(self, raw: Path) -> None:
        names = [f"{number}.jpg" for number in range(5)]
        write_file(raw / "train.csv", to_csv(pd.DataFrame({"image_id": names[:4], "label": range(4)})))
        write_file(raw / "label_num_to_disease_map.json", b"{}\r\n")
        write_file(raw / "train_tfrecords/readme.txt")
        for number, name in enumerate(names):
            write_file(raw / "train_images" / name, name.encode())
            record = [{"image_name": [name.encode()]}, {"image_name": [b"77.jpg"]}]
            tfrecord.write(raw / f"train_tfrecords/b{9 - number}-7-x{number}.tfrec", record)
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_records_of_test_images_hold_no_label(self, miniatures: Miniatures) -> None:
        v1, fixed = (read_prepared(miniatures.prepared(self.name, edition)) for edition in ("v1", "fixed"))
        paths = [path for path in v1 if path.startswith("public/test_tfrecords/")]
        assert len(paths) == 2
        for path in paths:
            assert b"target" in v1[path]
            assert b"target" not in fixed[path]
            assert image_names(fixed[path]) == image_names(v1[path])
            assert all(fixed[f"public/test_images/{name}"] in fixed[path] for name in image_names(fixed[path]))

    def test_the_answers_are_perfect_in_fixed(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        answers = (prepared.private / "test.csv").read_bytes()
        assert grade_submission(answers, prepared, home=miniatures.home).score == 1


def image_names(record: bytes) -> list[str]:
    return [name.decode() for name in re.findall(rb"\d+\.jpg", record)]
