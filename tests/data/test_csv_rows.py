"""Rows that are moved as bytes are those that pandas writes after reading them, whatever is in the cells."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.data import csv_cells, csv_rows, pandas_tables
from assay.data.csv_rows import Limits

SMALL = Limits(block=64, mapped=0, bucket=100, few=0)
LARGE_ENOUGH = Limits()
SIZES = st.sampled_from([LARGE_ENOUGH, SMALL])
MISSING = ["", "NA", "NaN", "nan", "null", "None", "N/A", "#N/A", "<NA>", "-nan", "-1.#IND", "n/a", "#N/A N/A", "NULL"]
INTEGERS = ["0", "7", "-12", "007", "+5", "-0", "123456789012345678", "9223372036854775807", " 5", "5 ", "00", "1_000"]
LARGE = ["9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1" * 30]
DECIMALS = [
    "0.5", "-1.25", "0.10", "1.0", "5.", ".5", "+.5", "-0.0", "0.0001", "0.00001", "1e5", "1E-7", "1e400", "1e-400",
    "123456789.123456789", "0.1234567890123456", "0.30000000000000004", "12345678901234567.5", "1e16", "00.5",
    "9999999999999998.0", "100000000000000000000.0", "0.000123456789012345", "999.999999999999", "4.35", "2.675",
    "1.7976931348623157e308", "5e-324", "72057594037927945.0", "0.1000000000000000055511151231257827", " 1.5", "1.5 ",
    "1,5", "-.5e+3",
]  # fmt: skip
ODD = ["inf", "-inf", "Infinity", "+nan", "INF", "1e", "e5", ".", "-", "+", "--1", "1-2", "0x10", "1.2.3", "1 2", "١"]
BOOLEANS = ["True", "False", "true", "FALSE", "TRUE", "yes", "T"]
TEXTS = [
    "word", "two words", " lead", "trail ", "a,b", 'say "hi"', '"', '""', "line\nbreak", "é", "日本", "2009-01-31",
    "\t", "N",
    "Na", "NAN ", "nul", "None.", "#N", "<", "-1.#IN", "tru", "10:30", "'", "\\", "a\tb", "\x0b", "\x85", "\u2028",
]  # fmt: skip
CHARS = ["0", "/", ":", "-", ".", "e", " ", "\x10", "p", "\x80", "\xae", "\xb0", "\xff"]
POOLS = [MISSING, INTEGERS, LARGE, DECIMALS, ODD, BOOLEANS, TEXTS]


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """Columns that mostly hold one type of cells, with a few of others, as they are written in a CSV file."""
    width, height = draw(st.integers(2, 4)), draw(st.integers(1, 12))
    columns = []
    for _ in range(width):
        common = draw(st.sampled_from(["pool", "int", "float"]))
        cells = {
            "pool": st.sampled_from(draw(st.sampled_from(POOLS))),
            "int": st.integers(-99, 99).map(str),
            "float": st.floats(allow_nan=False).map(repr),
        }[common]
        others = draw(st.lists(st.sampled_from(POOLS), max_size=2))
        rare = st.sampled_from([cell for pool in others for cell in pool] or [""])
        columns.append([draw(rare) if draw(st.integers(0, 5)) == 0 else draw(cells) for _ in range(height)])
    return [list(row) for row in zip(*columns, strict=True)]


def quote(cell: str, style: int) -> str:
    """Return a cell with quotes where it needs them, or (style 1) anyway."""
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if style == 1 or set(cell) & set(',"\r\n') else cell


def check(text: bytes, folder: Path, limits: Limits = LARGE_ENOUGH) -> None:
    """Compare all rows, shuffled rows, and a selection of columns with what pandas writes, or its error."""
    path = folder / "raw.csv"
    path.write_bytes(text)
    try:
        frame = pandas_tables.read(path)
    except (ValueError, OverflowError) as error:
        with pytest.raises(type(error)):
            csv_rows.scan(path, folder, pandas_tables.read, limits=limits)
        return
    table = csv_rows.scan(path, folder, pandas_tables.read, limits=limits)
    assert (len(table), table.columns) == (len(frame), list(frame.columns))
    order = np.random.RandomState(0).permutation(len(frame))
    names = list(frame.columns)
    cases: list[tuple[Callable[[], object], Callable[[], object]]] = [
        (lambda: table, lambda: frame),
        (lambda: table.take(order), lambda: frame.take(order)),
        (lambda: table.take(np.sort(order[: len(order) // 2])), lambda: frame.take(np.sort(order[: len(order) // 2]))),
        (lambda: table.take(order).drop(columns=names[0]), lambda: frame.take(order).drop(columns=names[0])),
        (
            lambda: table.take(order)[names[:2]].assign(new=0.5, id=range(len(order))),
            lambda: frame.take(order)[names[:2]].assign(new=0.5, id=range(len(order))),
        ),
    ]
    pd.testing.assert_frame_equal(
        table.take(order).to_frame(), frame.take(order).reset_index(drop=True), check_dtype=False
    )
    for ours, theirs in cases:
        ours().to_csv(folder / "ours.csv", index=False)
        expected = io.BytesIO()
        theirs().to_csv(expected, index=False)
        assert (folder / "ours.csv").read_bytes() == expected.getvalue()


@settings(suppress_health_check=[HealthCheck.too_slow])
@example([["", "9223372036854775808"]], 0, "\n", False, LARGE_ENOUGH)
@given(tables(), st.integers(0, 2**16), st.sampled_from(["\n", "\r\n"]), st.booleans(), SIZES)
def test_hostile_cells_are_written_as_by_pandas(
    rows: list[list[str]], quoted: int, line_end: str, last_end: bool, limits: Limits
) -> None:
    header = [f"c{number}" for number in range(len(rows[0]))]
    lines = [
        ",".join(quote(cell, quoted >> (number + position) % 16 & 1) for position, cell in enumerate(row))
        for number, row in enumerate(rows)
    ]
    text = line_end.join([",".join(header), *lines]) + (line_end if last_end else "")
    with TemporaryDirectory() as folder:
        check(text.encode(), Path(folder), limits)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), SIZES)
def test_many_hostile_rows_of_the_same_sizes_are_written_as_by_pandas(rows: list[list[str]], limits: Limits) -> None:
    lines = [",".join(quote(cell, number % 2) for cell in row) for number, row in enumerate(rows)]
    header = ",".join(f"c{number}" for number in range(len(rows[0])))
    with TemporaryDirectory() as folder:
        check("\n".join([header, *lines * 20, ""]).encode(), Path(folder), limits)


@given(st.binary(min_size=1, max_size=40), st.integers(1, 12), st.data())
def test_parts_are_joined_in_their_order(content: bytes, count: int, data: st.DataObject) -> None:
    """Parts may overlap, be empty or reach to the end, and be of many sizes or few."""
    bounds = st.lists(st.integers(0, len(content)), min_size=2, max_size=2).map(sorted)
    parts = data.draw(st.lists(bounds, max_size=count)) * data.draw(st.sampled_from([1, 20]))
    data.draw(st.randoms(use_true_random=False)).shuffle(parts)
    starts, ends = np.array(parts, np.intp).reshape(-1, 2).T
    joined = csv_cells.join(np.frombuffer(content, np.uint8), starts, ends)
    assert bytes(joined) == b"".join(content[start:end] for start, end in parts)


def test_numbers_of_any_length_are_unchanged_only_if_python_prints_them_so() -> None:
    """At every position, a point, and characters whose bits are near those of digits and of a point."""
    plain = [f"{sign}{'123456789012345678'[:size]}" for size in range(19) for sign in ("", "-")]
    numbers = {
        number[:position] + char + number[position:] for number in plain for position in range(20) for char in ("", ".")
    }
    numbers |= {
        number[:position] + char + number[position + 1 :]
        for number in numbers
        for position in range(20)
        for char in CHARS
    }
    texts = sorted(numbers)
    content = "".join(f"{text},x\n" for text in texts).encode("latin-1")
    cells = csv_cells.split_cells(np.frombuffer(content, np.uint8), 2)
    changed = {kind: set(cells.find_changes(0, kind).tolist()) for kind in ("int", "float")}
    for row, text in enumerate(texts):
        is_int = re.fullmatch("-?[1-9][0-9]{0,17}|0", text)
        is_float = re.fullmatch(r"-?(?:[1-9][0-9]*|0(?=\.[1-9]|\.[0-9]{1,4}$))\.(?:[0-9]*[1-9]|0)", text)
        is_float = is_float and len(text.removeprefix("-")) <= 16
        assert (row in changed["int"], row in changed["float"]) == (not is_int, not is_float and text != "")
        assert not is_int or str(int(text)) == text
        assert not is_float or repr(float(text)) == text


@example(['""', " "], LARGE_ENOUGH)
@given(st.lists(st.sampled_from([*',"\n\r \0', "a", "1", '""', "\xff", "é"]), max_size=30), SIZES)
def test_a_file_of_any_structure_is_what_pandas_makes_of_it(parts: list[str], limits: Limits) -> None:
    text = b"a,b\n1,x\n2,y\n" + "".join(parts).encode("latin-1")
    with TemporaryDirectory() as folder:
        check(text, Path(folder), limits)


@pytest.mark.filterwarnings("ignore::pandas.errors.DtypeWarning")
def test_types_are_inferred_for_as_many_rows_at_a_time_as_pandas_does(tmp_path: Path) -> None:
    """Of 8 columns pandas reads 65,536 rows at a time; where such a portion has only numbers, they are numbers."""
    columns = {
        "zeros": ["007", "x"], "integers": ["3", "0.5"], "booleans": ["True", "x"], "lower": ["true", "x"],
        "decimals": ["0.50", "x"], "empty": ["", "x"], "large": ["1" * 25, "x"], "words": ["x", "y"],
    }  # fmt: skip
    for portion in (65_535, 65_536):
        rows = [[cells[number >= portion] for cells in columns.values()] for number in range(portion + 3)]
        text = "\n".join(",".join(row) for row in [list(columns), *rows]) + "\n"
        check(text.encode(), tmp_path)


@pytest.mark.parametrize("limits", [LARGE_ENOUGH, Limits(block=1000, mapped=0, bucket=5000)])
def test_rows_of_very_different_lengths_and_many_columns(tmp_path: Path, limits: Limits) -> None:
    words = ['"' + "long, text\n" * (number % 7 * 20) + ',"' if number % 3 else "short" for number in range(500)]
    rows = [f"{number},{word},{number / 8}" + ",0" * 300 for number, word in enumerate(words)]
    header = ",".join(f"c{number}" for number in range(303))
    check("\n".join([header, *rows, ""]).encode(), tmp_path, limits)


def test_a_row_is_numbered_after_it_is_taken_and_taken_once(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("a,b\n" + "".join(f"{number},x\n" for number in range(50)))
    table = csv_rows.scan(path, tmp_path, pandas_tables.read, limits=SMALL)
    with pytest.raises(ValueError, match="before they are numbered"):
        table.assign(id=range(50)).take(np.arange(3))
    with pytest.raises(ValueError, match="taken twice"):
        table.take(np.array([2, 1, 1])).to_csv(tmp_path / "out.csv")
    with pytest.raises(KeyError, match="'z'"):
        table.drop(columns="z")


def test_a_column_that_is_text_by_decree_keeps_its_zeros(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("id,code,n\n1,007,1.50\n2,NA,2\n3,0x1,3\n")
    table = pandas_tables.scan(path, tmp_path, texts=["code"])
    table.to_csv(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "id,code,n\n1,007,1.5\n2,,2.0\n3,0x1,3.0\n"
    assert table["code"].tolist()[0] == "007"
