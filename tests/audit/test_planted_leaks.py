"""Leaks of each kind, planted into small data, are found by the check for them, and data without them is clean."""

import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, PngImagePlugin
from scipy.io import savemat

from assay.audit import duplicates, subject
from assay.audit.finding import AuditFinding
from assay.audit.nearest import copy_nearest_labels
from assay.audit.subject import Subject
from assay.audit.task_audit import audit_folder
from assay.core.progress import NoProgress
from assay.data.miniature import Miniature
from assay.formats import seven_zip, tfrecord
from assay.formats.dicom import read_header
from assay.formats.mat import clear_field, list_fields

ROWS = 120
WORDS = [
    "river",
    "stone",
    "lamp",
    "under",
    "green",
    "quick",
    "paper",
    "night",
    "cloud",
    "seven",
    "market",
    "window",
    "silver",
    "road",
    "garden",
]


class Data:
    """A folder with train.csv and test.csv, answers outside of it, and files for each row; nothing leaks."""

    def __init__(self, root: Path) -> None:
        self.draw = np.random.default_rng(7)
        self.folder, self.answers = root / "data", root / "answers.csv"
        self.folder.mkdir()
        self.ids = {side: self._hex_ids() for side in ("train", "test")}
        self.tables = {
            side: pd.DataFrame(
                {
                    "id": self.ids[side],
                    "age": self.draw.integers(20, 90, ROWS),
                    "height": self.draw.normal(170, 10, ROWS).round(6),
                    "text": [" ".join(self.draw.choice(WORDS, 12)) for _ in range(ROWS)],
                    "label": self.draw.integers(0, 2, ROWS),
                }
            )
            for side in ("train", "test")
        }

    @property
    def labels(self) -> "pd.Series[int]":
        return self.tables["test"]["label"]

    def add_files(self, suffix: str, content: Callable[[str, int], bytes]) -> None:
        """Write a file for each row of both sides; the content may depend on the side and the label."""
        for side, table in self.tables.items():
            (self.folder / side).mkdir(exist_ok=True)
            for id, label in zip(table["id"], table["label"], strict=True):
                (self.folder / side / f"{id}{suffix}").write_bytes(content(side, int(label)))

    def audit(self, *only: str) -> list[AuditFinding]:
        self.tables["train"].to_csv(self.folder / "train.csv", index=False)
        self.tables["test"].drop(columns="label").to_csv(self.folder / "test.csv", index=False)
        self.tables["test"][["id", "label"]].to_csv(self.answers, index=False)
        audited = Subject.of_folder(self.folder, "label", "id", self.answers)
        return list(audit_folder(audited, progress=NoProgress(), only=only).findings)

    def find_defects(self, *only: str) -> list[AuditFinding]:
        return [finding for finding in self.audit(*only) if finding.is_defect]

    def noise_image(self) -> Image.Image:
        blocks = self.draw.integers(0, 256, (12, 12), dtype=np.uint8)
        return Image.fromarray(np.kron(blocks, np.ones((8, 8), np.uint8)))

    def _hex_ids(self) -> list[str]:
        return [bytes(row).hex() for row in self.draw.integers(0, 256, (ROWS, 6), dtype=np.uint8)]


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return Data(tmp_path)


def encode(image: Image.Image, format_: str = "PNG", **options: object) -> bytes:
    content = io.BytesIO()
    image.save(content, format_, **options)
    return content.getvalue()


def test_clean_data_has_no_finding(data: Data) -> None:
    data.add_files(".png", lambda side, label: encode(data.noise_image()))
    findings = data.audit()
    assert [finding for finding in findings if finding.is_defect] == []
    passed = {finding.check for finding in findings if finding.severity == "none"}
    assert passed >= {
        "single predictors",
        "duplicate files",
        "near-duplicate images",
        "near-duplicate texts",
        "order of ids and rows",
        "metadata of test files",
    }
    assert all(finding.computed_on for finding in findings if finding.severity == "none")


def plant_predictor(data: Data) -> None:
    for table in data.tables.values():
        named = (table["label"] == 1) & (data.draw.random(ROWS) < 0.5)
        table["giver"] = np.where(named, "somebody", "")


def plant_rows(data: Data) -> None:
    columns = ["age", "height", "text", "label"]
    data.tables["test"].loc[:19, columns] = data.tables["train"].loc[40:59, columns].to_numpy()


