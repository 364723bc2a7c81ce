"""Raw data that a user has already is checked where it can be, and never changed."""

import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from little_kaggle import CONTENT, FILES, MD5, files_in, packed

from assay.core.errors import SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.raw_data import Origin, RawData
from assay.data.sources import kaggle
from assay.tasks import Kaggle


def ask(home: Home, user_copy: Path, *, unverified: bool = False) -> RawData:
    source = Kaggle(competition="toy", md5=MD5)
    return kaggle.fetch(home, source, user_copy=user_copy, unverified=unverified, progress=NoProgress())


@pytest.mark.parametrize("name", ["toy.zip", "download (1)"])
def test_a_local_archive_is_verified_extracted_and_left_unchanged(alone: Home, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_bytes(CONTENT)
    before = (folder / name).stat()
    result = ask(alone, folder if name == "toy.zip" else folder / name)
    assert result == RawData(alone.downloads / "kaggle/toy/raw", Origin(kind="user", verified=True, md5=MD5))
    assert files_in(result.folder) == FILES
    assert (folder / name).stat() == before
    source = Kaggle(competition="toy", md5=MD5)
    later = kaggle.fetch(alone, source, user_copy=None, unverified=False, progress=NoProgress())
    assert later == RawData(result.folder, Origin(kind="kaggle", verified=True, md5=MD5))


def test_a_local_folder_is_used_in_place(alone: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.csv").write_text("a")
    monkeypatch.chdir(tmp_path)
    assert ask(alone, Path("mine")) == RawData(folder, Origin(kind="user", verified=False))
    assert list(alone.downloads.iterdir()) == []


def test_a_local_archive_of_another_version_must_be_accepted_and_replaces_nothing(alone: Home, tmp_path: Path) -> None:
    good, other = tmp_path / "toy.zip", tmp_path / "other.zip"
    good.write_bytes(CONTENT)
    other.write_bytes(packed(seed=3))
    md5 = hashlib.md5(other.read_bytes()).hexdigest()
    with pytest.raises(
        SourceError, match=rf"other\.zip is not the archive .* its MD5 is {md5}, not {MD5}; --unverified"
    ):
        ask(alone, other)
    published = ask(alone, good)
    accepted = ask(alone, other, unverified=True)
    assert accepted == RawData(alone.downloads / f"kaggle/toy/raw-{md5}", Origin(kind="user", verified=False, md5=md5))
    noise = [(raw_data.folder / "train.csv").read_bytes() for raw_data in (published, accepted)]
    assert noise == [np.random.default_rng(seed).bytes(300_000) for seed in (0, 3)]


def test_a_path_without_data_is_a_usage_error(alone: Home, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        with pytest.raises(UsageError, match=rf"{name} contains no data; pass toy\.zip"):
            ask(alone, tmp_path / name)


def test_a_malicious_archive_is_refused_whatever_its_checksum(alone: Home, tmp_path: Path) -> None:
    archive = tmp_path / "toy.zip"
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("../../../evil", "1")
    source = Kaggle(competition="toy", md5=hashlib.md5(archive.read_bytes()).hexdigest())
    with pytest.raises(SourceError, match="outside its folder; nothing is extracted"):
        kaggle.fetch(alone, source, user_copy=archive, unverified=True, progress=NoProgress())
    assert not list(tmp_path.rglob("evil"))
