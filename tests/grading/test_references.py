"""Grades agree with the published graders' rules, told again in pandas and scikit-learn, on good and odd files."""

import io
import random
import warnings
from collections.abc import Iterator

import pandas as pd
import pytest
from references import FAMILIES, Family

Row = dict[str, str]
ROWS = 24


def values(kind: str, random: random.Random, columns: list[str]) -> Row:
    """The cells of one row, as texts."""
    if kind in ("one", "shares"):
        parts = [random.random() + 0.01 for _ in columns] if kind == "shares" else [0.0] * len(columns)
        if kind == "one":
            parts[random.randrange(len(columns))] = 1
        return {
            column: repr(part / sum(parts)) if kind == "shares" else str(int(part))
            for column, part in zip(columns, parts, strict=True)
        }
    if kind == "-1/0/1":
        return (
            {column: str(random.randrange(2)) for column in columns}
            if random.random() < 0.7
            else dict.fromkeys(columns, "-1")
        )
    draw = {
        "0/1": lambda: str(random.randrange(2)),
        "share": lambda: repr(round(random.random(), 3)),
        "grade": lambda: str(random.randrange(5)),
        "fare": lambda: repr(round(random.random() * 50, 2)),
        "true/false": lambda: random.choice(["True", "False"]),
        "word": lambda: random.choice(["one", "two", "NA", "3", "1.5", "null", "four"]),
        "label": lambda: random.choice(["blast", "hispa", "normal"]),
    }[kind]
    return {column: draw() for column in columns}


def ids(kind: str, random: random.Random) -> list[str]:
    """Different ids, in no order."""
    if kind == "number":
        return random.sample([str(number) for number in range(1, 200)], ROWS)
    if kind == "text":
        return random.sample([f'"He said ""no, {number}"", I think"' for number in range(99)], ROWS)
    return random.sample([f"{number:04x}_{number % 7}" for number in range(999)], ROWS)


def written(header: list[str], rows: list[Row], end: str = "\n") -> str:
    """The table as a file."""
    return "".join(",".join(line) + end for line in [header, *([row[name] for name in header] for row in rows)])