def plant_few_columns(data: Data) -> None:
    """Rows of two columns that never repeat within train: equal ones are not expected."""
    plant_rows(data)
    data.tables = {side: table.drop(columns="text") for side, table in data.tables.items()}


def plant_texts(data: Data) -> None:
    """Every fifth test text is a training text with its first word changed."""
    for row in range(0, ROWS, 5):
        words = str(data.tables["train"].loc[row, "text"]).split()
        data.tables["test"].loc[row, "text"] = " ".join(["changed", *words[1:]])


def plant_windows(data: Data) -> None:
    """Rows are overlapping windows of one recording, and every third one is in the test."""
    recording = np.cumsum(data.draw.normal(size=400)).astype(np.float32)
    windows = np.stack([recording[start : start + 20] for start in range(0, 360, 2)])
    np.save(data.folder / "train_x.npy", windows[np.arange(len(windows)) % 3 > 0])
    np.save(data.folder / "test_x.npy", windows[::3])


def plant_files(data: Data) -> None:
    data.add_files(".bin", lambda side, label: data.draw.bytes(64))
    for row in range(10):
        copied = (data.folder / "train" / f"{data.ids['train'][row]}.bin").read_bytes()
        (data.folder / "test" / f"{data.ids['test'][-row - 1]}.bin").write_bytes(copied)


def plant_images(data: Data) -> None:
    """Ten test images are training images: smaller, brighter, and compressed."""
    data.add_files(".jpg", lambda side, label: encode(data.noise_image(), "JPEG", quality=95))
    for row in range(10):
        with Image.open(data.folder / "train" / f"{data.ids['train'][row]}.jpg") as image:
            changed = image.resize((80, 80)).point(lambda level: min(255, level + 3))
        path = data.folder / "test" / f"{data.ids['test'][row]}.jpg"
        path.write_bytes(encode(changed, "JPEG", quality=80))


def plant_groups(data: Data) -> None:
    for table in data.tables.values():
        table["PatientID"] = [f"p{number}" for number in data.draw.integers(0, 60, ROWS)]


def plant_gaps(data: Data) -> None:
    """Clips are numbered within speakers; a tenth of them went to the test under other names."""
    (data.folder / "train").mkdir()
    for speaker in range(60):
        for number in range(5):
            if data.draw.random() > 0.1:
                (data.folder / "train" / f"s{speaker:02d}_{number}.bin").write_bytes(data.draw.bytes(32))


def plant_order(data: Data) -> None:
    data.tables["test"] = data.tables["test"].sort_values("label").reset_index(drop=True)


def plant_times(data: Data) -> None:
    for table in data.tables.values():
        moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(data.draw.integers(0, 10**6, ROWS), unit="s")
        table["created_at"] = moments.astype(str)


def plant_days(data: Data) -> None:
    """A column of dates whose name does not say so."""
    for table in data.tables.values():
        table["visit"] = [f"2024-{1 + number // 28:02d}-{1 + number % 28:02d}" for number in range(ROWS)]


def plant_numbers(data: Data) -> None:
    """Each test row has a log with the number to predict among others."""
    data.tables["test"]["label"] = data.draw.normal(50, 10, ROWS)
    data.tables["train"]["label"] = data.draw.normal(50, 10, ROWS)
    (data.folder / "test").mkdir()
    for id, label in zip(data.ids["test"], data.labels, strict=True):
        noise = ", ".join(f"{number:.6f}" for number in data.draw.normal(50, 10, 5))
        (data.folder / "test" / f"{id}.log").write_text(f"{noise}, {label:.9f}\n")


def plant_nmea(data: Data) -> None:
    """The number to predict is a latitude, which a log has in degrees and minutes."""
    for side in ("train", "test"):
        data.tables[side]["label"] = data.draw.uniform(-60, 60, ROWS)
    (data.folder / "test").mkdir()
    for id, label in zip(data.ids["test"], data.labels, strict=True):
        degrees, side = int(abs(label)), "S" if label < 0 else "N"
        position = f"{degrees:02d}{(abs(label) - degrees) * 60:010.7f},{side}"
        (data.folder / "test" / f"{id}.nmea").write_text(f"$GPGGA,1,{position},1\n")


def plant_tokens(data: Data) -> None:
    logs = {side: [f"{side}-log-{number:04d}" for number in range(5)] for side in ("train", "test")}
    for side, own in logs.items():
        folder = data.folder / f"{side}_data"
        folder.mkdir()
        (folder / "log.json").write_text(json.dumps([{"token": token} for token in own]))
        (folder / "map.json").write_text(json.dumps([{"token": "the-map-token", "logs": logs["test"]}]))


