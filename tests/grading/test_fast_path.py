"""The fast path may decline a table, but what it accepts, strict and lenient parsing accept with the same result."""

import os
import random
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InvalidSubmission, NotPrepared
from assay.grading.submission import answers as answers_module
from assay.grading.submission.fast_path import match_hashes
from assay.grading.submission.read import choose_parser
from assay.grading.submission.strict import TextAnswers
from assay.tasks import Column

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
    *("9007199254740992", "9223372036854775808"),
    *("0.1000000000000000055511151231257827021181583404541015625", "0.30000000000000004", "2.2250738585072011e-308"),
    *("True", "true", "FALSE", "NA", "null", "None", "x", "yes", "", '"1"', "'1'", "1\t", "é", "3.0", "2.5"),
]
ODD_BYTES = [b"\0", b"\r", b"\r\n", b"\n", b'"', b'""', b"\xff", b"\xef\xbb\xbf", b",", b" ", b"\t", b"\x1a", b""]
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


def draw_case(draw: random.Random, lenient: bool) -> Case:
    """Draw a case that is usually plain and sometimes odd, in its rules, its ids or its file."""
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
    text = _file(draw, header, ids, str(first["type"]))
    content = text.encode("utf-8" if draw.random() < 0.97 else "latin-1", "replace")
    return Case(rules, answers, _mutate(draw, content) if draw.random() < 0.1 else content)


def _mutate(draw: random.Random, content: bytes) -> bytes:
    """Put an odd byte sequence in place of a few bytes."""
    start = draw.randrange(len(content) + 1)
    return content[:start] + draw.choice(ODD_BYTES) + content[start + draw.randrange(3) :]


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


@pytest.mark.parametrize("kind", ["integer", "category"])
def test_lenient_parsing_distinguishes_integers_that_are_equal_as_floats(kind, make_task, prepared):
    (prepared.private / "answers.csv").write_text("id,price\na,1\nb,2\nc,3\n")
    task = make_task(Column(type=kind), lenient=True)
    submission = b"id,price\na,9007199254740992\nb,9007199254740993\nc,3\n"
    assert choose_parser(replace(prepared, task=task)).fast_path.parse(submission, None) is None
    parsed = choose_parser(replace(prepared, task=task)).parse(submission, "submission.csv")
    assert parsed.values.tolist() == [2**53, 2**53 + 1, 3]
    if kind == "integer":  # in a list of Python's integers, NumPy makes 2^63 and smaller ones floats
        mixed = submission.replace(b"9007199254740993", b"9223372036854775808")
        with pytest.raises(InvalidSubmission, match="must be"):
            choose_parser(replace(prepared, task=task)).parse(mixed, "submission.csv")


@pytest.mark.parametrize("lenient", [True, False], ids=["lenient", "strict"])
@pytest.mark.parametrize("seed", range(2))
def test_what_the_fast_path_accepts_is_parsed_alike_without_it(seed, lenient, make_task, prepared, replace_file):
    draw, accepted = random.Random(seed), 0
    for _ in range(1200):
        case = draw_case(draw, lenient)
        replace_file(prepared.private / "answers.csv", case.answers)
        parser = choose_parser(replace(prepared, task=make_task(**case.rules)))
        fast = parser.fast_path.parse(case.submission, None)
        if fast is None:
            continue
        accepted += 1
        try:
            careful = parser.parse(case.submission, "submission.csv")
        except InvalidSubmission as error:
            pytest.fail(f"only the fast path accepts {case}: {error}")
        assert list(fast.columns) == list(careful.columns)
        for name in fast.columns:
            assert np.array_equal(fast.columns[name], careful.columns[name]), case
        assert np.array_equal(fast.truth, careful.truth), case
        for ours, theirs in ((fast.rows, careful.rows), (fast.positions, careful.positions)):
            rows = [np.arange(len(fast.values)) if numbers is None else numbers for numbers in (ours, theirs)]
            assert np.array_equal(*rows), case
    assert accepted > 150


def test_plain_files_take_the_fast_path_in_any_order(make_task, prepared):
    answers = "id,price\n" + "".join(f"r{row},{row % 2}\n" for row in range(3000))
    (prepared.private / "answers.csv").write_text(answers)
    task = make_task(lenient=True, columns={"price": SHARE})
    shuffled = ["id,price", *random.Random(0).sample(answers.splitlines()[1:], 3000), ""]
    for submission in (answers, "\n".join(shuffled)):
        parsed = choose_parser(replace(prepared, task=task)).fast_path.parse(submission.encode(), None)
        assert parsed is not None
        assert np.array_equal(parsed.values, parsed.truth)


