"""A stranger's data ends an audit with findings, not with a hang, a crash or all memory used."""

import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

MEMORY = 3 * 10**9
"""Bytes of address space; the imports of an audit alone map about a gigabyte."""


def make_png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def write_table(path: Path, columns: int, rows: int = 5) -> None:
    names = ",".join(f"c{number}" for number in range(columns))
    path.write_text(f"id,{names}\n" + "".join(f"{row}{',7' * columns}\n" for row in range(rows)))


def write_giant_image(folder: Path) -> None:
    for side in ("train", "test"):
        (folder / side).mkdir()
        (folder / side / "giant.png").write_bytes(make_png(60_000, 60_000))


def write_wide_tables(folder: Path) -> None:
    write_table(folder / "train.csv", 60_000)
    write_table(folder / "test.csv", 60_000)


def write_wide_records(folder: Path) -> None:
    """Each row has keys of its own: as one table, 90 million cells."""
    for side in ("train", "test"):
        rows = ({f"key {row} {number}": 1 for number in range(10)} for row in range(3_000))
        (folder / f"{side}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_special_files(folder: Path) -> None:
    for name in ("test.csv", "train.json", "test.zip", "x_train.npy", "train.parquet", "test.tfrecord", "train.png"):
        os.mkfifo(folder / name)
    (folder / "test.tsv").symlink_to("/dev/zero")


CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipes and a link to an endless file": (write_special_files, "medium  links and special files"),
    "an image of 3.6 gigapixels": (write_giant_image, "none    links and special files"),
    "60,000 columns": (write_wide_tables, "5 training and 5 test rows"),
    "30,000 different keys": (write_wide_records, "none    links and special files"),
    "JSON of many values": (
        lambda folder: (folder / "train.json").write_text("[" + "[]," * 20_000_000 + "[]]"),
        "none    links and special files",
    ),
    "deep JSON": (
        lambda folder: (folder / "train.json").write_text("[" * 100_000 + "]" * 100_000),
        "none    links and special files",
    ),
}


@pytest.mark.parametrize(("write", "expected"), CASES.values(), ids=CASES.keys())
def test_hostile_data_is_audited_within_limits(tmp_path: Path, write: Callable[[Path], None], expected: str):
    (tmp_path / "other.csv").write_text("id,a\n1,2\n")
    write(tmp_path)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))"
    code = f"{limit}\nfrom assay.cli import assay\nassay(['audit', {str(tmp_path)!r}, '--all', '--quiet'])"
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "COLUMNS": "200"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, timeout=300)
    assert (done.returncode, expected in done.stdout) == (0, True), (done.stdout, done.stderr[-2000:])
    assert "Error:" not in done.stdout
