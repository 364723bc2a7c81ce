"""Hostile zip files in place of an exported run: refused in one sentence, without a hang, and nothing is left."""

import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import AssayError, UsageError
from assay.records.bundle import unpack_bundle

RUN = ("run.json", b"{}")


def pack(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", method) as archive:
        warnings.simplefilter("ignore")  # about members that occur twice
        for name, content in (RUN, *members):
            archive.writestr(name, content)
    return path


def damage(path: Path, marker: bytes, offset: int, content: bytes) -> None:
    data = bytearray(path.read_bytes())
    start = data.rindex(marker) + offset
    data[start : start + len(content)] = content
    path.write_bytes(data)


def encrypted(path: Path) -> None:
    pack(path, ("a", b"x"))
    damage(path, b"PK\x03\x04", 6, b"\1")
    damage(path, b"PK\x01\x02", 8, b"\1")


def broken_deflate(path: Path) -> None:
    pack(path, ("a", bytes(range(256)) * 9), method=zipfile.ZIP_DEFLATED)
    damage(path, b"PK\x03\x04", 31, b"\xff" * 20)


ATTACKS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder above": lambda path: pack(path, ("../x", b"")),
    "an absolute name": lambda path: pack(path, ("/etc/x", b"")),
    "control characters": lambda path: pack(path, ("\x1b]0;x\x07", b"")),
    "a name that is too long": lambda path: pack(path, ("a" * 300, b"")),
    "a member twice": lambda path: pack(path, ("a", b"1"), ("a", b"2")),
    "a file that is a folder": lambda path: pack(path, ("a", b""), ("a/b/c", b"")),
    "a folder that is a file": lambda path: pack(path, ("a/b/c", b""), ("a/b", b"")),
    "another compression": lambda path: pack(path, ("a", b"x" * 99), method=zipfile.ZIP_BZIP2),
    "broken compression": broken_deflate,
    "a password": encrypted,
    "more than the disk holds": lambda path: pack(path, ("a", b"x" * 30_000), method=zipfile.ZIP_DEFLATED),
    "no zip file": lambda path: path.write_bytes(b"PK\x03\x04"),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hostile_bundle_is_refused(tmp_path: Path, attack: Callable[[Path], object]) -> None:
    attack(tmp_path / "run.zip")
    (tmp_path / "inner").mkdir()
    with pytest.raises(AssayError) as refused:
        unpack_bundle(tmp_path / "run.zip", tmp_path / "inner" / "run", free_space=20_000)
    assert "\x1b" not in str(refused.value) and len(str(refused.value)) < 1_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inner", "run.zip"]


def test_too_many_members_are_refused_before_any_is_written(tmp_path: Path) -> None:
    pack(tmp_path / "run.zip", *((f"a{number}", b"") for number in range(5)))
    with pytest.raises(UsageError, match="too large"):
        unpack_bundle(tmp_path / "run.zip", tmp_path / "run", max_members=5)
    assert not (tmp_path / "run").exists()
