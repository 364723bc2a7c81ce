"""The quick road may decline a table, but what it accepts, the careful road accepts with the same values and pairs."""

import random
from dataclasses import dataclass

import numpy as np
import pytest

from assay.core.errors import InvalidSubmission
from assay.grading.submission.answers import read_answers
from assay.grading.submission.lenient import check_as_published
from assay.grading.submission.read import check, check_strictly

NUMBER, SHARE = {"type": "number"}, {"type": "number", "min": 0, "max": 1}
TYPES = [NUMBER, NUMBER, SHARE, {"type": "integer"}, {"type": "category"}, {"type": "boolean"}]
POLICIES = [
    "one_to_one",
    "one_to_one",
    "join",
    "superset",
    "subset",
    "ids_equal_sorted",
    "ids_subset_sorted",
    "sorted_unchecked",
    "nth_occurrence",
    "positional",
    "positional_prefix",
]
IDS = [
    ["a", "b", "c", "d"], ["1", "2", "3", "4"], ["007", "8", "9", "10"], ["1.0", "2", "3", "x"], ["1", "01", "2", "3"],
    ["NA", "b", "c", "d"], ["True", "False", "b", "c"], ["True", "true", "False", "false"], ["a b", " a", "c", "d"],
    ["-1", "+1", "1", "2"], ["1e5", "100000", "3", "4"], ["é", "ü", "c", "d"], ["1.5", "2.5", "3.5", "4.5"],
    ["9007199254740993", "9007199254740992", "3", "4"], ["a", "a", "b", "c"], ["1", "1", "2", "3"],
    ["inf", "1", "2", "3"],
]  # fmt: skip
ODD_CELLS = [
    *(
        "1",
        "+1",
        "1.",
        ".5",
        "1e5",
        "-0",
        "0x10",
        "1_0",
        "inf",
        "nan",
        "NaN",
        "1e400",
        "1e-400",
        "--1",
        "00012",
        " 1",
        "1 ",
    ),
    *("9999999999999999999", "99999999999999999999999", "-9223372036854775809", "9007199254740993", "1e22", "5e-324"),
    *("0.1000000000000000055511151231257827021181583404541015625", "0.30000000000000004", "2.2250738585072011e-308"),
    *("True", "true", "FALSE", "NA", "null", "None", "x", "yes", "", '"1"', "'1'", "1\t", "é", "3.0", "2.5"),
]
PLAIN_CELLS = {
    "number": [["0.5", "0.25", "1", "0"], ["1", "0"]],
    "integer": [["1", "2", "3"], ["1.0", "2"]],
    "category": [["1", "2", "3"], ["cat", "dog", "x"]],
    "boolean": [["True", "False"], ["1", "0"], ["true", "False"], ["1", "True"]],
}


@dataclass(frozen=True)
class Case:
    """A task, its answers, and a submission for it."""

    rules: dict[str, object]
    answers: str
    submission: bytes


def drawn(draw: random.Random, lenient: bool) -> Case:
    """A case that is usually plain and sometimes odd, in its rules, its ids or its file."""
    ids = draw.choice(IDS[:4] if draw.random() < 0.6 else IDS)
    first, two = draw.choice(TYPES), draw.random() < 0.3
    columns = {"v": first, **({"w": NUMBER} if two else {})}
    truths = {"number": ["0.5", "1", "2", "0"], "integer": ["1", "2", "3", "4"], "boolean": ["True", "False"] * 2}
    truth = truths.get(str(first["type"]), draw.choice([["1", "2", "1", "3"], ["cat", "dog", "cat", "cow"]]))
    header = ["id", *columns]
    rows = [[id, cell, *(["1"] if two else [])] for id, cell in zip(ids, truth, strict=True)]
    answers = "".join(",".join(line) + "\n" for line in [header, *rows])
    rules = {
        "columns": columns, "lenient": lenient, "ids": draw.choice(POLICIES), "more_columns": draw.random() < 0.5,
        "by_position": draw.random() < 0.1, "order": draw.choice(["any"] * 8 + ["exact", "id-first"]),
        "skip": draw.choice([None, None, None, {"column": "v", "value": 2}]),
        "row_sum": {"tolerance": 0.6} if two and first["type"] == "number" and draw.random() < 0.3 else None,
    }  # fmt: skip
    return Case(
        rules,
        answers,
        _file(draw, header, ids, str(first["type"])).encode("utf-8" if draw.random() < 0.97 else "latin-1", "replace"),
    )


