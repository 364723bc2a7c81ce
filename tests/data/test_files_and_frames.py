"""Files are copied, not linked, in the order of their new names; tables are written as pandas writes them."""

from pathlib import Path

import pandas as pd
import pytest
from data_packages import Created
from sklearn.model_selection import train_test_split

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.splits import random_rows


def test_copies_have_their_own_inodes_and_are_made_in_name_order(tmp_path: Path, created: Created) -> None:
    names = [f"{number * 7919 % 1000:03d}" for number in range(300)]
    (tmp_path / "raw").mkdir()
    for name in names:
        (tmp_path / "raw" / name).write_text(name)
    pairs = [(tmp_path / "raw" / name, tmp_path / "new/deep" / f"{name}.txt") for name in names]
    paths = created(lambda: files.copy(pairs))
    assert list(dict.fromkeys(paths)) == sorted(path for _, path in pairs)
    copied = sorted((tmp_path / "new/deep").iterdir())
    assert [path.read_text() for path in copied] == sorted(names)
    assert {path.stat().st_nlink for path in copied} == {1}
    inodes = [path.stat().st_ino for path in copied]
    assert not set(inodes) & {path.stat().st_ino for path in (tmp_path / "raw").iterdir()}


def test_two_files_cannot_have_the_same_destination(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(ValueError, match="two files would be written to"):
        files.copy([(tmp_path / "a", tmp_path / "c"), (tmp_path / "a", tmp_path / "c")])


def test_a_tree_is_copied_whole(tmp_path: Path) -> None:
    for name in ("x/1", "x/y/2"):
        (tmp_path / "raw" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "raw" / name).write_text(name)
    (tmp_path / "raw/empty").mkdir()
    files.copy_tree(tmp_path / "raw", tmp_path / "new")
    new = tmp_path / "new"
    assert (new / "empty").is_dir()
    assert {path.read_text() for path in new.rglob("*") if path.is_file()} == {"x/1", "x/y/2"}
    assert (new / "x/1").read_text() == "x/1"
    with pytest.raises(FileNotFoundError, match="missing"):
        files.copy_tree(tmp_path / "missing", tmp_path / "other")


def test_files_may_be_nested_by_the_first_characters_of_their_ids(tmp_path: Path) -> None:
    for id in ("abc", "abd"):
        (tmp_path / "raw/a/b").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"raw/a/b/{id}.png").write_text(id)
    files.copy_by_id(tmp_path / "raw", tmp_path / "new", ["abd"], ".png", levels=2)
    assert [path.read_text() for path in (tmp_path / "new").rglob("*.png")] == ["abd"]
    assert (tmp_path / "new/a/b/abd.png").is_file()


def test_listed_files_are_sorted_as_text_and_match_case(tmp_path: Path) -> None:
    for name in ("10.jpg", "2.jpg", "3.JPG", "x.png"):
        (tmp_path / name).touch()
    (tmp_path / "folder.jpg").mkdir()
    assert [path.name for path in files.list_files(tmp_path, ".jpg")] == ["10.jpg", "2.jpg"]


RAW = "id,a,b,text,gap\n" + "".join(
    f"{row},{row / 7!r},0.10,{'NA' if row % 3 else 'x, y'},{'' if row == 4 else row}\n" for row in range(50)
)


def test_a_split_table_equals_that_of_scikit_learn_and_pandas(tmp_path: Path) -> None:
    """An independent implementation, as the published benchmark describes it."""
    (tmp_path / "train.csv").write_text(RAW)
    table = pandas_tables.read(tmp_path / "train.csv")
    train, test = pandas_tables.split(table, random_rows(len(table), test=0.1, seed=0))
    pandas_tables.write_csv_split(
        train, test, public=tmp_path / "public", private=tmp_path / "private", id="id", sample={"b": 0.5}
    )
    expected = train_test_split(pd.read_csv(tmp_path / "train.csv"), test_size=0.1, random_state=0)
    for side, frame in zip((tmp_path / "public/train.csv", tmp_path / "private/test.csv"), expected, strict=True):
        assert side.read_text() == frame.to_csv(index=False)
    assert (tmp_path / "public/test.csv").read_text() == expected[1].drop(columns="b").to_csv(index=False)
    sample = expected[1][["id"]].assign(b=0.5)
    assert (tmp_path / "public/sample_submission.csv").read_text() == sample.to_csv(index=False)


def test_values_are_printed_as_pandas_prints_them(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_bytes(b"a,b,c\r\n1,0.10,NA\r\n,1E-5,None\r\n3,2.5,word\r\n")
    pandas_tables.write(pandas_tables.read(tmp_path / "raw.csv"), tmp_path / "deep/new.csv")
    assert (tmp_path / "deep/new.csv").read_bytes() == b"a,b,c\n1.0,0.1,\n,1e-05,\n3.0,2.5,word\n"


def test_one_hot_columns_follow_the_listed_classes() -> None:
    frame = pd.DataFrame({"id": [7, 8], "kind": ["b", "a"]})
    hot = pandas_tables.one_hot(frame, "id", "kind", ["a", "b", "c"])
    assert hot.to_csv(index=False) == "id,a,b,c\n7,0,1,0\n8,1,0,0\n"
    with pytest.raises(ValueError, match="classes that are not listed"):
        pandas_tables.one_hot(frame, "id", "kind", ["a"])
    hot = pandas_tables.one_hot(frame, "id", "kind", ["a"], append_unlisted=True)
    assert hot.to_csv(index=False) == "id,a,b\n7,0,1.0\n8,1,\n"


def test_a_sample_submission_keeps_the_order_of_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame({"more": ["x", "y"], "b": [1, 0], "id": [7, 8]})
    pandas_tables.write_csv_split(
        frame, frame, public=tmp_path, private=tmp_path / "private", id="id", sample={"b": 0.5}, whole_sample=True
    )
    assert (tmp_path / "sample_submission.csv").read_text() == "more,b,id\nx,0.5,7\ny,0.5,8\n"


def test_unexpected_columns_of_a_raw_table_are_named() -> None:
    frame = pd.DataFrame({"b": [1], "a": [2]})
    pandas_tables.check_columns(frame, ["b", "a"], "train.csv")
    with pytest.raises(SourceError, match=r"train\.csv has the columns b, a; expected are a, b"):
        pandas_tables.check_columns(frame, ["a", "b"], "train.csv")
