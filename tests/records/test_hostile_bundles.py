"""Hostile zip files in place of an exported run: refused in one sentence, without a hang, and nothing is left."""

import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import AssayError, UsageError
from assay.records.bundle import unpack_bundle

RUN = ("run.json", b'{"format": "run/1", "created_at": "2026-11-16T12:00:00+00:00", "trials": ["a"]}')
LOG = "trials/a/events.jsonl"


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
    pack(path, (LOG, b"x"))
    damage(path, b"PK\x03\x04", 6, b"\1")
    damage(path, b"PK\x01\x02", 8, b"\1")


def broken_deflate(path: Path) -> None:
    pack(path, (LOG, bytes(range(256)) * 9), method=zipfile.ZIP_DEFLATED)
    damage(path, b"PK\x03\x04", 31, b"\xff" * 20)


ATTACKS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder above": lambda path: pack(path, ("../x", b"")),
    "an absolute name": lambda path: pack(path, ("/etc/x", b"")),
    "control characters": lambda path: pack(path, ("\x1b]0;x\x07", b"")),
    "a name that is too long": lambda path: pack(path, ("a" * 300, b"")),
    "a member twice": lambda path: pack(path, (LOG, b"1"), (LOG, b"2")),
    "a file that no run has": lambda path: pack(path, ("a.html", b"")),
    "a file that no trial has": lambda path: pack(path, ("trials/a/x.html", b"")),
    "a trial that the run does not list": lambda path: pack(path, ("trials/b/trial.json", b"")),
    "a folder of a trial": lambda path: pack(path, ("trials/a/snapshots/objects/x", b"")),
    "a run that is no run": lambda path: path.write_bytes(pack(path).read_bytes().replace(b'"run/1"', b'"run/9"')),
    "a file that is a folder": lambda path: pack(path, ("a", b""), ("a/b/c", b"")),
    "a folder that is a file": lambda path: pack(path, ("a/b/c", b""), ("a/b", b"")),
    "another compression": lambda path: pack(path, (LOG, b"x" * 99), method=zipfile.ZIP_BZIP2),
    "broken compression": broken_deflate,
    "a password": encrypted,
    "more than the disk holds": lambda path: pack(path, (LOG, b"x" * 30_000), method=zipfile.ZIP_DEFLATED),
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


@pytest.mark.parametrize("name", [LOG, "trials/a/submission/x.csv", "trials/a/trial.json"])
def test_a_small_file_that_unpacks_to_gigabytes_is_refused_before_any_is_written(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(*RUN)
        with archive.open(name, "w") as file:
            for _ in range(150):
                file.write(bytes(10**6))
    assert (tmp_path / "run.zip").stat().st_size < 200_000
    with pytest.raises(UsageError, match="too large for an exported run"):
        unpack_bundle(tmp_path / "run.zip", tmp_path / "run", free_space=10**12)
    assert not (tmp_path / "run").exists()


def test_extra_members_are_refused_before_any_is_written(tmp_path: Path) -> None:
    pack(tmp_path / "run.zip", *((f"trials/a/x{number}", b"") for number in range(20_000)))
    with pytest.raises(UsageError, match="that no exported run has"):
        unpack_bundle(tmp_path / "run.zip", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_too_many_members_are_refused_before_any_is_written(tmp_path: Path) -> None:
    pack(tmp_path / "run.zip", *((f"a{number}", b"") for number in range(5)))
    with pytest.raises(UsageError, match="too large"):
        unpack_bundle(tmp_path / "run.zip", tmp_path / "run", max_members=5)
    assert not (tmp_path / "run").exists()