def odd_files(family: Family, header: list[str], rows: list[Row], random: random.Random) -> Iterator[tuple[str, str]]:
    """The table, and everything that may be odd about it, each with its name."""
    id, columns = family.id, list(family.columns)

    def changed(count: int, **cells: str) -> list[Row]:
        chosen = random.sample(range(len(rows)), count)
        return [row | cells if place in chosen else row for place, row in enumerate(rows)]

    good = written(header, rows)
    yield "as it is", good
    yield "shuffled", written(header, random.sample(rows, len(rows)))
    yield "sorted", written(header, sorted(rows, key=lambda row: row[id]))
    yield "columns turned round", written(header[::-1], rows)
    yield "columns in another order", written([header[0], *header[:0:-1]], rows)
    yield "id not first", written([*header[1:], header[0]], rows)
    yield "a further column", written([*header, "note"], [row | {"note": "x"} for row in rows])
    yield "a further column of zeros", written([*header, "note"], [row | {"note": "0"} for row in rows])
    yield "an index", written(["", *header], [row | {"": str(place)} for place, row in enumerate(rows)])
    yield (
        "an index without name",
        "\n".join([",".join(header), *(f"{place}," + line for place, line in enumerate(good.splitlines()[1:]))]),
    )
    yield "a column twice", written([*header, columns[0]], rows)
    yield "windows", written(header, rows, "\r\n")
    yield "old macintosh", written(header, rows, "\r")
    yield "byte-order mark", "\ufeff" + good
    yield "no end", good.removesuffix("\n")
    yield "blank lines", good.replace("\n", "\n\n")
    yield "lines of blanks", good.replace("\n", "\n  \n")
    yield "semicolons", good.replace(",", ";")
    yield "tabs", good.replace(",", "\t")
    yield "a comma at the end of each line", good.replace("\n", ",\n")
    yield "a comma at the end", good.removesuffix("\n") + ","
    yield "upper-case names", good.replace(",".join(header), ",".join(header).upper())
    yield "blanks in names", good.replace(",".join(header), ", ".join(header))
    yield "blanks before values", good.replace(",", ", ")
    yield (
        "everything quoted",
        written(
            header, [{key: cell if cell.startswith('"') else f'"{cell}"' for key, cell in row.items()} for row in rows]
        ),
    )
    yield "an open quote", written(header, changed(1, **{columns[0]: '"1'}))
    yield "one row less", written(header, rows[1:])
    yield "one row more", written(header, [*rows, rows[0]])
    yield "half", written(header, rows[: len(rows) // 2])
    yield "no rows", written(header, [])
    yield "no header", good.partition("\n")[2]
    yield "no id column", written(header[1:], rows)
    yield "no value column", written(header[:-1], rows)
    yield "nothing", "\n"
    for count in (1, 2, len(rows)):
        yield f"{count} ids that are one", written(header, changed(count, **{id: rows[0][id]}))
        yield f"{count} ids missing", written(header, changed(count, **{id: ""}))
        yield f"{count} ids unknown", written(header, changed(count, **{id: "zz"}))
        for cell in (
            "",
            "NA",
            "nan",
            "None",
            "x",
            "inf",
            "-inf",
            "-1",
            "-2",
            "1.0",
            "0.5",
            "2",
            "1e3",
            "1e400",
            "1e155",
            "1_0",
            "True",
            "false",
            "yes",
            " 1",
            "0x1",
            "1,5",
            "99999999999999999999999",
            "3.7",
        ):
            name = random.choice(columns)
            yield (
                f"{count} times {cell!r}",
                written(header, changed(count, **{name: f'"{cell}"' if "," in cell else cell})),
            )
    yield "padded ids", written(header, [row | {id: f" {row[id]}"} for row in rows])
    yield "ids with blanks behind", written(header, [row | {id: f"{row[id]} "} for row in rows])
    yield "ids with zeros", written(header, [row | {id: f"00{row[id]}"} for row in rows])
    yield "fractional ids", written(header, [row | {id: f"{row[id]}.0"} for row in rows])
    yield "one fractional id", written(header, [rows[0] | {id: f"{rows[0][id]}.0"}, *rows[1:]])
    for step in ("1.05e-5", "1.2e-5", "-1.05e-5", "-1.2e-5", "0.1"):
        cells = [
            row | {columns[0]: repr(float(row[columns[0]]) + float(step))} if _is_number(row[columns[0]]) else row
            for row in rows
        ]
        yield f"values moved by {step}", written(header, cells)
    for cell in ("0", "1", "0.5", "True", "normal", ""):
        yield f"all {cell!r}", written(header, [row | dict.fromkeys(columns, cell) for row in rows])
    yield "0 and 1 for booleans", good.replace("True", "1").replace("False", "0")
    yield "lower-case booleans", good.replace("True", "true").replace("False", "false")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def reference(family: Family, submission: str, answers: str) -> float | None:
    """What the reference says of two files; None if it fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frames = [pd.read_csv(io.BytesIO(text.encode())) for text in (submission, answers)]
            return float(family.grade(*frames))
    except Exception:  # noqa: BLE001 - whatever a published grader raises makes a submission invalid
        return None


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_grades_agree_with_the_published_rules(name, make_task, graded):
    family, draw = FAMILIES[name], random.Random(name)
    columns = list(family.columns)
    task = make_task(
        id=family.id, columns=family.columns, metric=family.metric, direction=family.direction,
        params=family.params, lenient=True, **family.rules,
    )  # fmt: skip
    header = [family.id, *columns]
    names = ids(family.ids, draw)
    answers = written(header, [{family.id: id} | values(family.truth, draw, columns) for id in names])
    rows = [{family.id: id} | values(family.guess, draw, columns) for id in names]
    agreed = set()
    for oddity, submission in odd_files(family, header, rows, draw):
        grade, expected = graded(task, answers, submission), reference(family, submission, answers)
        found = float(grade.not_finite) if grade.not_finite else grade.score
        assert grade.valid_submission == (expected is not None), f"{oddity}: {expected} by the rules, {grade.why}"
        if expected is not None:
            assert found == pytest.approx(round(expected, 5), abs=1e-9, nan_ok=True), oddity
        agreed.add(expected is not None)
    assert agreed == {True, False}