@pytest.mark.parametrize(
    ("ids", "plain"),
    [
        ([f"{row}" for row in range(600)], True),
        ([f"{row}" if row < 300 else f"x{row}" for row in range(600)], False),
        ([f"{row}" if row % 10 == 5 else f"x{row}" for row in range(600)], True),
        ([f"{row}" if row else "x" for row in range(200)], True),
    ],
)
def test_ids_that_pandas_may_read_as_numbers_in_one_part_and_text_in_another_are_declined(
    ids, plain, make_task, prepared
):
    (prepared.private / "answers.csv").write_text("id,price\n" + "".join(f"{id},1\n" for id in ids))
    submission = "id,price\n" + "".join(f"{id},1\n" for id in reversed(ids))
    assert (
        choose_parser(replace(prepared, task=make_task(lenient=True))).fast_path.parse(submission.encode(), None)
        is not None
    ) is plain


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=60), st.randoms(use_true_random=False))
def test_every_hash_is_found_at_its_index(hashes, chance) -> None:
    shuffled = chance.sample(hashes, len(hashes))
    positions = match_hashes(np.array(hashes, np.uint64), np.array(shuffled, np.uint64))
    assert positions is not None
    assert [shuffled[position] for position in positions] == hashes


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30), st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_repeated_missing_and_unknown_hashes_are_noticed(expected, among) -> None:
    """By the definition: each side once, and the same on both."""
    right = len(set(expected)) == len(expected) and sorted(expected) == sorted(among)
    positions = match_hashes(np.array(expected, np.uint64), np.array(among, np.uint64))
    assert (positions is not None) == right


def test_hashes_that_share_all_their_low_bits_are_resolved_or_declined() -> None:
    hashes = np.arange(1, 50, dtype=np.uint64) << np.uint64(60)
    positions = match_hashes(hashes[:15], hashes[:15][::-1].copy())
    assert positions is None or positions.tolist() == list(range(14, -1, -1))


@pytest.fixture
def cached(tmp_path, make_task):
    """Answers that are cached although they are small, with a list of the times they were parsed."""
    source = tmp_path / "answers.csv"
    source.write_text("id,price\na,1\nb,0\n")
    answers, calls = TextAnswers(make_task(), source, tmp_path / "parsed", min_cached_size=0), []

    def parse() -> pl.DataFrame:
        calls.append(1)
        return pl.read_csv(source)

    return answers, parse, calls


def test_answers_are_parsed_once(cached) -> None:
    answers, parse, calls = cached
    tables = [answers.load_cached(["id"], parse) for _ in range(3)]
    assert len(calls) == 1
    assert all(table.equals(tables[0]) for table in tables)
    assert {oct(path.stat().st_mode & 0o777) for path in answers.cache.iterdir()} == {"0o600"}


def test_changed_answers_or_other_columns_are_parsed_again(cached) -> None:
    answers, parse, calls = cached
    answers.load_cached(["id"], parse)
    answers.load_cached(["id", "price"], parse)
    answers.path.write_text("id,price\na,1\nb,1\n")
    os.utime(answers.path, (1, 1))
    assert answers.load_cached(["id"], parse)["price"].to_list() == [1, 1]
    assert len(calls) == 3


def test_small_answers_are_parsed_again_only_if_their_content_has_changed(cached) -> None:
    answers, parse, calls = cached
    answers = replace(answers, min_cached_size=1000)
    facts = answers.path.stat()
    tables = [answers.load_cached(["id"], parse) for _ in range(3)]
    assert tables[0] is tables[1] is tables[2] and len(calls) == 1
    assert not answers.cache.exists()
    answers.path.write_text("id,price\na,1\nb,1\n")
    os.utime(answers.path, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # nothing but the content tells
    assert answers.load_cached(["id"], parse)["price"].to_list() == [1, 1]
    assert len(calls) == 2


def test_memory_for_small_answers_is_bounded(cached) -> None:
    answers, parse, calls = cached
    answers = replace(answers, min_cached_size=1000, max_recalled_size=3 * answers.path.stat().st_size)
    for key in [*range(20), 0]:
        answers.load_cached([key], parse)
    assert len(calls) == 21
    assert len(answers_module._recalled) <= 5


def test_a_damaged_cache_is_parsed_again(cached) -> None:
    answers, parse, calls = cached
    answers.load_cached(["id"], parse)
    (stored,) = answers.cache.iterdir()
    stored.write_bytes(b"ARROW1\0\0 nothing")
    assert answers.load_cached(["id"], parse)["id"].to_list() == ["a", "b"]
    assert len(calls) == 2


def test_answers_that_cannot_be_cached_are_read_all_the_same(cached) -> None:
    answers, parse, _ = cached
    answers.cache.write_text("in the way")
    assert answers.load_cached(["id"], parse)["id"].to_list() == ["a", "b"]


@pytest.mark.parametrize("content", ["", "id\na\n", "id,price\n", "id,price\na,1,2\n"])
@pytest.mark.parametrize("lenient", [True, False])
def test_damaged_answers_are_not_the_fault_of_a_submission(content, lenient, make_task, graded):
    with pytest.raises(NotPrepared, match="damaged; prepare it again"):
        graded(make_task(lenient=lenient), content, "id,price\na,1\n")
