"""One table of odd files, each parsed strictly and leniently, with and without the fast path; and what is not CSV.

The answers are `007`, 8 and 9 with prices 10, 20 and 30. A score is the mean absolute error, 0 for a file that was
understood; text is why there is none.
"""

import bz2
import gzip
import io
import lzma
import os
import pickle
import socket
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.core.home import Home
from assay.grading import grade_submission
from assay.grading.submission.read import choose_parser

GOOD = b"id,price\n9,30\n007,10\n8,20\n"
NOT_CSV = "submission.csv is not a CSV table:"
COLUMNS = "the columns must be id, price"
NUMBER = "submission.csv: column 'price' must be a number, but is"
ZERO_BYTES = "submission.csv is not text: it holds zero bytes; write a CSV file in UTF-8."
LONE_RETURN = f"{NOT_CSV} lines end in a carriage return alone; end them with LF or CRLF."
TOO_LONG = f"{NOT_CSV} a row has more values than the header has columns."
NO_ROWS = "submission.csv has a header but no rows."
NOT_UTF8 = "submission.csv is not UTF-8 text."
FLOOD = "submission.csv has 1,100,001 lines; 3 rows are needed."


@dataclass(frozen=True)
class Oddity:
    """A file, what strict and lenient parsing make of it, and which of them the fast path spares: `S`, `L` or both."""

    content: bytes
    strict: float | str
    lenient: float | str | None = None
    fast: str = ""


