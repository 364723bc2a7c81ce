"""Nine competitions, taxi fares to May 2022: `v1` writes the published bytes, `fixed` mends what it says it mends.

What is expected is worked out here with scikit-learn's splitter and plain pandas from the rules that the published
preparation was seen to follow, and with nothing of ours.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from assay.data.job import run_prepare, run_synthesize
from assay.tasks import Registry

TAXI = "new-york-city-taxi-fare-prediction"
CONDUCTORS = "nomad2018-predict-transparent-conductors"
LEAVES = "plant-pathology-2020-fgvc7"
PIZZA = "random-acts-of-pizza"
CATHETERS = "ranzcr-clip-catheter-line-classification"
MELANOMA = "siim-isic-melanoma-classification"
AUTHORS = "spooky-author-identification"
FOREST = "tabular-playground-series-dec-2021"
MAY = "tabular-playground-series-may-2022"

Files = dict[str, bytes]
split = partial(train_test_split, random_state=0)


def taxi(raw: Path) -> Files:
    train, test = split(pd.read_csv(raw / "train.csv"), test_size=9914)
    return {
        "public/labels.csv": csv(train),
        "public/test.csv": csv(test.drop(columns="fare_amount")),
        "public/sample_submission.csv": csv(test[["key"]].assign(fare_amount=11.35)),
        "public/GCP-Coupons-Instructions.rtf": (raw / "GCP-Coupons-Instructions.rtf").read_bytes(),
        "private/test.csv": csv(test),
    }


def conductors(raw: Path) -> Files:
    table, places = unzipped(raw / "train.csv.zip"), unzipped(raw / "train.zip")
    files: Files = {}
    sides = split(pd.read_csv(io.BytesIO(table["train.csv"])), test_size=0.1)
    for name, side in zip(("train", "test"), sides, strict=True):
        for number, old in enumerate(side["id"], 1):
            files[f"public/{name}/{number}/geometry.xyz"] = places[f"train/{old}/geometry.xyz"]
        side["id"] = range(1, len(side) + 1)
    train, test = sides
    targets = ["formation_energy_ev_natom", "bandgap_energy_ev"]
    return files | {
        "public/train.csv": csv(train),
        "public/test.csv": csv(test.drop(columns=targets)),
        "public/sample_submission.csv": csv(
            pd.DataFrame({"id": test["id"], targets[0]: 0.1779, targets[1]: 1.8892}),
        ),
        "private/test.csv": csv(test),
    }


def leaves(raw: Path) -> Files:
    files: Files = {}
    sides = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
    for name, side in zip(("Train", "Test"), sides, strict=True):
        new = [f"{name}_{number}" for number in range(len(side))]
        for old, fresh in zip(side["image_id"], new, strict=True):
            files[f"public/images/{fresh}.jpg"] = (raw / "images" / f"{old}.jpg").read_bytes()
        side["image_id"] = new
    train, test = sides
    quarter = dict.fromkeys(["healthy", "multiple_diseases", "rust", "scab"], 0.25)
    return files | {
        "public/train.csv": csv(train),
        "public/test.csv": csv(test[["image_id"]]),
        "public/sample_submission.csv": csv(test[["image_id"]].assign(**quarter)),
        "private/test.csv": csv(test),
    }


def pizza(raw: Path) -> Files:
    requests, kaggle_test = (json.loads((raw / f"{name}.json").read_text()) for name in ("train", "test"))
    train, test = split(requests, test_size=len(kaggle_test) / (len(requests) + len(kaggle_test)))
    shown = [{field: request[field] for field in kaggle_test[0]} for request in test]
    answers = pd.DataFrame(test)[["request_id", "requester_received_pizza"]].astype({"requester_received_pizza": int})
    files = {
        "public/train.json": json.dumps(train, indent=4).encode(),
        "public/test.json": json.dumps(shown, indent=4).encode(),
        "public/sampleSubmission.csv": csv(answers.assign(requester_received_pizza=0)),
        "private/test.csv": csv(answers),
    }
    zipped = {f"public/{name}.zip/{name}.json": files[f"public/{name}.json"] for name in ("train", "test")}
    return files | zipped


def catheters(raw: Path) -> Files:
    studies, annotations = (pd.read_csv(raw / name) for name in ("train.csv", "train_annotations.csv"))
    train, test = split(studies, test_size=0.1)
    files = {
        f"public/{name}/{study}.jpg": (raw / "train" / f"{study}.jpg").read_bytes()
        for name, side in (("train", train), ("test", test))
        for study in side["StudyInstanceUID"]
    }
    scored = dict.fromkeys(studies.columns[1:10], 0)
    return files | {
        "public/train.csv": csv(train),
        "public/train_annotations.csv": csv(annotations.query("StudyInstanceUID in @train.StudyInstanceUID")),
        "public/sample_submission.csv": csv(test[["StudyInstanceUID"]].assign(**scored)),
        "private/test.csv": csv(test),
    }


def melanoma(raw: Path) -> Files:
    held_out = [raw / "tfrecords" / f"train{number}-2071.tfrec" for number in ("00", "06")]
    names = {name for path in held_out for name in image_names(path.read_bytes())}
    lesions = pd.read_csv(raw / "train.csv")
    files = {
        "public/tfrecords/test00-2071.tfrec": held_out[0].read_bytes(),
        "public/tfrecords/test01-2071.tfrec": held_out[1].read_bytes(),
        "public/tfrecords/train00-2071.tfrec": (raw / "tfrecords/train01-2071.tfrec").read_bytes(),
        "public/tfrecords/train01-2061.tfrec": (raw / "tfrecords/train15-2061.tfrec").read_bytes(),
    }
    for name in lesions["image_name"]:
        side = "test" if name in names else "train"
        files[f"public/{side}/{name}.dcm"] = (raw / "train" / f"{name}.dcm").read_bytes()
        files[f"public/jpeg/{side}/{name}.jpg"] = (raw / "jpeg/train" / f"{name}.jpg").read_bytes()
    test = lesions[lesions["image_name"].isin(names)]
    return files | {
        "public/train.csv": csv(lesions.drop(index=test.index)),
        "public/test.csv": csv(test.iloc[:, :5]),
        "public/sample_submission.csv": csv(test[["image_name"]].assign(target=0)),
        "private/test.csv": csv(test[["image_name", "target"]]),
    }


def authors(raw: Path) -> Files:
    train, test = split(pd.read_csv(io.BytesIO(unzipped(raw / "train.zip")["train.csv"])), test_size=0.1)
    shares = {"EAP": 0.403493538995863, "HPL": 0.287808366106543, "MWS": 0.308698094897594}
    return {
        "public/train.csv": csv(train),
        "public/test.csv": csv(test[["id", "text"]]),
        "public/sample_submission.csv": csv(test[["id"]].assign(**shares)),
        "private/test.csv": csv(test[["id"]].join(pd.get_dummies(test["author"], dtype=int))),
    }


def forest(raw: Path) -> Files:
    train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
    return {
        "public/train.csv": csv(train),
        "public/test.csv": csv(test.drop(columns="Cover_Type")),
        "public/sample_submission.csv": csv(test[["Id"]].assign(Cover_Type=2)),
        "private/test.csv": csv(test),
    }


def may(raw: Path) -> Files:
    train, test = split(pd.read_csv(raw / "train.csv"), test_size=100_000)
    train["id"] = range(len(train))
    test["id"] = range(len(train), len(train) + len(test))
    return {
        "public/train.csv": csv(train),
        "public/test.csv": csv(test.drop(columns="target")),
        "public/sample_submission.csv": csv(test[["id"]].assign(target=0.5)),
        "private/test.csv": csv(test),
        "private/gold_submission.csv": csv(test[["id", "target"]]),
    }


EXPECTED: dict[str, Callable[[Path], Files]] = {
    TAXI: taxi,
    CONDUCTORS: conductors,
    LEAVES: leaves,
    PIZZA: pizza,
    CATHETERS: catheters,
    MELANOMA: melanoma,
    AUTHORS: authors,
    FOREST: forest,
    MAY: may,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_v1_writes_the_published_files_and_no_others(name: str, tmp_path: Path) -> None:
    expected = EXPECTED[name](synthetic(name, tmp_path))
    found = prepared(name, "v1", tmp_path)
    assert sorted(found) == sorted(expected)
    assert [file for file in expected if found[file] != expected[file]] == []


@pytest.mark.parametrize("name", [TAXI, CONDUCTORS, LEAVES, AUTHORS, FOREST])
def test_fixed_prepares_the_same_files_where_only_the_grader_is_mended(name: str, tmp_path: Path) -> None:
    synthetic(name, tmp_path)
    assert prepared(name, "fixed", tmp_path) == prepared(name, "v1", tmp_path)


def test_fixed_pizza_requests_do_not_name_a_giver(tmp_path: Path) -> None:
    synthetic(PIZZA, tmp_path)
    published, mended = (prepared(PIZZA, edition, tmp_path) for edition in ("v1", "fixed"))
    changed = {name for name in published if mended[name] != published[name]}
    assert changed == {f"public/{side}{form}" for side in ("train", "test") for form in (".json", f".zip/{side}.json")}
    for name in changed:
        requests = json.loads(published[name])
        assert any(request["giver_username_if_known"] != "N/A" for request in requests)
        assert json.loads(mended[name]) == [
            {field: value for field, value in request.items() if field != "giver_username_if_known"}
            for request in requests
        ]


def test_fixed_catheters_keep_patients_apart_and_ask_for_all_labels(tmp_path: Path) -> None:
    synthetic(CATHETERS, tmp_path)
    published, mended = (prepared(CATHETERS, edition, tmp_path) for edition in ("v1", "fixed"))
    assert shared_patients(published)
    assert not shared_patients(mended)
    train, test, sample = (
        table(mended[name]) for name in ("public/train.csv", "private/test.csv", "public/sample_submission.csv")
    )
    assert sorted([*train["StudyInstanceUID"], *test["StudyInstanceUID"]]) == sorted(
        table((tmp_path / "raw/train.csv").read_bytes())["StudyInstanceUID"]
    )
    assert list(sample.columns) == list(test.columns[:12])
    assert list(sample["StudyInstanceUID"]) == list(test["StudyInstanceUID"])
    shown = {Path(name).stem for name in mended if name.startswith("public/test/")}
    assert shown == set(test["StudyInstanceUID"])
    assert set(table(mended["public/train_annotations.csv"])["StudyInstanceUID"]) <= set(train["StudyInstanceUID"])


def test_fixed_melanoma_records_of_test_images_hold_no_label(tmp_path: Path) -> None:
    synthetic(MELANOMA, tmp_path)
    published, mended = (prepared(MELANOMA, edition, tmp_path) for edition in ("v1", "fixed"))
    changed = sorted(name for name in published if mended[name] != published[name])
    assert changed == ["public/tfrecords/test00-2071.tfrec", "public/tfrecords/test01-2071.tfrec"]
    assert sorted(mended) == sorted(published)
    for name in changed:
        for word in (b"target", b"diagnosis"):
            assert word in published[name]
            assert word not in mended[name]
        assert image_names(mended[name]) == image_names(published[name])
        pictures = (mended[f"public/jpeg/test/{image}.jpg"] for image in image_names(mended[name]))
        assert all(picture in mended[name] for picture in pictures)


def synthetic(name: str, tmp_path: Path) -> Path:
    raw = tmp_path / "raw"
    raw.mkdir()
    run_synthesize(Registry().task(f"mlebench/{name}"), 20_260, raw)
    return raw


def prepared(name: str, edition: str, tmp_path: Path) -> Files:
    """Every file of the prepared task by its path; a zip file counts as a folder of its members."""
    place = tmp_path / edition
    for part in ("public", "private"):
        (place / part).mkdir(parents=True)
    task = Registry().task(f"mlebench/{name}")
    run_prepare(task, edition, raw=tmp_path / "raw", public=place / "public", private=place / "private")
    files: Files = {}
    for path in place.rglob("*"):
        here = path.relative_to(place).as_posix()
        if path.suffix == ".zip":
            files |= {f"{here}/{member}": content for member, content in unzipped(path).items()}
        elif path.is_file():
            files[here] = path.read_bytes()
    return files


def folder(name: str) -> Path:
    return Registry().task(f"mlebench/{name}").folder


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def table(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content))


def unzipped(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def image_names(record: bytes) -> list[str]:
    return [name.decode() for name in re.findall(rb"ISIC_\d{7}", record)]


def shared_patients(files: Files) -> set[str]:
    train, test = (set(table(files[name])["PatientID"]) for name in ("public/train.csv", "private/test.csv"))
    return train & test
