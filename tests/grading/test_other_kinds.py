"""Files that are no plain text are named for what they are, and large ones cost no memory."""

import gzip
import io
import lzma
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest

from assay.core.home import Home
from assay.grading import grade_submission

GOOD = "id,price\na,1\nb,2\n"


def workbook() -> bytes:
    """The parts by which an Excel workbook is told from other zip archives."""
    return zipped("[Content_Types].xml", "xl/workbook.xml")


def zipped(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return content.getvalue()


def parquet() -> bytes:
    content = io.BytesIO()
    pl.read_csv(GOOD.encode()).write_parquet(content)
    return content.getvalue()


def array() -> bytes:
    content = io.BytesIO()
    np.save(content, np.arange(3))
    return content.getvalue()


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: gzip.compress(GOOD.encode()), "gzip-compressed"),
        (lambda: lzma.compress(GOOD.encode()), "xz-compressed"),
        (lambda: zipped("submission.csv"), "a zip archive"),
        (workbook, "an Excel workbook"),
        (parquet, "a Parquet file"),
        (lambda: pickle.dumps({"id": ["a"], "price": [1]}), "a Python pickle"),
        (array, "a NumPy array"),
    ],
)
def test_a_file_of_another_kind_is_named(make, kind, lenient, make_task, graded):
    assert graded(make_task(lenient=lenient), GOOD, make()).why == f"submission.csv is {kind}; submit plain CSV."


@pytest.mark.parametrize("lenient", [True, False])
def test_a_file_of_five_gigabytes_is_refused_unread(lenient, make_task, graded, tmp_path, prepared):
    task, path = make_task(lenient=lenient), tmp_path / "submission.csv"
    (prepared.private / "answers.csv").write_text(GOOD)
    with path.open("wb") as sparse:
        sparse.write(GOOD.encode())
        sparse.truncate(5 * 10**9)
    grade = grade_submission(path, task, prepared, home=Home(tmp_path))
    assert grade.why == "submission.csv is 5,000,000,000 bytes; at most 100,000,000 are accepted."


MEASURE = """
import resource, sys
from pathlib import Path
from types import SimpleNamespace
import pandas
from assay.grading import grade_submission
from assay.grading.submission import lenient
from assay.core.home import Home
from assay.tasks import Task
path, private, task = Path(sys.argv[1]), Path(sys.argv[2]), Task.model_validate_json(sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
prepared = SimpleNamespace(private=private, edition="v1", variant="real")
grade = grade_submission(path, task, prepared, home=Home(path.parent))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, grade.why)
"""


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        b"id,price" + b"," * 30_000 + b"\n" + b"1\n" * 2_000_000,
        b"," * 8_000_000,
        b"id,price\n" + b"," * 8_000_000,
        b"id,price\n" + b'"' * 8_000_000,
        b"id,price\na," + b"1" * 8_000_000 + b"\nb,1\n",
        b"\n" * 8_000_000,
    ],
    ids=["short rows", "endless header", "endless row", "quotes", "endless number", "blank lines"],
)
def test_no_file_takes_much_more_memory_than_its_size(content, lenient, make_task, tmp_path, prepared):
    (prepared.private / "answers.csv").write_text(GOOD)
    path, task = tmp_path / "submission.csv", make_task(lenient=lenient, more_columns=True)
    path.write_bytes(content)
    words = [str(path), str(prepared.private), task.model_dump_json()]
    done = subprocess.run([sys.executable, "-c", MEASURE, *words], capture_output=True, text=True, check=True)
    kilobytes, _, why = done.stdout.strip().partition(" ")
    assert int(kilobytes) < 500_000
    assert why.endswith(".")
