"""Raw data that is incomplete, damaged or encrypted ends in one clear sentence, and leaves nothing behind."""

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.data.job import run_synthesize
from assay.data.store import PrepareOptions
from assay.tasks import Registry

LEAVES = Registry().task("mlebench/leaf-classification")


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = tmp_path_factory.mktemp("raw")
    run_synthesize(LEAVES, 0, raw)
    return raw


def drop_column(name: str) -> Callable[[Path], None]:
    def damage(raw: Path) -> None:
        with zipfile.ZipFile(raw / "train.csv.zip") as archive:
            table = pd.read_csv(io.BytesIO(archive.read("train.csv")))
        with zipfile.ZipFile(raw / "train.csv.zip", "w") as archive:
            archive.writestr("train.csv", table.drop(columns=name).to_csv(index=False))

    return damage


def change_headers(file: str, offset: int, value: int) -> Callable[[Path], None]:
    """Change a 16-bit field of every member, in its own header and, two bytes further, in the central directory."""

    def damage(raw: Path) -> None:
        content = bytearray((raw / file).read_bytes())
        with zipfile.ZipFile(raw / file) as archive:
            central = archive.start_dir
            for info in archive.infolist():
                field = info.header_offset + offset
                content[field : field + 2] = value.to_bytes(2, "little")
        position = content.find(b"PK\x01\x02", central)
        while position >= 0:
            content[position + offset + 2 : position + offset + 4] = value.to_bytes(2, "little")
            position = content.find(b"PK\x01\x02", position + 4)
        (raw / file).write_bytes(content)

    return damage


def break_lzma(raw: Path) -> None:
    with zipfile.ZipFile(raw / "images.zip") as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(raw / "images.zip", "w", zipfile.ZIP_LZMA) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        starts = [info.header_offset + 30 + len(info.filename) for info in archive.infolist() if not info.is_dir()]
    content = bytearray((raw / "images.zip").read_bytes())
    for start in starts:
        content[start + 4 : start + 9] = b"\xff" * 5  # the properties of the LZMA stream
    (raw / "images.zip").write_bytes(content)


FLAGS, METHOD = 6, 8

DAMAGES = {
    "train.csv without ids": (drop_column("id"), "leaf-classification/prepare.py needs (id); it is damaged"),
    "train.csv without species": (
        drop_column("species"), "leaf-classification/prepare.py needs (['species'] not found in axis); it is damaged"),
    "no train.csv": (lambda raw: (raw / "train.csv.zip").unlink(), "the raw data has no train.csv.zip"),
    "unsupported compression of the table": (
        change_headers("train.csv.zip", METHOD, 99), "train.csv.zip uses an unsupported zip feature"),
    "unsupported compression of images": (
        change_headers("images.zip", METHOD, 99), "images.zip uses an unsupported zip feature"),
    "a link to a file of the host": (
        lambda raw: (raw / "extra.csv").symlink_to("/etc/shadow"), "extra.csv is a link or a special file"),
    "broken LZMA": (break_lzma, "images.zip is damaged"),
    "table with a password": (change_headers("train.csv.zip", FLAGS, 1), "train.csv is encrypted with a password"),
    "images with a password": (change_headers("images.zip", FLAGS, 1), "is encrypted with a password"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES)
def test_preparation_names_the_fault_and_leaves_nothing(
    intact: Path, alone: Home, tmp_path: Path, damage: Callable[[Path], None], sentence: str
) -> None:
    raw = shutil.copytree(intact, tmp_path / "copy")
    damage(raw)
    with pytest.raises(SourceError) as raised:
        prepare(alone, LEAVES, variant="unverified", progress=NoProgress(), options=PrepareOptions(user_copy=raw))
    assert sentence in str(raised.value) and "\n" not in str(raised.value)
    left = [path for folder in (alone.data, alone.public) if folder.exists() for path in folder.rglob("*")]
    assert [path for path in left if not path.is_dir()] == []
    assert [path for path in left if path.name.startswith(".") or path.parent == alone.public] == []