def plant_split(data: Data) -> None:
    """The test rows are those that a split with seed 42 draws from the sorted ids."""
    union = sorted([*data.ids["train"], *data.ids["test"]])
    drawn = np.random.RandomState(42).permutation(len(union))
    data.tables["test"]["id"] = [union[row] for row in drawn[:ROWS]]
    data.tables["train"]["id"] = [union[row] for row in drawn[ROWS:]]


def plant_side_table(data: Data) -> None:
    data.tables["train"][["id"]].assign(weight=1.5).to_csv(data.folder / "weights.csv", index=False)


def plant_lost_words(data: Data) -> None:
    data.tables["train"].loc[3, "text"] = ""


def plant_sizes(data: Data) -> None:
    data.tables["train"] = data.tables["train"].head(30)


def plant_headers(data: Data) -> None:
    (data.folder / "a.txt").write_text("id,values\n1,2,3\n")
    (data.folder / "b.txt").write_text("id,values\n1,2,3,4\n")


def plant_empty_archive(data: Data) -> None:
    for name, members in (("train", ["a.txt"]), ("test", [])):
        with zipfile.ZipFile(data.folder / f"{name}.zip", "w") as archive:
            for member in members:
                archive.writestr(member, "x")


def plant_bare_lines(data: Data) -> None:
    (data.folder / "good.txt").write_text("item,[labels]\n1,4\n2,\n3,7,8\n")
    (data.folder / "bad.txt").write_text("item,[labels]\n1,4\n2\n3,7,8\n")


