"""Building blocks of `prepare.py` select and write what scikit-learn, pandas, numpy or a figure worked by hand does."""

import io
import json
import random
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat, savemat
from sklearn.model_selection import train_test_split

from assay.core.errors import SourceError
from assay.data import archives, files, pandas_tables, splits
from assay.formats import bson, coco, json_lines, json_list, mat, npy, tar, tfrecord

KEYS = list("dbacadbcadcbbadbacda")


def test_sorted_groups_are_written_in_the_shuffled_order() -> None:
    """`train_test_split` over a pandas groupby, concatenated, is the published way."""
    frame = pd.DataFrame({"key": KEYS, "row": range(len(KEYS))})
    expected = train_test_split([group for _, group in frame.groupby("key")], test_size=0.3, random_state=3)
    ours = splits.random_sorted_groups(KEYS, test=0.3, seed=3)
    assert [side.tolist() for side in ours] == [pd.concat(side)["row"].tolist() for side in expected]


def test_rows_or_groups_is_one_of_the_two_splits() -> None:
    by_row = splits.random_rows_or_groups(KEYS, by_group=False, test=0.3, seed=0)
    assert [side.tolist() for side in by_row] == [side.tolist() for side in splits.random_rows(20, test=0.3, seed=0)]
    by_group = splits.random_rows_or_groups(KEYS, by_group=True, test=0.3, seed=0)
    assert [side.tolist() for side in by_group] == [
        side.tolist() for side in splits.random_groups(KEYS, test=0.3, seed=0)
    ]


def test_splits_in_raw_order_by_position_and_by_predicate() -> None:
    split = splits.random_rows(10, test=0.3, seed=0)
    assert split.in_raw_order().test.tolist() == sorted(split.test.tolist())
    assert sorted([*split.in_raw_order().train, *split.in_raw_order().test]) == list(range(10))
    assert [side.tolist() for side in splits.first_rows(5, train=0.8)] == [[0, 1, 2, 3], [4]]
    dates = pd.Series(["2020-01-03", "2020-01-01", "2020-01-02"])
    assert [side.tolist() for side in splits.by_predicate(dates >= "2020-01-02")] == [[1], [0, 2]]


def test_rows_without_a_key_are_a_group() -> None:
    keys = ["a", None, "b", None, "c", "a", "d"]
    assert splits.appearance_numbers(keys).tolist() == [0, 1, 2, 1, 3, 0, 4]
    train, test = splits.random_groups(keys, test=0.3, seed=0)
    assert sorted([*train, *test]) == list(range(7))


def test_every_class_is_split_by_itself() -> None:
    """Class a has one row, b two, c four, d ten; the rule for each size is worked by hand, with scikit-learn for d."""
    labels = ["d", "a", "c", "b", "d", "c", "d", "b", "d", "c", "d", "d", "d", "c", "d", "d", "d"]
    train, test = splits.per_class(labels, test=0.2, seed=0)
    of_d = [row for row, label in enumerate(labels) if label == "d"]
    train_d, test_d = train_test_split(of_d, test_size=0.2, random_state=0)
    assert train.tolist() == [*train_d, 1, 2, 5, 9, 3]
    expected = [*test_d, 13, 7]
    random.Random(0).shuffle(expected)
    assert test.tolist() == expected


def test_classes_of_any_size_can_be_split_at_random() -> None:
    train, test = splits.per_class(["a", "a", "a", "b", "b"], test=0.2, seed=0, min_random=2)
    parts = [train_test_split(rows, test_size=0.2, random_state=0) for rows in ([0, 1, 2], [3, 4])]
    assert train.tolist() == [*parts[0][0], *parts[1][0]]
    expected = [*parts[0][1], *parts[1][1]]
    random.Random(0).shuffle(expected)
    assert test.tolist() == expected


def test_a_column_is_renumbered_with_a_template() -> None:
    frame = pd.DataFrame({"image": ["x", "y"], "label": [1, 0]})
    renamed, pairs = pandas_tables.renumber(frame, "image", "Train_{:03d}", start=1)
    assert renamed.to_csv(index=False) == "image,label\nTrain_001,1\nTrain_002,0\n"
    assert pairs == [("x", "Train_001"), ("y", "Train_002")]
    assert pandas_tables.renumber(frame, "image")[0]["image"].tolist() == [0, 1]
    assert frame["image"].tolist() == ["x", "y"]