ODDITIES = {
    "plain": Oddity(GOOD, 0, 0, "SL"),
    "byte-order mark": Oddity(b"\xef\xbb\xbf" + GOOD, 0, 0, "S"),
    "CRLF": Oddity(GOOD.replace(b"\n", b"\r\n"), 0, 0, "S"),
    "no newline at the end": Oddity(GOOD.removesuffix(b"\n"), 0, 0, "SL"),
    "blank lines": Oddity(GOOD + b"\n\n", 0, 0),
    "columns in another order": Oddity(b"price,id\n30,9\n10,007\n20,8\n", 0, 0, "SL"),
    "quotes and blanks": Oddity(b'id,"price"\n"9","30"\n007, 10 \n8,2e1\n', 0, 0),
    "numbers in other notations": Oddity(b"id,price\n9,30.\n007,+10\n8,20.0\n", 0, 0, "SL"),
    "empty": Oddity(b"", "submission.csv is empty."),
    "header only": Oddity(b"id,price\n", NO_ROWS),
    "header without newline": Oddity(b"id,price", NO_ROWS),
    "header and blank lines": Oddity(b"id,price\n\n\n", NO_ROWS),
    "blank": Oddity(
        b"\n\n",
        f"submission.csv has no column 'id', 'price': its first line is blank, but {COLUMNS}.",
        "submission.csv has no columns: it is blank.",
    ),
    "another column": Oddity(
        b"id,cost\n9,3\n", f"submission.csv has no column 'price': it has 'id', 'cost', but {COLUMNS}."
    ),
    "an extra column": Oddity(
        b"id,price,x\n9,30,1\n8,20,1\n007,10,1\n", f"submission.csv has unknown column 'x'; {COLUMNS}.", 0, "L"
    ),
    "row numbers": Oddity(
        b",id,price\n0,9,30\n1,8,20\n2,007,10\n", f"submission.csv has unknown column ''; {COLUMNS}.", 0, "L"
    ),
    "a column twice": Oddity(
        b"id,price,price\n9,30,1\n8,20,1\n007,10,1\n",
        f"submission.csv has column 'price' more than once; {COLUMNS}.",
        0,
    ),
    "a row missing": Oddity(
        b"id,price\n9,3\n007,1\n",
        "submission.csv is missing id '8' (2 of 3 rows found).",
        "submission.csv has 2 rows; 3 are needed.",
    ),
    "two rows missing": Oddity(
        b"id,price\n9,3\n",
        "submission.csv is missing id '007', '8' (1 of 3 rows found).",
        "submission.csv has 1 rows; 3 are needed.",
    ),
    "an id twice": Oddity(
        b"id,price\n9,3\n9,3\n8,2\n007,1\n",
        "submission.csv has id '9' more than once.",
        "submission.csv has 4 rows; 3 are needed.",
    ),
    "an empty id": Oddity(b"id,price\n9,3\n,3\n8,2\n", "submission.csv has no id in row 2."),
    "an unknown id": Oddity(
        b"id,price\n9,3\n8,2\n007,1\n10,5\n",
        "submission.csv has unknown id '10'.",
        "submission.csv has 4 rows; 3 are needed.",
    ),
    "an id without its zeros": Oddity(
        b"id,price\n9,30\n8,20\n7,10\n",
        "submission.csv has unknown id '7'; '007' is expected, and ids are compared as text.",
        0,
    ),
    "ids as fractions": Oddity(
        b"id,price\n9.0,30\n8.0,20\n007,10\n",
        "submission.csv has unknown id '9.0', '8.0'; '9' is expected, and ids are compared as text.",
        0,
    ),
    "a short row": Oddity(b"id,price\n9,3\n8,2\n007\n", f"{NUMBER} empty for id '007'.", f"{NUMBER} empty for id '7'."),
    "an empty value": Oddity(
        b"id,price\n9,3\n8,2\n007,\n", f"{NUMBER} empty for id '007'.", f"{NUMBER} empty for id '7'."
    ),
    "NaN": Oddity(b"id,price\n9,3\n8,NaN\n007,1\n", f"{NUMBER} 'NaN' for id '8'.", f"{NUMBER} empty for id '8'."),
    "infinite": Oddity(
        b"id,price\n9,-inf\n8,Infinity\n007,1\n",
        f"{NUMBER} 'Infinity' for id '8', and 1 more are wrong.",
        f"{NUMBER} 'inf' for id '8', and 1 more are wrong.",
    ),
    "a word": Oddity(b"id,price\n9,3\n8,cheap\n007,1\n", f"{NUMBER} 'cheap' for id '8'."),
    "a value on two lines": Oddity(b'id,price\n9,3\n8,"1\n2"\n007,1\n', f"{NUMBER} '1\\n2' for id '8'."),
    "a long row": Oddity(b"id,price\n9,3\n8,2,4\n007,1\n", TOO_LONG),
    "a comma at the end": Oddity(b"id,price\n9,30\n8,20\n007,10,", TOO_LONG),
    "long rows only": Oddity(b"id,price\n7,8,10\n1,9,30\n2,007,20\n", TOO_LONG, 6.66667),  # The first is an index.
    "an open quote": Oddity(
        b'id,price\n9,3\n8,"2\n007,1\n',
        f"{NOT_CSV} a quoted value does not end, or something follows its closing quote.",
        f"{NOT_CSV} a quoted value does not end.",
    ),
    "Latin-1": Oddity(
        "id,price\n9,3\n8,2\n007,é\n".encode("latin-1"), f"{NOT_CSV} it is not UTF-8 text.", NOT_UTF8
    ),
    "Latin-1 header": Oddity("id,prix é\n9,3\n".encode("latin-1"), NOT_UTF8),
    "UTF-16": Oddity(GOOD.decode().encode("utf-16"), ZERO_BYTES, NOT_UTF8),
    "a picture": Oddity(b"\x89PNG\r\n\x1a\n\x00\x00", ZERO_BYTES, NOT_UTF8),
    "a zero byte": Oddity(GOOD.replace(b"30", b"3\0"), ZERO_BYTES, 9),
    "a line of zero bytes": Oddity(GOOD + b"\0\n", ZERO_BYTES, "submission.csv has 4 rows; 3 are needed."),
    "a zero byte in an id": Oddity(GOOD.replace(b"\n9", b"\n9\0"), ZERO_BYTES, 0),
    "carriage returns": Oddity(GOOD.replace(b"\n", b"\r"), LONE_RETURN, 0),
    "one carriage return": Oddity(b"id,price\n9,30\r007,10\n8,20\n", LONE_RETURN, 0),
    "JSON": Oddity(
        b'{"id": 9, "price": 3}',
        f"submission.csv has no column 'id', 'price': it has '{{\"id\": 9', ' \"price\": 3}}', but {COLUMNS}.",
        NO_ROWS,
    ),
    "an endless header": Oddity(b"," * 10**6, f"{NOT_CSV} its first line is over 65,536 bytes long."),
    "an endless quoted header": Oddity(
        b'"\n' + b"," * 70_000 + b'"\n1,1\n',
        f'{NOT_CSV} in its first line, unexpected end of data.',
        f"{NOT_CSV} its first line is over 65,536 bytes long.",
    ),
    "many columns and short rows": Oddity(
        b"id,price" + b"," * 20_000 + b"\n" + b"1\n" * 10_000,
        f"submission.csv has column '' more than once; {COLUMNS}.",
        f"{NOT_CSV} its rows are much shorter than its first line.",
    ),
    "a flood of newlines": Oddity(b"id,price\n" + b"\n" * 1_100_000, FLOOD),
    "a flood of commas": Oddity(b"id,price\n" + b",\n" * 1_100_000, FLOOD),
}  # fmt: skip