PLANTED: dict[str, Callable[[Data], None]] = {
    "single predictors": plant_predictor,
    "duplicate rows": plant_rows,
    "duplicate rows, few columns": plant_few_columns,
    "near-duplicate texts": plant_texts,
    "shared measurements": plant_windows,
    "duplicate files": plant_files,
    "near-duplicate images": plant_images,
    "groups on both sides": plant_groups,
    "gaps in numbering": plant_gaps,
    "order of ids and rows": plant_order,
    "timestamps": plant_times,
    "timestamps, days": plant_days,
    "answers in test files": plant_numbers,
    "answers in test files, NMEA": plant_nmea,
    "test items in training files": plant_tokens,
    "split can be rebuilt": plant_split,
    "inputs of test rows": plant_side_table,
    "strings parsed as missing": plant_lost_words,
    "sizes of train and test": plant_sizes,
    "headers of text files": plant_headers,
    "empty archives": plant_empty_archive,
    "lines of text files": plant_bare_lines,
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_leak_is_found(data: Data, name: str) -> None:
    check = name.partition(",")[0]
    PLANTED[name](data)
    findings = data.find_defects(check)
    assert {finding.check for finding in findings} == {check}
    assert all(finding.computed_on for finding in findings)


def tag_png(side: str, label: int, data: Data) -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", f"scan of batch {label}")
    return encode(data.noise_image(), pnginfo=info)


def tag_jpeg(side: str, label: int, data: Data) -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "lesion" if label else "no lesion"
    return encode(data.noise_image(), "JPEG", exif=exif)


def tag_wav(side: str, label: int, data: Data) -> bytes:
    content = Miniature(0).wav(data.draw.integers(-99, 99, 50).astype(np.int16), 8000)
    title = f"word{label}\0\0\0".encode()
    tags = b"INFOINAM" + struct.pack("<I", len(title)) + title
    content += b"LIST" + struct.pack("<I", len(tags)) + tags
    return content[:4] + struct.pack("<I", len(content) - 8) + content[8:]


def tag_flac(side: str, label: int, data: Data) -> bytes:
    comment = f"GENRE={'bird' if label else 'frog'}".encode()
    block = struct.pack("<I", 0) + struct.pack("<II", 1, len(comment)) + comment
    return b"fLaC" + bytes([0x84]) + len(block).to_bytes(3, "big") + block + data.draw.bytes(9)


def tag_dicom(side: str, label: int, data: Data) -> bytes:
    return make_dicom([(0x00100020, b"LO", f"site{label}".encode())])


def tag_mat(side: str, label: int, data: Data) -> bytes:
    content = io.BytesIO()
    video = {"Rate": 20, "Frames": data.draw.normal(size=(2, 3))}
    savemat(content, {"Video": {**video, "Labels": [label, 1]} if side == "test" else {"Video": video}})
    return content.getvalue()


def make_dicom(elements: list[tuple[int, bytes, bytes]]) -> bytes:
    parts = []
    for tag, kind, value in [(0x00020010, b"UI", b"1.2.840.10008.1.2.1\0"), *elements, (0x00280010, b"US", b"\x07\0")]:
        value += b" " * (len(value) % 2)
        parts.append(struct.pack("<HH", tag >> 16, tag & 0xFFFF) + kind + struct.pack("<H", len(value)) + value)
    pixels = struct.pack("<HH", 0x7FE0, 0x10) + b"OB" + struct.pack("<HI", 0, 4) + b"abcd"
    return bytes(128) + b"DICM" + b"".join(parts) + pixels


TAGGED = {".png": tag_png, ".jpg": tag_jpeg, ".wav": tag_wav, ".flac": tag_flac, ".dcm": tag_dicom, ".mat": tag_mat}


@pytest.mark.parametrize("suffix", TAGGED)
def test_metadata_that_reveals_labels_is_found(data: Data, suffix: str) -> None:
    data.add_files(suffix, lambda side, label: TAGGED[suffix](side, label, data))
    (finding,) = data.find_defects("metadata of test files")
    assert finding.severity == "high"
    expected = {".png": "Comment", ".jpg": "ImageDescription", ".wav": "INAM", ".flac": "GENRE", ".dcm": "PatientID"}
    assert expected.get(suffix, "Video.Labels") in finding.text


def test_labels_in_test_records_are_reported_and_those_in_training_records_are_not(data: Data) -> None:
    for side, table in data.tables.items():
        examples = [
            {
                "image": [data.draw.bytes(300)],
                "image_name": [id.encode()],
                **({"target": [label]} if side == "train" else {}),
            }
            for id, label in zip(table["id"], table["label"].tolist(), strict=True)
        ]
        tfrecord.write(data.folder / f"{side}00.tfrec", examples)
    assert data.find_defects("metadata of test files") == []
    examples = [{"image_name": [id.encode()], "target": [1]} for id in data.ids["test"]]
    tfrecord.write(data.folder / "test00.tfrec", examples)
    (finding,) = data.find_defects("metadata of test files")
    assert "target" in finding.text


def test_metadata_is_read_inside_of_archives_of_archives(data: Data, tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("Sample1_data.mat", tag_mat("test", 1, data))
    with tarfile.open(data.folder / "test.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("Sample1.zip")
        info.size = len(inner.getvalue())
        archive.addfile(info, io.BytesIO(inner.getvalue()))
    (finding,) = data.find_defects("metadata of test files")
    assert finding.evidence[0].startswith("test.tar.gz/Sample1.zip/Sample1_data.mat: Video.Labels")
    (data.folder / "test.tar.gz").unlink()
    (tmp_path / "data.mat").write_bytes(tag_mat("test", 1, data))
    seven_zip.pack(data.folder / "test.7z", [("deep/Sample1.mat", tmp_path / "data.mat")])
    (finding,) = data.find_defects("metadata of test files")
    assert finding.evidence[0].startswith("test.7z/deep/Sample1.mat: Video.Labels")


@pytest.mark.parametrize("kind", ["numbers", "texts", "images"])
def test_the_nearest_training_row_gives_its_label(data: Data, kind: str) -> None:
    """Each test row is a slightly changed copy of a training row, whose label it gets."""
    train, test = data.tables["train"], data.tables["test"]
    if kind == "numbers":
        test["height"] = train["height"] + 1e-6
        test["age"], test["text"], train["text"] = train["age"], "same", "same"
    elif kind == "texts":
        test["text"] = ["also " + text for text in train["text"]]
        train["age"] = train["height"] = test["age"] = test["height"] = 1
    else:
        for side in ("train", "test"):
            (data.folder / side).mkdir()
        for row in range(ROWS):
            image = data.noise_image()
            (data.folder / "train" / f"{data.ids['train'][row]}.png").write_bytes(encode(image))
            (data.folder / "test" / f"{data.ids['test'][row]}.jpg").write_bytes(encode(image, "JPEG", quality=90))
        data.tables["test"] = test[["id", "label"]]
    data.audit("timestamps")
    audited = Subject.of_folder(data.folder, "label", "id", data.answers)
    submission = copy_nearest_labels(audited, audited.table, ["label"])
    assert submission is not None
    assert submission["label"].tolist() == train["label"].astype(str).tolist()


def test_rows_of_one_group_do_not_count_as_many_rows(data: Data) -> None:
    """Ids follow the groups, and rows of a group have one label: 30 groups are no evidence for an order."""
    test = data.tables["test"]
    test["id"] = [f"{number:06d}" for number in range(ROWS)]
    test["label"] = np.repeat([0, 0, 0, 1] * 5 + [0] + [1] * 9, 4)
    data.tables["train"]["breath_id"] = [f"t{row // 4}" for row in range(ROWS)]
    test["breath_id"] = [f"b{row // 4}" for row in range(ROWS)]
    assert data.find_defects("order of ids and rows") == []
    test["breath_id"] = test["id"]
    assert [finding.check for finding in data.find_defects("order of ids and rows")] != []


def test_commas_inside_of_quotes_do_not_count_as_fields(data: Data) -> None:
    (data.folder / "a.csv").write_text('name,labels\n1,"x,y"\n')
    (data.folder / "b.csv").write_text("name,labels\n1,x\n")
    assert data.find_defects("headers of text files") == []


def test_damaged_files_do_not_stop_the_audit(data: Data) -> None:
    good = {suffix: make("test", 1, data) for suffix, make in TAGGED.items()}
    (data.folder / "test").mkdir()
    contents = {
        **{suffix: content[: len(content) // 2] for suffix, content in good.items()},
        ".zip": b"PK\3\4xx",
        ".tar": b"x",
    }
    for number, (suffix, content) in enumerate(contents.items()):
        (data.folder / "test" / f"{data.ids['test'][number]}{suffix}").write_bytes(content)
        (data.folder / "test" / f"{data.ids['test'][number]}-noise{suffix}").write_bytes(data.draw.bytes(500))
    (data.folder / "test00.tfrec").write_bytes(data.draw.bytes(99))
    (data.folder / "train_x.npy").write_bytes(b"\x93NUMPY")
    (data.folder / "test_x.npy").write_bytes(b"\x93NUMPY")
    (data.folder / "train_data").mkdir()
    (data.folder / "train_data" / "map.json").write_text("[{")
    findings = data.audit()
    assert [finding for finding in findings if "could not be read" in finding.text] == []


def test_samples_are_bounded_and_named(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_rows(data)
    monkeypatch.setattr(subject, "MAX_CELLS", 0)
    monkeypatch.setattr(duplicates, "MAX_TEXTS", 50)
    data.tables = {side: pd.concat([table] * 10, ignore_index=True) for side, table in data.tables.items()}
    (finding,) = data.find_defects("duplicate rows")
    assert finding.computed_on == "the first 1,000 rows of train.csv, the first 1,000 rows of test.csv; 3 columns"
    texts = data.audit("near-duplicate texts")
    assert "the first 50 training and 50 test texts" in texts[0].computed_on


def test_checks_after_the_time_limit_are_skipped_and_say_so(data: Data) -> None:
    data.audit("timestamps")
    audited = Subject.of_folder(data.folder, "label", "id", data.answers)
    findings = audit_folder(audited, progress=NoProgress(), max_seconds=-1).findings
    assert {finding.text for finding in findings} == {"the time limit of -1 s was reached"}


def test_the_header_of_a_dicom_file_is_read_up_to_the_pixels() -> None:
    content = make_dicom([(0x00100020, b"LO", b"p17"), (0x00080060, b"CS", b"CT"), (0x00090001, b"LO", b"own")])
    header = read_header(content)
    assert header == {
        "0002,0010": "1.2.840.10008.1.2.1",
        "PatientID": "p17",
        "Modality": "CT",
        "0009,0001": "own",
        "Rows": "7",
    }
    assert read_header(b"no DICOM file") == {}


@pytest.mark.parametrize("compressed", [False, True])
def test_the_fields_of_a_matlab_file_are_listed_with_their_sizes(compressed: bool) -> None:
    content = io.BytesIO()
    savemat(content, {"Video": {"Rate": 20, "Labels": [1, 2]}, "plain": [1.0]}, do_compression=compressed)
    fields = list_fields(content.getvalue())
    assert set(fields) == {"Video.Rate", "Video.Labels", "plain"}
    assert all(fields.values())
    assert list_fields(clear_field(content.getvalue(), "Labels"))["Video.Labels"] == 0
