"""Raw data unlike the miniatures: further columns, classes that are absent or unknown, odd files in archives.

What is expected comes from the published rules, worked out by hand or with pandas and scikit-learn.
"""

import csv
import io
import re
import struct
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.model_selection import train_test_split

from assay.core.errors import SourceError
from assay.data.job import run_prepare
from assay.formats import tfrecord
from assay.tasks import Registry

split = partial(train_test_split, random_state=0)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "raw").mkdir()
    return tmp_path / "raw"


def prepared(name: str, raw: Path, edition: str = "v1") -> dict[str, bytes]:
    """What the task's preparation writes, by path; an empty folder's path ends in `/`."""
    folder = raw.parent / edition
    for side in ("public", "private"):
        (folder / side).mkdir(parents=True)
    task = Registry().task(f"mlebench/{name}")
    run_prepare(task, edition, raw=raw, public=folder / "public", private=folder / "private")
    found = {}
    for path in folder.rglob("*"):
        place = path.relative_to(folder).as_posix()
        if path.is_file():
            found[place] = path.read_bytes()
        elif not any(path.iterdir()):
            found[f"{place}/"] = b""
    return found


def zipped(path: Path, members: Mapping[str, bytes | str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def written(path: Path, content: bytes = b"x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def text(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def png(level: int) -> bytes:
    content = io.BytesIO()
    Image.fromarray(np.full((2, 3), level, np.uint8)).save(content, "PNG")
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "table", "id", "target", "constant", "pictures", "share"),
    [
        ("aerial-cactus-identification", "train.csv", "id", "has_cactus", 0.5, None, 0.19),
        ("aptos2019-blindness-detection", "train.csv", "id_code", "diagnosis", 0, "train_images/{}.png", 0.1),
        ("histopathologic-cancer-detection", "train_labels.csv", "id", "label", 0, "train/{}.tif", 8 / 28),
    ],
)
def test_a_sample_submission_keeps_further_columns_and_their_order(
    name: str, table: str, id: str, target: str, constant: float, pictures: str | None, share: float, raw: Path
) -> None:
    ids = [f"p{number}" for number in range(20)]
    labels = [number % 2 for number in range(20)]
    frame = pd.DataFrame({"site": "a,b", target: labels, id: ids, "size": np.linspace(0, 1, 20)})
    written(raw / table, text(frame))
    zipped(raw / "train.zip", {f"train/{id}": id for id in ids})
    for path in [pictures.format(id) for id in ids] if pictures else []:
        written(raw / path)
    for number in range(8):
        written(raw / f"test/{number}.tif")
    test = split(frame, test_size=share)[1]
    if name.startswith("histo"):
        test = test.sort_index()
    assert prepared(name, raw)["public/sample_submission.csv"] == text(test.assign(**{target: constant}))


def test_breeds_that_do_not_occur_have_their_columns(raw: Path) -> None:
    breeds = list(Registry().task("mlebench/dog-breed-identification").submission.columns)
    labels = pd.DataFrame({"id": [f"d{number}" for number in range(20)], "breed": ["pug", "beagle"] * 10})
    written(raw / "labels.csv", text(labels))
    for id in labels["id"]:
        written(raw / f"train/{id}.jpg")
    files, test = prepared("dog-breed-identification", raw), split(labels, test_size=0.1)[1]
    header = ",".join(["id", *breeds])
    rows = [",".join([id, *(str(int(name == breed)) for name in breeds)]) for id, breed in test.to_numpy()]
    assert files["private/test.csv"].decode().splitlines() == [header, *rows]
    shares = [",".join([id, *["0.008333333333333333"] * 120]) for id in test["id"]]
    assert files["public/sample_submission.csv"].decode().splitlines() == [header, *shares]


def test_an_unlisted_species_gets_a_last_column(raw: Path) -> None:
    species = list(Registry().task("mlebench/leaf-classification").submission.columns)
    leaves = pd.DataFrame({"id": range(1, 21), "species": "Acer_Mono", "margin1": 0.5})
    strange = int(split(leaves, test_size=0.1)[1]["id"].iloc[1])
    leaves.loc[strange - 1, "species"] = "Nova"
    zipped(raw / "train.csv.zip", {"train.csv": text(leaves)})
    zipped(raw / "images.zip", {f"images/{id}.jpg": "x" for id in range(1, 23)})
    files = prepared("leaf-classification", raw)
    answers, sample = (
        [line.split(",") for line in files[name].decode().splitlines()]
        for name in ("private/test.csv", "public/sample_submission.csv")
    )
    assert answers[0] == sample[0] == ["id", *species, "Nova"]
    assert [row[-1] for row in answers[1:]] == [row[-1] for row in sample[1:]] == ["", "1.0"]
    assert [row[1:-1].count("1") for row in answers[1:]] == [1, 0]
    assert {value for row in sample[1:] for value in row[1:-1]} == {"0.010101010101010102"}
    assert files["private/images/"] == b""
    with pytest.raises(ValueError, match="classes that are not listed"):
        prepared("leaf-classification", raw, "fixed")


def test_an_unlisted_author_gets_a_last_column(raw: Path) -> None:
    sentences = pd.DataFrame({"id": [f"id{number}" for number in range(20)], "text": "t", "author": "EAP"})
    first, second = split(sentences, test_size=0.1)[1].index
    sentences.loc[second, "author"] = "XYZ"
    zipped(raw / "train.zip", {"train.csv": text(sentences)})
    files = prepared("spooky-author-identification", raw)
    answers = f"id,EAP,HPL,MWS,XYZ\nid{first},1,0,0,\nid{second},0,0,0,1.0\n"
    assert files["private/test.csv"].decode() == answers
    shares = "0.403493538995863,0.287808366106543,0.308698094897594"
    sample = f"id,EAP,HPL,MWS,XYZ\nid{first},{shares},\nid{second},{shares},1.0\n"
    assert files["public/sample_submission.csv"].decode() == sample


def test_what_else_the_archives_of_pages_hold_is_public_and_no_page(raw: Path) -> None:
    pages = [f"{number}.png" for number in (1, 10, 2, 3, 4)]
    others = {"train/deep/9.png": b"deep", "train/8.PNG": b"big", "__MACOSX/train/._1.png": b"junk", "both": b"first"}
    zipped(raw / "train.zip", {"train/": b"", **{f"train/{page}": page for page in pages}, **others})
    clean = {f"train_cleaned/{page}": png(place) for place, page in enumerate(pages)}
    zipped(raw / "train_cleaned.zip", {**clean, "train_cleaned/77.png": b"extra", "both": b"second"})
    train, test = split(sorted(pages), test_size=0.2)
    files = prepared("denoising-dirty-documents", raw)
    value = pages.index(test[0]) / 255
    ids = [f"{test[0].removesuffix('.png')}_{row}_{column}" for row in (1, 2) for column in (1, 2, 3)]
    assert files == {
        **{f"public/train/{page}": page.encode() for page in train},
        **{f"public/test/{page}": page.encode() for page in test},
        **{f"public/train_cleaned/{page}": clean[f"train_cleaned/{page}"] for page in train},
        **{f"public/{name}": content for name, content in others.items()},
        "public/train_cleaned/77.png": b"extra",
        "public/both": b"second",
        "public/sampleSubmission.csv": text(pd.DataFrame({"id": ids, "value": 1})),
        "private/answers.csv": text(pd.DataFrame({"id": ids, "value": value})),
    }
    mended = prepared("denoising-dirty-documents", raw, "fixed")
    assert not {f"public/{name}" for name in others} & mended.keys()


def test_only_photographs_directly_in_their_folder_count(raw: Path) -> None:
    photographs = [f"{kind}.{number}.jpg" for kind in ("cat", "dog") for number in range(10)]
    others = {"train/deep/cat.99.jpg": "x", "train/dog.98.JPG": "x", "__MACOSX/train/._cat.1.jpg": "x"}
    zipped(raw / "train.zip", {**{f"train/{name}": name for name in photographs}, **others})
    files = prepared("dogs-vs-cats-redux-kernels-edition", raw)
    test = split(sorted(photographs), test_size=0.1)[1]
    labels = pd.DataFrame({"id": [1, 2], "label": [int("dog" in name) for name in test]})
    assert files["private/answers.csv"] == text(labels)
    assert [files[f"public/test/{number}.jpg"].decode() for number in (1, 2)] == test
    assert sum(name.startswith("public/train/") for name in files) == 18


def test_the_places_of_atoms_are_found_under_any_name(raw: Path) -> None:
    targets = {"bandgap_energy_ev": 1.5, "formation_energy_ev_natom": 0.25}
    materials = pd.DataFrame({"id": range(1, 21), **targets})
    zipped(raw / "train.csv.zip", {"train.csv": text(materials)})
    places = {f"train/{id:03d}/atoms_{id}.xyz": str(id) for id in materials["id"]}
    zipped(raw / "train.zip", {**places, "train/5/deeper/geometry.xyz": "no", "train/6/readme.txt": "no"})
    files = prepared("nomad2018-predict-transparent-conductors", raw)
    for side, rows in zip(("train", "test"), split(materials, test_size=0.1), strict=True):
        found = [files[f"public/{side}/{new}/geometry.xyz"].decode() for new in range(1, len(rows) + 1)]
        assert found == [str(old) for old in rows["id"]]


def test_the_sample_of_the_enzymes_has_its_columns_in_the_raw_order(raw: Path) -> None:
    columns = ["EC2", *(f"f{number}" for number in range(31)), "EC1", "id", "EC3", "EC4", "EC5", "EC6"]
    written(raw / "train.csv", text(pd.DataFrame({name: range(20) for name in columns})))
    test = split(pd.DataFrame({"id": range(20)}), test_size=0.1)[1]
    sample = "EC2,EC1,id\n" + "".join(f"0.5,0.5,{id}\n" for id in test["id"])
    assert prepared("playground-series-s3e18", raw)["public/sample_submission.csv"].decode() == sample


def test_the_two_records_of_test_images_must_be_there(raw: Path) -> None:
    facts = ["image_name", "patient_id", "sex", "age_approx", "anatom_site_general_challenge"]
    lesions = pd.DataFrame({name: ["a"] for name in [*facts, "diagnosis", "benign_malignant", "target"]})
    written(raw / "train.csv", text(lesions))
    written(raw / "tfrecords/train00-2071.tfrec", b"")
    with pytest.raises(FileNotFoundError, match="train06-2071"):
        prepared("siim-isic-melanoma-classification", raw)


def test_folders_of_images_are_there_even_if_nothing_is_left_to_train_on(raw: Path) -> None:
    content = "image_name,patient_id,sex,age_approx,anatom_site_general_challenge,diagnosis,benign_malignant,target\n"
    written(
        raw / "train.csv", f"{content}I_1,P,male,45,,unknown,benign,0\nI_2,P,NA,50,torso,unknown,benign,1\n".encode()
    )
    for number, record in enumerate(("train00-2071", "train06-2071"), start=1):
        name = f"I_{number}"
        tfrecord.write(raw / f"tfrecords/{record}.tfrec", [{"image_name": [name.encode()]}])
        written(raw / f"train/{name}.dcm")
        written(raw / f"jpeg/train/{name}.jpg")
    files = prepared("siim-isic-melanoma-classification", raw)
    assert files["public/train.csv"].decode() == content
    assert files["private/test.csv"] == b"image_name,target\nI_1,0\nI_2,1\n"
    assert files["public/test.csv"].decode().splitlines()[1:] == ["I_1,P,male,45,", "I_2,P,,50,torso"]
    assert {name for name in files if name.endswith("/")} == {"public/train/", "public/jpeg/train/"}


def clip(day: int, number: int, ending: str = ".aif") -> str:
    return f"2009032{day}_000000_1s0ms_TRAIN{number}_{number % 2}{ending}"


def test_an_archive_of_whales_begins_with_its_folder(raw: Path) -> None:
    clips = [clip(day, number, ".AIF" if day == 9 else ".aif") for day in (6, 7, 8, 9) for number in (0, 1)]
    zipped(raw / "train2.zip", {f"train2/{name}": name for name in clips} | {"__MACOSX/train2/._x": "x"})
    files = prepared("the-icml-2013-whale-challenge-right-whale-redux", raw)
    with zipfile.ZipFile(io.BytesIO(files["public/test2.zip"])) as archive:
        folder, *members = archive.namelist()
        assert folder == "test2/" and archive.infolist()[0].is_dir()
        assert members == [f"test2/2009032{8 + n // 2}_000000_1s0ms_Test{n}.aif" for n in range(4)]
        assert [archive.read(name).decode() for name in members] == clips[4:]
        assert archive.testzip() is None
    assert re.findall(r",(.)\n", files["private/test.csv"].decode()) == ["0", "1", "0", "1"]


@pytest.mark.parametrize("names", [[clip(day, 0) for day in (1, 2, 3)], [clip(day, 0) for day in (1, 2, 3, 4, 5)],
                                   [*(clip(day, 0) for day in (1, 2, 3, 4)), ".DS_Store"],
                                   [*(clip(day, 0) for day in (1, 2, 3, 4)), clip(1, 1, ".AIF")]])  # fmt: skip
def test_whales_of_other_than_four_days_are_refused(names: list[str], raw: Path) -> None:
    zipped(raw / "train2.zip", dict.fromkeys([f"train2/{name}" for name in names], b""))
    with pytest.raises(SourceError, match="train2"):
        prepared("the-icml-2013-whale-challenge-right-whale-redux", raw)


@pytest.mark.parametrize("words", [["1", "02"], ["1.50", "2"], ["True", "FALSE"], ['6"', "a"], ["NA", ""]])
def test_tokens_that_pandas_takes_for_other_than_text_are_written_as_it_takes_them(words: list[str], raw: Path) -> None:
    rows = [f"{number},0,PLAIN,{words[number % 2]},word" for number in range(20)]
    content = "\r\n".join(["sentence_id,token_id,class,before,after", *rows])
    zipped(raw / "en_train.csv.zip", {"en_train.csv": content})
    files = prepared("text-normalization-challenge-english-language", raw)
    test = pd.read_csv(io.StringIO(content)).loc[lambda table: table["sentence_id"].isin(
        split(np.arange(20), test_size=0.1)[1])]  # fmt: skip
    expected = pd.DataFrame({"id": ["0_0", "1_0"], "after": test["before"].to_numpy()})
    assert files["private/sample_submission.csv"] == expected.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()


def test_tokens_with_columns_in_another_order_are_refused(raw: Path) -> None:
    zipped(
        raw / "ru_train.csv.zip", {"ru_train.csv": "sentence_id,token_id,before,class,after\n0,0,a,b,c\n1,0,a,b,c\n"}
    )
    with pytest.raises(SourceError, match=r"ru_train\.csv has the columns"):
        prepared("text-normalization-challenge-russian-language", raw)


def test_an_array_of_sounds_in_any_memory_order_is_saved_row_by_row(raw: Path) -> None:
    folder = raw / "timit_11/timit_11"
    folder.mkdir(parents=True)
    sounds = np.asfortranarray(np.arange(60, dtype=np.float32).reshape(20, 3))
    np.save(folder / "train_11.npy", sounds)
    np.save(folder / "train_label_11.npy", np.array([f"{number:02d}" for number in range(20)]))
    np.save(folder / "test_11.npy", sounds[:7])
    saved = prepared("ml2021spring-hw2", raw)["public/timit_11/timit_11/train_11.npy"]
    train = split(np.arange(20), test_size=7 / 27)[0]
    assert struct.unpack("<H", saved[8:10])[0] + 10 == 128
    assert b"'fortran_order': False" in saved[:128]
    assert saved[128:] == sounds[train].tobytes()


def insults(columns: str, *comments: str) -> str:
    return "".join(f"{line}\n" for line in (columns, *(f"{n % 2},,{said}" for n, said in enumerate(comments))))


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (insults("Insult,Comment,Date", "a,b"), insults("Insult,Date,Comment,Usage", "c,x", "d,x")),
        (insults("Insult,Date,Comment", "a"), insults("Insult,Date,Comment", "c", "d")),
        (insults("Insult,Date,Comment", "a", "b"), insults("Insult,Date,Comment,Usage", "a,x", "d,x")),
        (insults("Insult,Date,Comment", "a", "NA"), insults("Insult,Date,Comment,Usage", "c,x", "None,x")),
    ],
)
def test_insults_with_other_columns_or_comments_on_both_sides_are_refused(train: str, test: str, raw: Path) -> None:
    written(raw / "train.csv", train.encode())
    written(raw / "test_with_solutions.csv", test.encode())
    with pytest.raises(SourceError, match=r"train\.csv|test_with_solutions\.csv"):
        prepared("detecting-insults-in-social-commentary", raw)


