"""Thousands of damaged files, parsed strictly and leniently: each gets a score or one sentence, and nothing crashes."""

import json
import random
from dataclasses import dataclass, field

import pytest

FILES_EACH = 150


@dataclass(frozen=True)
class Kind:
    """A task with its own kind of cells, and a good submission for it, which is the answers too."""

    columns: dict[str, object]
    metric: str
    cells: tuple[str, ...]
    rules: dict[str, object] = field(default_factory=dict)


_NUMBER = {"type": "number"}
_TWO = {"v": _NUMBER, "w": _NUMBER}
_CELL = {"type": "text", "missing": ""}
_MASK = {"name": "mask", "params": {"height": 8, "width": 8}}
KINDS = {
    "number": Kind({"v": _NUMBER}, "rmse", ("0.5", "1", "-3e2")),
    "share": Kind({"v": _NUMBER | {"min": 0, "max": 1}}, "log_loss", ("0", "1")),
    "kept": Kind({"v": _NUMBER | {"missing": "keep"}}, "pearson", ("0.5", "1", "-3e2")),
    "sums": Kind(_TWO, "log_loss", ("0,1", "1,0"), {"row_sum": {"tolerance": 1e-5}}),
    "skipped": Kind(
        {"v": _NUMBER}, "mae", ("1", "-1"), {"ids": "ids_subset_sorted", "skip": {"column": "v", "value": -1}}
    ),
    "joined": Kind({"v": _NUMBER}, "mae", ("1", "2"), {"ids": "join"}),
    "places": Kind(_TWO, "mcrmse", ("1,2", "3,4"), {"by_position": True}),
    "integer": Kind({"v": {"type": "integer"}}, "macro_f1", ("1", "2", "3")),
    "class": Kind({"v": {"type": "category"}}, "accuracy", ("cat", "dog")),
    "boolean": Kind({"v": {"type": "boolean"}}, "matthews_corrcoef", ("True", "False")),
    "text": Kind({"v": _CELL}, "mean_levenshtein", ("a b", '"c, ""d"""', "é")),
    "words": Kind({"v": _CELL | {"codec": {"name": "words"}}}, "multilabel_micro_f1", ("a b", "c")),
    "mask": Kind({"v": _CELL | {"codec": _MASK}}, "mean_dice", ("1 3 7 2", "64 1")),
    "boxes": Kind({"v": _CELL | {"codec": {"name": "boxes"}}}, "map_iou50_siim", ("a 1 0 0 2 2", "b 0.5 1 1 3 3")),
    "boxes_3d": Kind({"v": _CELL | {"codec": {"name": "boxes_3d"}}}, "map_3d_iou", ("1 0 0 0 2 4 2 0 car",)),
}

WORDS = [
    *(
        "inf",
        "-inf",
        "nan",
        "NA",
        "null",
        "1e999",
        "-1e999",
        "0x1F",
        "1_000",
        "1,5",
        "٣",
        "1e",
        "--1",
        "+",
        ".",
        "1.2.3",
    ),
    *(
        "99999999999999999999999",
        "true",
        "YES",
        "#N/A",
        "=1+1",
        "\ufeff",
        "\u2028",
        "\0",
        "\x1a",
        "'",
        '"',
        '""',
        '"""',
    ),
    *(
        "\\",
        "\\n",
        "\t",
        " ",
        "",
        "a" * 70_000,
        "1" * 5_000,
        "0." + "3" * 900,
        "-0",
        "1 2 3",
        "-1 5",
        "9 9 9 9",
        "x y z",
    ),
]
JUNK = [
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\x1f\x8b\x08\x00",
    b"PK\x03\x04",
    b"PAR1\x15",
    b"\x80\x04\x95",
    b"\0" * 9,
]


def damaged(good: str, draw: random.Random) -> bytes:
    """The file with one to three things wrong with it."""
    content = good.encode()
    for _ in range(draw.randint(1, 3)):
        content = draw.choice(DAMAGES)(content, draw)
    return content


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _flip(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4) if changed else 0):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _insert(content: bytes, draw: random.Random) -> bytes:
    position, piece = draw.randrange(len(content) + 1), draw.choice([*JUNK, *(word.encode() for word in WORDS)])
    return content[:position] + piece + content[position:]


