import re
from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, read_inexactly, read_prepared, to_csv, write_file
from graders import roc_auc

from assay.formats import tfrecord

HEADER = "image_name,patient_id,sex,age_approx,anatom_site_general_challenge,diagnosis,benign_malignant,target"


class TestSiimIsicMelanomaClassification(Competition):
    name = "siim-isic-melanoma-classification"
    id = "image_name"
    targets = ("target",)
    fixed_changes = ("public/tfrecords/test0?-2071.tfrec",)

    def prepare_reference(self, raw: Path) -> Files:
        records = {path.name: path.read_bytes() for path in (raw / "tfrecords").iterdir()}
        held_out = [records[f"train{number}-2071.tfrec"] for number in ("00", "06")]
        names = {name for record in held_out for name in image_names(record)}
        lesions = read_inexactly(raw / "train.csv")
        files = {
            "public/tfrecords/test00-2071.tfrec": held_out[0],
            "public/tfrecords/test01-2071.tfrec": held_out[1],
            "public/tfrecords/train00-2071.tfrec": records["train01-2071.tfrec"],
            "public/tfrecords/train01-2061.tfrec": records["train15-2061.tfrec"],
        }
        for name in lesions["image_name"]:
            side = "test" if name in names else "train"
            files[f"public/{side}/{name}.dcm"] = (raw / "train" / f"{name}.dcm").read_bytes()
            files[f"public/jpeg/{side}/{name}.jpg"] = (raw / "jpeg/train" / f"{name}.jpg").read_bytes()
        test = lesions[lesions["image_name"].isin(names)]
        return files | {
            "public/train.csv": to_csv(lesions.drop(index=test.index)),
            "public/test.csv": to_csv(test.iloc[:, :5]),
            "public/sample_submission.csv": to_csv(test[["image_name"]].assign(target=0)),
            "private/test.csv": to_csv(test[["image_name", "target"]]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "image_name", "target")

    def test_fixed_records_of_test_images_hold_no_label(self, miniatures: Miniatures) -> None:
        v1, fixed = (read_prepared(miniatures.prepared(self.name, edition)) for edition in ("v1", "fixed"))
        for path in ("public/tfrecords/test00-2071.tfrec", "public/tfrecords/test01-2071.tfrec"):
            for word in (b"target", b"diagnosis"):
                assert word in v1[path]
                assert word not in fixed[path]
            assert image_names(fixed[path]) == image_names(v1[path])
            assert all(fixed[f"public/jpeg/test/{name}.jpg"] in fixed[path] for name in image_names(fixed[path]))

    def test_the_two_records_of_test_images_must_be_there(self, raw: Path) -> None:
        write_file(raw / "train.csv", f"{HEADER}\na,a,a,a,a,a,a,a\n".encode())
        write_file(raw / "tfrecords/train00-2071.tfrec", b"")
        with pytest.raises(FileNotFoundError, match="train06-2071"):
            prepare_raw(self.name, raw)

    def test_image_folders_exist_even_if_nothing_is_left_to_train_on(self, raw: Path) -> None:
        rows = "I_1,P,male,45,,unknown,benign,0\nI_2,P,NA,50,torso,unknown,benign,1\n"
        write_file(raw / "train.csv", f"{HEADER}\n{rows}".encode())
        for name, record in (("I_1", "train00-2071"), ("I_2", "train06-2071")):
            tfrecord.write(raw / f"tfrecords/{record}.tfrec", [{"image_name": [name.encode()]}])
            write_file(raw / f"train/{name}.dcm")
            write_file(raw / f"jpeg/train/{name}.jpg")
        files = prepare_raw(self.name, raw)
        assert files["public/train.csv"].decode() == f"{HEADER}\n"
        assert files["private/test.csv"] == b"image_name,target\nI_1,0\nI_2,1\n"
        assert files["public/test.csv"].decode().splitlines()[1:] == ["I_1,P,male,45,", "I_2,P,,50,torso"]
        assert {path for path in files if path.endswith("/")} == {"public/train/", "public/jpeg/train/"}


def image_names(record: bytes) -> list[str]:
    return [name.decode() for name in re.findall(rb"ISIC_\d{7}", record)]