@pytest.mark.parametrize(("test", "labels", "sample"), [("bc", "bd", "bc"), ("bc", "cb", "b"), ("ab", "ab", "ab")])
def test_toxic_comments_whose_ids_do_not_agree_are_refused(test: str, labels: str, sample: str, raw: Path) -> None:
    sides = {"train": "a", "test": test, "test_labels": labels, "sample_submission": sample}
    for name, ids in sides.items():
        zipped(raw / f"{name}.csv.zip", {f"{name}.csv": text(pd.DataFrame({"id": list(ids), "toxic": 0}))})
    with pytest.raises(SourceError, match="ids"):
        prepared("jigsaw-toxic-comment-classification-challenge", raw)


def test_pizza_requests_with_different_fields_are_refused(raw: Path) -> None:
    known = '{"request_id": "t3_1", "requester_received_pizza": true}'
    written(raw / "train.json", f'[{known}, {known}, {known[:-1]}, "more": 1}}]'.encode())
    written(raw / "test.json", b'[{"request_id": "t3_2"}]')
    with pytest.raises(SourceError, match="same fields"):
        prepared("random-acts-of-pizza", raw)


def test_a_further_column_is_refused_where_the_published_preparation_refuses_it(raw: Path) -> None:
    zipped(raw / "train.tsv.zip", {"train.tsv": "PhraseId\tSentenceId\tPhrase\tSentiment\tmore\n1\t1\ta\t2\tx\n"})
    with pytest.raises(SourceError, match=r"train\.tsv has the columns"):
        prepared("movie-review-sentiment-analysis-kernels-only", raw)
    written(raw / "train.csv", b"image_id,rust,scab,healthy,multiple_diseases,more\nTrain_0,1,0,0,0,x\n")
    with pytest.raises(SourceError, match=r"train\.csv has the columns"):
        prepared("plant-pathology-2020-fgvc7", raw.parent / "raw", "fixed")