def _lines(content: bytes, draw: random.Random) -> bytes:
    """Rows dropped, repeated, moved, joined, or put before the header."""
    lines = content.split(b"\n")
    change = draw.randrange(6)
    line = draw.randrange(len(lines))
    if change == 0:
        del lines[line]
    elif change == 1:
        lines.insert(draw.randrange(len(lines)), lines[line])
    elif change == 2:
        draw.shuffle(lines)
    elif change == 3:
        lines *= 3
    elif change == 4:
        lines = lines[:1]
    else:
        lines[line] = lines[line] + b"," + lines[line]
    return b"\n".join(lines)


def _columns(content: bytes, draw: random.Random) -> bytes:
    """Columns dropped, repeated, renamed, or moved, in all rows or in one."""
    rows = [line.split(b",") for line in content.split(b"\n")]
    column, change = draw.randrange(3), draw.randrange(5)
    for row in rows if draw.random() < 0.7 else [draw.choice(rows)]:
        if change == 0 and column < len(row):
            del row[column]
        elif change == 1:
            row.append(row[min(column, len(row) - 1)])
        elif change == 2:
            row.reverse()
        elif change == 3:
            row.append(b"")
    if change == 4:
        rows[0] = [draw.choice([name.upper(), b" " + name, b"", b"id"]) for name in rows[0]]
    return b"\n".join(b",".join(row) for row in rows)


def _cell(content: bytes, draw: random.Random) -> bytes:
    """A word in place of a cell, or of all the cells of a column."""
    rows = [line.split(b",") for line in content.split(b"\n")]
    word, column = draw.choice(WORDS).encode(), draw.randrange(3)
    for row in rows[1:] if draw.random() < 0.2 else [draw.choice(rows)]:
        row[min(column, len(row) - 1)] = word
    return b"\n".join(b",".join(row) for row in rows)


def _encode(content: bytes, draw: random.Random) -> bytes:
    text = content.decode(errors="replace")
    return text.encode(draw.choice(["utf-16", "utf-32", "latin-1", "utf-8-sig", "cp037"]), errors="replace")


def _separate(content: bytes, draw: random.Random) -> bytes:
    old, new = draw.choice(
        [(b",", b";"), (b",", b"\t"), (b",", b", "), (b"\n", b"\r"), (b"\n", b"\r\n"), (b"\n", b"\n\n")]
    )
    return content.replace(old, new)


def _quote(content: bytes, draw: random.Random) -> bytes:
    return content.replace(b",", draw.choice([b'","', b'",', b',"', b"','"]), draw.choice([1, 3, -1]))


def _replace(content: bytes, draw: random.Random) -> bytes:
    return draw.choice([b"", b"\n", b"," * 999, b"id\n" * 99, b"{}", b"<html>", b'"' * 50, draw.randbytes(200), *JUNK])


DAMAGES = [_cut, _flip, _insert, _lines, _columns, _cell, _cell, _encode, _separate, _quote, _replace]


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_gets_a_score_or_one_sentence(name, make_task, graded):
    kind, draw = KINDS[name], random.Random(name)
    header = ",".join(["id", *kind.columns])
    rows = [f"{draw.choice(['r', ''])}{number}{number},{draw.choice(kind.cells)}" for number in range(12)]
    answers = "\n".join([header, *rows, ""])
    tasks = [
        make_task(columns=kind.columns, metric=kind.metric, lenient=lenient, more_columns=lenient, **kind.rules)
        for lenient in (True, False)
    ]
    outcomes = set()
    for _ in range(FILES_EACH):
        content = damaged(answers, draw)
        for task in tasks:
            grade = graded(task, answers, content)
            outcomes.add(grade.valid_submission)
            assert (
                grade.valid_submission
                == (grade.why is None)
                == (grade.score is not None or grade.not_finite is not None)
            )
            assert grade.why is None or (grade.why.endswith(".") and "\n" not in grade.why and len(grade.why) < 600)
            assert grade.valid_submission or not (grade.any_medal or grade.above_median)
            json.loads(grade.model_dump_json(), parse_constant=pytest.fail)
    assert outcomes == {True, False}


def test_there_are_thousands_of_them():
    assert len(KINDS) * FILES_EACH >= 2_000
