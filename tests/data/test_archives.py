"""Zip files are read in place, unpacked in the order of names, and packed so that any program reads them."""

import os
import random
import subprocess
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

import pytest
from data_packages import Created

from assay.core.errors import SourceError
from assay.data import archives
from assay.formats import seven_zip, zip_writer

TEXT = b"the same words again and again\n" * 500
PICTURE = bytes(range(256)) * 20


def packed(folder: Path) -> Path:
    archives.pack(folder / "a.zip", [("train/b.csv", TEXT), ("train/ä.jpg", PICTURE), ("top.txt", b"")])
    return folder / "a.zip"


def test_other_programs_unpack_what_was_packed(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "top.txt": b"", "train/b.csv": TEXT, "train/ä.jpg": PICTURE,
        }  # fmt: skip
    subprocess.run(["python3", "-m", "zipfile", "-t", tmp_path / "a.zip"], check=True, capture_output=True)


def test_compressed_formats_are_stored_and_others_deflated(tmp_path: Path) -> None:
    methods = {info.filename: info.compress_type for info in zipfile.ZipFile(packed(tmp_path)).infolist()}
    assert methods["train/ä.jpg"] == zipfile.ZIP_STORED
    assert methods["train/b.csv"] == zipfile.ZIP_DEFLATED
    archives.pack(tmp_path / "b.zip", [("b.csv", TEXT)], method="stored")
    assert zipfile.ZipFile(tmp_path / "b.zip").getinfo("b.csv").compress_type == zipfile.ZIP_STORED


def test_equal_contents_make_equal_archives(tmp_path: Path) -> None:
    members = [(f"{number}.txt", os.urandom(50)) for number in range(20)]
    archives.pack(tmp_path / "one.zip", members)
    archives.pack(tmp_path / "two.zip", members[::-1])
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


@pytest.mark.parametrize("method", ["stored", "deflated"])
def test_large_files_are_packed_in_parts(tmp_path: Path, method: str) -> None:
    content = random.Random(1).randbytes(33 * 2**20 + 333)
    (tmp_path / "big").write_bytes(content)
    archives.pack(tmp_path / "a.zip", [("big", tmp_path / "big")], method=method)  # type: ignore[arg-type]
    archives.repack(tmp_path / "b.zip", tmp_path / "a.zip", [("big", "other")])
    assert zipfile.ZipFile(tmp_path / "a.zip").read("big") == content
    assert zipfile.ZipFile(tmp_path / "b.zip").read("other") == content
    assert {path.name for path in tmp_path.iterdir()} == {"big", "a.zip", "b.zip"}


def test_archives_beyond_four_gigabytes_can_be_read(tmp_path: Path) -> None:
    """A sparse file of five gigabytes is stored before a small one, so that sizes and offsets need 64-bit fields."""
    with (tmp_path / "a.zip").open("wb") as file:
        hollow = Hollow(file)
        with zip_writer.ZipWriter(hollow) as writer:  # type: ignore[arg-type]
            parts = (bytes(2**20) for _ in range(5 * 1024))
            writer.add("big", zip_writer.Packed(zip_writer.STORED, 0, 5 * 2**30, parts, 5 * 2**30))
            writer.add("small", zip_writer.Packed(zip_writer.STORED, zlib.crc32(b"x"), 1, [b"x"], 1))
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.getinfo("big").file_size == 5 * 2**30
        assert archive.read("small") == b"x"