@pytest.mark.parametrize("name", ODDITIES)
def test_an_odd_file_is_understood_or_explained(name, make_task, graded, prepared):
    oddity = ODDITIES[name]
    answers = (prepared.private / "answers.csv").read_text()
    lenient = oddity.strict if oddity.lenient is None else oddity.lenient
    for path, expected in (("S", oddity.strict), ("L", lenient)):
        task = make_task(lenient=path == "L", more_columns=path == "L")
        grade = graded(task, answers, oddity.content)
        assert (grade.why if grade.score is None else grade.score) == expected
        fast = oddity.content and choose_parser(replace(prepared, task=task)).fast_path.parse(oddity.content, None)
        assert bool(fast) is (path in oddity.fast)


def zipped(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return content.getvalue()


def written(write) -> bytes:
    content = io.BytesIO()
    write(content)
    return content.getvalue()


def bomb(level: int) -> bytes:
    """Return a zlib stream of at most 0.6 MB that unpacks to 600 MB, made of one block that is repeated."""
    compressor = zlib.compressobj(level)
    start = compressor.compress(b"x") + compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(b"9,30\n" * 1_200_000) + compressor.flush(zlib.Z_FULL_FLUSH)
    return start + block * (600_000 // len(block))


OTHER_FORMATS = {
    "gzip-compressed": gzip.compress(GOOD),
    "bzip2-compressed": bz2.compress(GOOD),
    "xz-compressed": lzma.compress(GOOD),
    "zstd-compressed": b"\x28\xb5\x2f\xfd" + GOOD,
    "zlib-compressed": zlib.compress(GOOD),
    "a zip archive": zipped("submission.csv"),
    "an Excel workbook": zipped("[Content_Types].xml", "xl/workbook.xml"),
    "a Parquet file": written(pl.read_csv(GOOD).write_parquet),
    "a Python pickle": pickle.dumps({"id": ["a"], "price": [1]}),
    "a NumPy array": written(lambda file: np.save(file, np.arange(3))),
}


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "marked"])
@pytest.mark.parametrize("kind", OTHER_FORMATS)
def test_other_formats_are_recognized(kind, mark, lenient, make_task, graded):
    grade = graded(make_task(lenient=lenient), GOOD.decode(), mark + OTHER_FORMATS[kind])
    assert grade.why == f"submission.csv is {kind}; submit plain CSV."


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("level", [1, 3, 6, 9])
def test_compressed_data_is_recognized_at_every_level(level, lenient, make_task, graded):
    grade = graded(make_task(lenient=lenient), GOOD.decode(), zlib.compress(GOOD, level))
    assert grade.why.startswith("submission.csv is zlib")