def test_labels_become_columns_rows_or_positions() -> None:
    frame = pd.DataFrame({"id": ["p", "q"], "labels": ["cat dog", "dog"], "x": [0.1, 0.2], "y": [3, 4]})
    hot = pandas_tables.multi_hot(frame, "id", "labels", ["bird", "cat", "dog"])
    assert hot.to_csv(index=False) == "id,bird,cat,dog\np,0,1,1\nq,0,0,1\n"
    long = pandas_tables.melt(frame, "id", ["x", "y"], names=("row", "value"))
    assert long.to_csv(index=False) == "row,value\np_x,0.1\np_y,3.0\nq_x,0.2\nq_y,4.0\n"
    lists = pd.DataFrame({"id": ["p", "q"], "length": [3, 1], "a": [[0.5, 0.25], [1.5]]})
    rows = pandas_tables.explode(lists, "id", ["a"], length="length", flag="keep")
    assert rows.to_csv(index=False) == "id,a,keep\np_0,0.5,True\np_1,0.25,True\np_2,0.0,False\nq_0,1.5,True\n"


def test_the_first_known_value_per_key_counts() -> None:
    frame = pd.DataFrame({"key": ["b", "a", "a"], "value": [1.0, np.nan, 3.0]})
    assert pandas_tables.first_per_key(frame, "key").to_csv(index=False) == "key,value\na,3.0\nb,1.0\n"


def test_tables_are_read_from_zip_files_and_written_as_json_lines_and_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1, 2], "text": ["a/b", "é"], "value": [0.1, 1 / 3]})
    pandas_tables.write_zipped(frame, tmp_path / "train.csv.zip")
    pd.testing.assert_frame_equal(pandas_tables.read_zipped(tmp_path / "train.csv.zip"), frame)
    pandas_tables.write_json_lines(frame, tmp_path / "train.json")
    assert (tmp_path / "train.json").read_text() == (
        '{"id":1,"text":"a\\/b","value":0.1}\n{"id":2,"text":"\\u00e9","value":0.3333333333}\n'
    )
    pandas_tables.write_parquet(frame, tmp_path / "train.parquet")
    pd.testing.assert_frame_equal(pandas_tables.read_parquet(tmp_path / "train.parquet"), frame, check_dtype=False)
    assert list(pandas_tables.read_parquet(tmp_path / "train.parquet", columns=["id"]).columns) == ["id"]