class Hollow:
    """Writes zeros by seeking, so that the file stays sparse."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def write(self, content: bytes) -> None:
        if len(content) == 2**20 and not any(content[::4096]):
            self.file.seek(len(content), os.SEEK_CUR)
        else:
            self.file.write(content)


def test_members_are_copied_without_recompression(tmp_path: Path) -> None:
    source = packed(tmp_path)
    archives.repack(tmp_path / "new.zip", source, [("train/b.csv", "x/1.csv"), ("train/ä.jpg", "0.jpg")])
    with zipfile.ZipFile(tmp_path / "new.zip") as new, zipfile.ZipFile(source) as old:
        assert new.namelist() == ["0.jpg", "x/1.csv"]
        assert new.read("x/1.csv") == TEXT and new.read("0.jpg") == PICTURE
        assert new.getinfo("x/1.csv").compress_size == old.getinfo("train/b.csv").compress_size


def test_files_are_unpacked_in_the_order_of_their_new_names(tmp_path: Path, created: Created) -> None:
    archives.pack(tmp_path / "a.zip", [(f"{number:03d}", os.urandom(5000)) for number in range(200)])
    members = [(f"{number:03d}", tmp_path / f"out/{999 - number}") for number in range(200)]
    paths = created(lambda: archives.extract(tmp_path / "a.zip", members))
    assert [path for path in paths if path.parent.name == "out"] == sorted(path for _, path in members)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert (tmp_path / "out/990").read_bytes() == archive.read("009")


def test_names_of_files_are_sorted_as_text(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("train/", "train/10.png", "train/2.png", "train/note.txt", "other/1.png"):
            archive.writestr(name, b"")
    assert archives.list_names(tmp_path / "a.zip", below="train/", suffix=".png") == ["train/10.png", "train/2.png"]


def test_only_files_directly_in_a_folder_are_listed_once_each(tmp_path: Path) -> None:
    members = ["train/", "train/b.png", "train/deep/", "train/deep/c.png", "train/a.png", "train/d.PNG", "train2/e.png"]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in members:
            archive.writestr(name, b"old")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("train/a.png", b"new")
    assert archives.list_folder(tmp_path / "a.zip", "train", ".png") == ["a.png", "b.png"]
    assert archives.list_folder(tmp_path / "a.zip", "train") == ["a.png", "b.png", "d.PNG"]


@pytest.mark.parametrize("name", ["../x.png", "/x.png", "train/../../x.png"])
def test_a_name_outside_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, b"")
    with pytest.raises(SourceError, match="outside its folder"):
        archives.list_names(tmp_path / "a.zip")


def test_an_archive_can_start_with_the_folder_of_its_members(tmp_path: Path) -> None:
    archives.repack(
        tmp_path / "new.zip", packed(tmp_path), [("train/b.csv", "1.csv"), ("top.txt", "0.txt")], folder="x"
    )
    with zipfile.ZipFile(tmp_path / "new.zip") as new:
        assert new.namelist() == ["x/", "x/0.txt", "x/1.csv"]
        assert new.testzip() is None
        new.extractall(tmp_path / "out")
    assert (tmp_path / "out/x").is_dir() and (tmp_path / "out/x/1.csv").read_bytes() == TEXT


def test_missing_or_damaged_archives_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no none\.zip"):
        archives.list_names(tmp_path / "none.zip")
    (tmp_path / "bad.zip").write_bytes(b"PK nothing")
    with pytest.raises(SourceError, match=r"bad\.zip is damaged or not a zip file"):
        archives.list_names(tmp_path / "bad.zip")
    with (
        pytest.raises(SourceError, match=r"a\.zip contains no nothing\.csv"),
        archives.open_member(packed(tmp_path), "nothing.csv"),
    ):
        pass


def test_a_name_cannot_be_packed_twice(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="would hold x twice"):
        archives.pack(tmp_path / "a.zip", [("x", b"1"), ("x", b"2")])


def test_an_archive_that_unpacks_to_more_than_the_disk_holds_is_refused_before_a_byte_is_written(
    tmp_path: Path,
) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(10**6))
        archive.filelist[0].file_size = 2**60
    with pytest.raises(SourceError, match=r"Unpacking bomb\.zip needs .* but the disk"):
        archives.extract(tmp_path / "bomb.zip", [("zeros", tmp_path / "out" / "zeros")])
    assert not (tmp_path / "out" / "zeros").exists()


def test_a_7z_archive_with_a_link_or_without_an_end_is_refused(tmp_path: Path) -> None:
    import py7zr

    (tmp_path / "link").symlink_to("target")
    (tmp_path / "target").write_text("x")
    with py7zr.SevenZipFile(tmp_path / "links.7z", "w") as archive:
        archive.write(tmp_path / "link", "link")
        archive.write(tmp_path / "target", "target")
    for name in ("out", "torn"):
        (tmp_path / name).mkdir()
    with pytest.raises(SourceError, match=r"links\.7z contains link, which is a link"):
        seven_zip.extract(tmp_path / "links.7z", tmp_path / "out")
    content = (tmp_path / "links.7z").read_bytes()
    (tmp_path / "torn.7z").write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"torn\.7z is damaged"):
        seven_zip.extract(tmp_path / "torn.7z", tmp_path / "torn")