@pytest.mark.parametrize("lenient", [True, False])
def test_text_that_begins_like_compressed_data_is_read(lenient, make_task, graded):
    task = make_task(lenient=lenient, more_columns=True)
    lines = [f"{first},{line}" for first, line in zip(("x^2", "1", "4", "9"), GOOD.decode().splitlines(), strict=False)]
    assert graded(task, GOOD.decode(), "\n".join(lines)).score == 0


MEASURE = """
import resource, sys
from pathlib import Path
from types import SimpleNamespace
import pandas
from assay.core.home import Home
from assay.grading import grade_submission
from assay.grading.submission import lenient
from assay.tasks import Task
private, task = Path(sys.argv[1]), Task.model_validate_json(sys.argv[2])
prepared = SimpleNamespace(task=task, private=private, edition="v1", variant="real")
for path in map(Path, sys.argv[3:]):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    why = grade_submission(path, prepared, home=Home(private)).why
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, path.name, why)
"""
HEAVY = {
    "short rows": b"id,price" + b"," * 30_000 + b"\n" + b"1\n" * 2_000_000,
    "endless header": b"," * 8_000_000,
    "endless row": b"id,price\n" + b"," * 8_000_000,
    "quotes": b"id,price\n" + b'"' * 8_000_000,
    "endless number": b"id,price\na," + b"1" * 8_000_000 + b"\nb,1\n",
    "blank lines": b"\n" * 30_000_000,
    "commas": b"id,price\n" + b",\n" * 15_000_000,
}


@pytest.mark.parametrize("lenient", [True, False])
def test_no_file_takes_much_more_memory_than_its_size(lenient, make_task, tmp_path, prepared):
    task, paths = make_task(lenient=lenient, more_columns=True), []
    for name, content in {**HEAVY, "bomb": bomb(1), "small bomb": b"\xef\xbb\xbf" + bomb(9)}.items():
        paths.append(tmp_path / f"{name}.csv")
        paths[-1].write_bytes(content)
    command = [sys.executable, "-c", MEASURE, str(prepared.private), task.model_dump_json(), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths)
    for line in lines:
        assert int(line.split()[0]) < 400_000 and line.endswith("."), line


def test_a_file_above_the_size_limit_is_refused_unread(make_task, prepared, tmp_path):
    path = tmp_path / "submission.csv"
    with path.open("wb") as sparse:
        sparse.truncate(10**12)
    for lenient in (True, False):
        grade = grade_submission(path, replace(prepared, task=make_task(lenient=lenient)), home=Home(tmp_path))
        assert grade.why == "submission.csv is 1,000,000,000,000 bytes; at most 100,000,000 are accepted."


def test_only_regular_files_are_opened(make_task, prepared, tmp_path, monkeypatch):
    """A link may lead to the answers, a pipe may wait for a writer, and opening a device may have side effects."""
    (tmp_path / "elsewhere.csv").write_bytes(GOOD)
    (tmp_path / "link.csv").symlink_to("elsewhere.csv")
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    monkeypatch.chdir(tmp_path)  # socket addresses must be short
    kinds = {"link.csv": "a symbolic link", "folder.csv": "a folder", "pipe.csv": "a pipe", "socket.csv": "a socket"}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.csv")
        paths = {tmp_path / name: kind for name, kind in kinds.items()} | {Path("/dev/zero"): "a device"}
        for path, kind in paths.items():
            grade = grade_submission(path, prepared, home=Home(tmp_path))
            assert grade.why == f"{path.name} is {kind}; submit a regular file."
    grade = grade_submission(tmp_path / "absent.csv", prepared, home=Home(tmp_path))
    assert grade.why == "absent.csv does not exist."


@pytest.mark.parametrize("content", [GOOD, b"", b"id,price\n9,x\n"], ids=["good", "empty", "bad"])
def test_content_is_graded_like_a_file(content, prepared, tmp_path):
    (tmp_path / "submission.csv").write_bytes(content)
    grades = [
        grade_submission(source, prepared, home=Home(tmp_path)) for source in (tmp_path / "submission.csv", content)
    ]
    assert grades[0].score == grades[1].score and grades[0].why == grades[1].why
    assert grades[1].submission_exists and grades[1].submission_path == "submission.csv"
