"""The parts that make grading quick give what the slow ways give."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.grading.submission import answers_cache
from assay.grading.submission.answers_cache import remembered
from assay.grading.submission.id_matching import places_of


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=60), st.randoms(use_true_random=False))
def test_every_hash_is_found_where_it_stands(hashes, chance) -> None:
    shuffled = chance.sample(hashes, len(hashes))
    found = places_of(np.array(hashes, np.uint64), np.array(shuffled, np.uint64))
    assert found is not None
    assert [shuffled[place] for place in found] == hashes


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30), st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_repeated_missing_and_unknown_hashes_are_noticed(wanted, among) -> None:
    """By the definition: each side once, and the same on both."""
    right = len(set(wanted)) == len(wanted) and sorted(wanted) == sorted(among)
    found = places_of(np.array(wanted, np.uint64), np.array(among, np.uint64))
    assert (found is not None) == right


def test_hashes_that_share_all_their_low_bits_are_told_apart_or_left_to_others() -> None:
    hashes = np.arange(1, 50, dtype=np.uint64) << np.uint64(60)
    found = places_of(hashes[:15], hashes[:15][::-1].copy())
    assert found is None or found.tolist() == list(range(14, -1, -1))


@pytest.fixture
def parsed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(answers_cache, "_WORTHWHILE", 0)
    source = tmp_path / "answers.csv"
    source.write_text("id,target\na,1\nb,0\n")
    calls = []

    def parse() -> pl.DataFrame:
        calls.append(1)
        return pl.read_csv(source)

    return source, tmp_path / "parsed", parse, calls


def test_a_file_is_parsed_once(parsed_files) -> None:
    source, folder, parse, calls = parsed_files
    tables = [remembered(folder, source, ["id"], parse) for _ in range(3)]
    assert len(calls) == 1
    assert all(table.equals(tables[0]) for table in tables)
    assert {oct(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {"0o600"}


def test_a_changed_file_or_another_way_is_parsed_anew(parsed_files) -> None:
    source, folder, parse, calls = parsed_files
    remembered(folder, source, ["id"], parse)
    remembered(folder, source, ["id", "target"], parse)
    source.write_text("id,target\na,1\nb,1\n")
    os.utime(source, (1, 1))
    assert remembered(folder, source, ["id"], parse)["target"].to_list() == [1, 1]
    assert len(calls) == 3


def test_what_is_kept_but_damaged_is_parsed_anew(parsed_files) -> None:
    source, folder, parse, calls = parsed_files
    remembered(folder, source, ["id"], parse)
    (kept,) = folder.iterdir()
    kept.write_bytes(b"ARROW1\0\0 nothing")
    assert remembered(folder, source, ["id"], parse)["id"].to_list() == ["a", "b"]
    assert len(calls) == 2


def test_where_nothing_can_be_kept_it_works_all_the_same(parsed_files) -> None:
    source, folder, parse, _ = parsed_files
    folder.write_text("in the way")
    assert remembered(folder, source, ["id"], parse)["id"].to_list() == ["a", "b"]