def _file(draw: random.Random, header: list[str], ids: list[str], kind: str) -> str:
    header = [*header, *(["note"] if draw.random() < 0.2 else [])]
    if draw.random() < 0.1:
        draw.shuffle(header)
    if draw.random() < 0.1:
        header.remove("id")
    cells = ODD_CELLS if draw.random() < 0.25 else draw.choice(PLAIN_CELLS[kind])
    rows = []
    for id in draw.sample(ids, len(ids)) if draw.random() < 0.5 else ids:
        row = {
            "id": id,
            "v": draw.choice(cells),
            "w": draw.choice(["0.5", "1"]),
            "note": draw.choice(["", "q", "1", "é"]),
        }
        if draw.random() < 0.02:
            row["id"] = draw.choice([*ids, "zz", f" {id}", f"{id}.0"])
        rows.append(
            ",".join(row[name] for name in header)
            + draw.choice(["", "", "", "", ",", "  "] if draw.random() < 0.02 else [""])
        )
    if draw.random() < 0.03:
        rows.insert(draw.randrange(5), draw.choice(["", " ", ",,"]))
    if draw.random() < 0.02:
        rows.pop()
    return (
        draw.choice(["\ufeff", "", "", "", "", "", ""])
        + "\n".join([",".join(header), *rows])
        + draw.choice(["\n", "\n", "\n", "", "\n\n", "\r\n", ","])
    )


@pytest.fixture
def file(tmp_path):
    """Where the submission goes."""
    return tmp_path / "submission.csv"


@pytest.mark.parametrize("lenient", [True, False], ids=["published", "strict"])
@pytest.mark.parametrize("seed", range(4))
def test_what_the_quick_road_accepts_the_careful_road_accepts_alike(seed, lenient, make_task, prepared, file):
    draw, accepted = random.Random(seed), 0
    careful_road = check_as_published if lenient else check_strictly
    for _ in range(700):
        case = drawn(draw, lenient)
        (prepared.private / "answers.csv").write_text(case.answers)
        answers = read_answers(make_task(**case.rules), prepared)
        file.write_bytes(case.submission)
        try:
            quick = check(file, file.name, answers)
        except InvalidSubmission:
            continue  # The quick road refuses nothing: it was the careful one.
        if quick.published:
            continue
        accepted += 1
        try:
            careful = careful_road(case.submission, "submission.csv", answers)
        except InvalidSubmission as error:
            pytest.fail(f"only the careful road refuses {case}: {error}")
        assert list(quick.columns) == list(careful.columns)
        for name in quick.columns:
            assert np.array_equal(quick.columns[name], careful.columns[name]), case
        assert np.array_equal(answers.truth(quick), answers.truth(careful)), case
        for ours, theirs in ((quick.rows, careful.rows), (quick.places, careful.places)):
            rows = [np.arange(len(quick.values)) if numbers is None else numbers for numbers in (ours, theirs)]
            assert np.array_equal(*rows), case
    assert accepted > 100


def test_a_plain_file_never_meets_pandas(make_task, prepared, file):
    answers = "id,price\n" + "".join(f"r{row},{row % 2}\n" for row in range(3000))
    (prepared.private / "answers.csv").write_text(answers)
    task = make_task(lenient=True, columns={"price": SHARE})
    shuffled = ["id,price", *random.Random(0).sample(answers.splitlines()[1:], 3000), ""]
    for submission in (answers, "\n".join(shuffled)):
        file.write_text(submission)
        assert not check(file, file.name, read_answers(task, prepared)).published


@pytest.mark.parametrize(
    ("ids", "plain"),
    [
        ([f"{row}" for row in range(600)], True),
        ([f"{row}" if row < 300 else f"x{row}" for row in range(600)], False),
        ([f"{row}" if row % 10 == 5 else f"x{row}" for row in range(600)], True),
        ([f"{row}" if row else "x" for row in range(200)], True),
    ],
)
def test_ids_that_may_be_numbers_in_one_part_and_text_in_another_meet_pandas(ids, plain, make_task, prepared, file):
    (prepared.private / "answers.csv").write_text("id,price\n" + "".join(f"{id},1\n" for id in ids))
    file.write_text("id,price\n" + "".join(f"{id},1\n" for id in reversed(ids)))
    assert check(file, file.name, read_answers(make_task(lenient=True), prepared)).published is not plain