def test_files_and_folders_are_copied_by_id(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    for folder in ("a/deep", "a/empty", "b"):
        (raw / folder).mkdir(parents=True)
    for name in ("1.jpg", "2.jpg", "a/x.dcm", "a/deep/y.dcm"):
        (raw / name).write_text(name)
    files.copy_by_id(raw, tmp_path / "files", [2], ".jpg")
    files.copy_folder_by_id(raw, tmp_path / "folders", ["a", "b"])
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["2.jpg"]
    assert (tmp_path / "folders/a/deep/y.dcm").read_text() == "a/deep/y.dcm"
    assert (tmp_path / "folders/a/empty").is_dir() and (tmp_path / "folders/b").is_dir()
    with pytest.raises(FileNotFoundError):
        files.copy_by_id(raw, tmp_path / "files", [3], ".jpg")
    files.copy_folder_by_id(raw, tmp_path / "parts", ["a/empty", "a"], without={"a/deep"})
    assert sorted(path.name for path in (tmp_path / "parts").rglob("*")) == ["a", "empty", "x.dcm"]
    with pytest.raises(FileNotFoundError):
        files.copy_folder_by_id(raw, tmp_path / "folders", ["c"])


def test_a_coco_file_is_reduced_to_some_images(tmp_path: Path) -> None:
    document = {
        "images": [{"id": 7, "file_name": "é.jpg"}, {"id": 3, "file_name": "b.jpg"}],
        "annotations": [{"id": 0, "image_id": 7, "category_id": 1}, {"id": 1, "image_id": 3, "category_id": 2}],
        "info": {},
    }
    path = tmp_path / "deep/train.json"
    coco.write_coco(document, path)
    assert path.read_text() == json.dumps(document, indent=4, sort_keys=True)
    assert coco.read_coco(path) == document
    assert [(image["id"], annotation["id"]) for image, annotation in coco.pair_annotations(document)] == [
        (7, 0),
        (3, 1),
    ]
    kept = coco.keep_images(document, [3])
    assert (kept["images"], kept["annotations"]) == (document["images"][1:], document["annotations"][1:])
    assert len(coco.pair_annotations({**document, "annotations": document["annotations"][:1]})) == 1
    named = [{"image_id": image["id"]} for image in document["images"]]
    assert len(coco.pair_annotations({**document, "images": named}, "image_id")) == 2
    with pytest.raises(SourceError, match="do not correspond one to one"):
        coco.pair_annotations({**document, "images": document["images"][::-1]})
    with pytest.raises(SourceError, match="do not correspond one to one"):
        coco.pair_annotations({**document, "images": document["images"][:1]})


def bson_document(category: int, picture: bytes) -> bytes:
    """`{_id: int32 5, category_id: int64, name: "é", imgs: {p: binary}}`, as the BSON specification spells it."""
    nested = b"\x05p\0" + struct.pack("<i", len(picture)) + b"\0" + picture
    nested = struct.pack("<i", len(nested) + 5) + nested + b"\0"
    body = b"\x10_id\0" + struct.pack("<i", 5) + b"\x12category_id\0" + struct.pack("<q", category)
    body += b"\x02name\0" + struct.pack("<i", 3) + "é".encode() + b"\0" + b"\x03imgs\0" + nested
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def test_bson_documents_are_read_one_by_one_and_lose_a_field(tmp_path: Path) -> None:
    documents = [bson_document(2**40, b"\0\1\2"), bson_document(9, b"x" * 300)]
    (tmp_path / "train.bson").write_bytes(b"".join(documents))
    assert list(bson.read_documents(tmp_path / "train.bson")) == documents
    first = documents[0]
    assert [bson.get_field(first, name) for name in ("_id", "category_id", "name")] == [5, 2**40, "é"]
    without = bson.drop_field(first, "category_id")
    element = b"\x12category_id\0" + struct.pack("<q", 2**40)
    assert without == struct.pack("<i", len(first) - len(element)) + first[4:].replace(element, b"")
    with pytest.raises(SourceError, match="no field 'category_id'"):
        bson.get_field(without, "category_id")
    assert bson.put_first(first, "_id") == bson.put_first(first, "missing") == first
    assert bson.put_first(first, "category_id") == first.replace(element, b"").replace(b"\x10_id", element + b"\x10_id")
    (tmp_path / "torn.bson").write_bytes(first[:-2])
    with pytest.raises(SourceError, match=r"torn\.bson is not a BSON file"):
        list(bson.read_documents(tmp_path / "torn.bson"))


def int_element(name: str, value: int, kind: int = 16) -> bytes:
    return bytes([kind]) + name.encode() + b"\0" + struct.pack("<q" if kind == 18 else "<i", value)


def encode_fields(fields: list[tuple[str, int, int]], picture: bytes) -> bytes:
    """Return a BSON document; the field named `picture` is binary, and the others are integers."""
    binary = b"\x05picture\0" + struct.pack("<i", len(picture)) + b"\0" + picture
    body = b"".join(binary if name == "picture" else int_element(name, value, kind) for name, value, kind in fields)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


FIELDS = st.permutations(["a", "b", "picture", "more"]).flatmap(
    lambda names: st.tuples(
        *(st.tuples(st.just(name), st.integers(-(2**31), 2**31 - 1), st.sampled_from([16, 18])) for name in names)
    )
)
PICTURES = st.binary(max_size=20) | st.sampled_from([int_element("a", 7), b"\0" * 40])


@given(st.lists(st.tuples(FIELDS.map(list), PICTURES), min_size=1, max_size=6), st.integers(1, 4))
@settings(deadline=None)
def test_integers_of_a_block_of_bson_documents_are_those_of_each(
    documents: list[tuple[list[tuple[str, int, int]], bytes]], repeats: int
) -> None:
    contents = [encode_fields(*document) for document in documents for _ in range(repeats)]
    block, offsets = b"".join(contents), np.cumsum([0, *map(len, contents)]).tolist()
    expected = [bson.get_fields(content, ("a", "b")) for content in contents]
    assert bson.get_integers(block, offsets, ("a", "b")).T.tolist() == expected


@given(st.lists(st.tuples(FIELDS.map(list), PICTURES, st.booleans()), max_size=6), st.integers(1, 4))
@settings(deadline=None)
def test_bson_documents_of_a_block_are_rewritten_as_each_of_them_is(
    documents: list[tuple[list[tuple[str, int, int]], bytes, bool]], repeats: int
) -> None:
    """Also those that have the dropped field twice, or not at all."""
    contents = [
        encode_fields([*fields, *fields[-1:] * twice], picture)
        for fields, picture, twice in documents
        for _ in range(repeats)
    ]
    contents += [encode_fields(fields[:2], b"") for fields, _, _ in documents]
    block, offsets = b"".join(contents), np.cumsum([0, *map(len, contents)], dtype=int).tolist()
    expected = b"".join(bson.drop_field(bson.put_first(content, "a"), "b") for content in contents)
    assert b"".join(bson.rewrite_each(block, offsets[:-1], offsets[1:], first="a", dropped="b")) == expected


def test_a_bson_field_that_is_no_integer_or_missing_is_named() -> None:
    document = bson_document(3, b"x")
    for names, reason in ((("_id", "name"), "the name 'é'; expected are integers"), (("_id", "b"), "no field 'b'")):
        with pytest.raises(SourceError, match=reason):
            bson.get_integers(document * 2, [0, len(document), 2 * len(document)], names)


def test_rows_of_an_array_are_written_as_numpy_saves_them(tmp_path: Path) -> None:
    array = np.arange(60, dtype=np.float32).reshape(20, 3)
    np.save(tmp_path / "raw.npy", array)
    rows = np.array([7, 0, 19, 7])
    npy.write_rows(npy.open_array(tmp_path / "raw.npy"), rows, tmp_path / "new.npy", chunk=3)
    np.save(tmp_path / "expected.npy", array[rows])
    assert (tmp_path / "new.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()
    (tmp_path / "torn.npy").write_bytes(b"no array")
    with pytest.raises(SourceError, match=r"torn\.npy is not an array file"):
        npy.open_array(tmp_path / "torn.npy")


def test_tar_files_contain_the_members_and_are_reproducible(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    for name in ("one.tar", "two.tar"):
        tar.pack_tar(tmp_path / name, [("b/x", tmp_path / "x"), ("a/x", tmp_path / "x")])
    with tarfile.open(tmp_path / "one.tar") as content:
        assert content.getnames() == ["a/x", "b/x"]
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_a_tar_file_is_listed_and_rewritten_reproducibly(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name in ("./b", "deep/a"):
            info = tarfile.TarInfo(name)
            info.size = len(name)
            archive.addfile(info, io.BytesIO(name.encode()))
        folder = tarfile.TarInfo("empty")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    assert tar.list_tar(tmp_path / "a.tar.gz") == ["b", "deep/a"]
    for target in ("one.tar.gz", "two.tar.gz"):
        tar.rewrite_tar_gz(tmp_path / "a.tar.gz", tmp_path / target, lambda name, content: content + name.encode())
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz", "r:gz") as content:
        assert content.getnames() == ["./b", "deep/a", "empty"]
        assert content.getmember("empty").isdir()
        assert content.extractfile("./b").read() == b"./bb"
    (tmp_path / "torn.tar.gz").write_bytes((tmp_path / "a.tar.gz").read_bytes()[:60])
    with pytest.raises(SourceError, match=r"torn\.tar\.gz is damaged"):
        tar.list_tar(tmp_path / "torn.tar.gz")
    with pytest.raises(SourceError, match=r"the raw data has no lost\.tar"):
        tar.list_tar(tmp_path / "lost.tar")


@pytest.mark.parametrize("packed", [True, False])
def test_a_field_of_a_matlab_structure_is_cleared_and_nothing_else(packed: bool) -> None:
    several = np.array([[(1.0, "x"), (2.0, "y")]], [("Labels", object), ("other", object)])
    inner = {"Labels": "kept", "deep": np.arange(3)}
    video = {"a": np.arange(6.0).reshape(2, 3), "Labels": np.array(["wave"], object), "inner": inner, "text": "ok"}
    content = io.BytesIO()
    savemat(content, {"Video": video, "several": several, "Labels": np.eye(2)}, do_compression=packed)
    before, after = loadmat(content), loadmat(io.BytesIO(mat.clear_field(content.getvalue(), "Labels")))
    changed = after["Video"][0, 0]
    assert changed["Labels"].shape == (0, 0)
    assert before["Video"][0, 0]["Labels"].size == 1
    np.testing.assert_array_equal(changed["a"], video["a"])
    assert changed["inner"][0, 0]["Labels"] == ["kept"]
    assert changed["text"] == ["ok"]
    assert [row["Labels"].size for row in after["several"][0]] == [0, 0]
    assert [str(row["other"][0]) for row in after["several"][0]] == ["x", "y"]
    np.testing.assert_array_equal(after["Labels"], np.eye(2))
    assert mat.clear_field(content.getvalue(), "missing") == content.getvalue()
    with pytest.raises(SourceError, match="MATLAB 5"):
        mat.clear_field(b"MATLAB 7.3 MAT-file".ljust(512), "Labels")
    with pytest.raises(SourceError, match="damaged"):
        mat.clear_field(content.getvalue()[:300], "Labels")


def test_a_json_list_is_read_and_written_as_by_the_standard_library(tmp_path: Path) -> None:
    records = [{"a": 1e-7, "text": 'ä, ]} " {\\', "nested": [{"b": [None, True]}]}, {}, {"c": "x" * 50}]
    for content in (json.dumps(records), json.dumps(records, indent=2, ensure_ascii=False), " [ ] ", "[]"):
        (tmp_path / "raw.json").write_text(content, encoding="utf-8")
        for chunk in (1, 7, 1000):
            with json_list.write_json_list(tmp_path / "out.json") as append:
                for record in json_list.read_json_list(tmp_path / "raw.json", chunk=chunk):
                    append(record)
            assert (tmp_path / "out.json").read_text() == json.dumps(json.loads(content))
    json_list.split_json_list(tmp_path / "raw.json", {"a": tmp_path / "a.json"}, lambda _: "b")
    assert (tmp_path / "a.json").read_text() == "[]"
    for content in ("", "{}", "[{}", "[{},]", "[{} {}]", "[1]", "[{}] x", '[{"a"]'):
        (tmp_path / "raw.json").write_text(content)
        with pytest.raises(SourceError, match=r"raw\.json"):
            list(json_list.read_json_list(tmp_path / "raw.json"))


def test_json_lines_round_trip_and_a_malformed_line_is_named(tmp_path: Path) -> None:
    records = [{"id": 1, "text": "é"}, {"id": 2, "text": None}]
    json_lines.write_json_lines(tmp_path / "a.jsonl", records)
    assert (tmp_path / "a.jsonl").read_text() == '{"id": 1, "text": "\\u00e9"}\n{"id": 2, "text": null}\n'
    assert list(json_lines.read_json_lines(tmp_path / "a.jsonl")) == records
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id"\n')
    with pytest.raises(SourceError, match=r"a\.jsonl, line 2 is not JSON"):
        list(json_lines.read_json_lines(tmp_path / "a.jsonl"))


def test_the_checksum_of_tfrecords_does_not_depend_on_the_library() -> None:
    """Castagnoli's check value of `123456789` is 0xE3069283."""
    assert tfrecord._crc32c_by_table(b"123456789") == tfrecord._crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize(
    ("offset", "value", "why"),
    [
        (8, struct.pack("<H", 99), "uses an unsupported zip feature"),
        (6, struct.pack("<H", 1), r"train\.csv is encrypted with a password"),
    ],
)
def test_an_unreadable_inner_archive_is_named(tmp_path: Path, offset: int, value: bytes, why: str) -> None:
    """The member's flags are at byte 6 of its local header and at 8 of its central one, its method two bytes later."""
    path = tmp_path / "train.csv.zip"
    with zipfile.ZipFile(path, "w") as content:
        content.writestr("train.csv", "id\n1\n")
    damaged = bytearray(path.read_bytes())
    central = damaged.index(b"PK\1\2")
    for start in (offset, central + offset + 2):
        damaged[start : start + 2] = value
    path.write_bytes(damaged)
    with pytest.raises(SourceError, match=rf"train\.csv\.zip.*{why}"):
        pandas_tables.read_zipped(path)
    with pytest.raises(SourceError, match=rf"train\.csv\.zip.*{why}"):
        archives.extract(path, [("train.csv", tmp_path / "train.csv")])


def test_named_members_of_a_tar_file_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "x", "./deep/x")
        archive.add(tmp_path / "x", "other")
    tar.unpack_tar(tmp_path / "a.tar.gz", {"deep/x": tmp_path / "out/y"})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["y"]
    assert (tmp_path / "out/y").read_text() == "1"
    with pytest.raises(SourceError, match=r"a\.tar\.gz contains no lost"):
        tar.unpack_tar(tmp_path / "a.tar.gz", {"lost": tmp_path / "out/z"})
    with pytest.raises(SourceError, match=r"x is damaged or not a tar file"):
        tar.unpack_tar(tmp_path / "x", {})
