"""Many submissions at once: one bad file, or twenty kinds of them, never stops the others."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.data.store import load_prepared
from assay.tasks import Registry

PUBLISHED_KEYS = [
    "competition_id", "score", "gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold",
    "any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists", "valid_submission",
    "is_lower_better", "created_at", "submission_path",
]  # fmt: skip
PUBLISHED_TOTALS = [
    "total_runs", "total_runs_with_submissions", "total_valid_submissions", "total_medals", "total_gold_medals",
    "total_silver_medals", "total_bronze_medals", "total_above_median", "competition_reports",
]  # fmt: skip


@pytest.fixture
def good(pocket_home: Home) -> bytes:
    public = load_prepared(pocket_home, Registry().task("pocket/house-price")).public
    return (public / "sample_submission.csv").read_bytes()


def bad_files(folder: Path, good: bytes) -> dict[str, Path]:
    """Write more than twenty files that cannot be scored."""
    header, *rows = good.decode().splitlines()
    contents = {
        "empty": b"",
        "header only": header.encode(),
        "not text": b"\x89PNG\r\n\x1a\n\0\0",
        "another encoding": good.decode().encode("utf-16"),
        "not csv": b'"open quote\n' + good,
        "no header": "\n".join(rows).encode(),
        "wrong column": good.replace(b"SalePrice", b"Price"),
        "extra column": "\n".join([f"{header},more", *(f"{row},1" for row in rows)]).encode(),
        "repeated column": "\n".join([f"{header},SalePrice", *(f"{row},1" for row in rows)]).encode(),
        "ragged": good + b"1,2,3,4\n",
        "missing row": "\n".join([header, *rows[1:]]).encode(),
        "repeated row": good + rows[0].encode() + b"\n",
        "unknown id": good + b"unknown,1\n",
        "empty id": good + b",1\n",
        "nan": "\n".join([header, rows[0].split(",")[0] + ",nan", *rows[1:]]).encode(),
        "infinite": "\n".join([header, rows[0].split(",")[0] + ",inf", *rows[1:]]).encode(),
        "words": "\n".join([header, rows[0].split(",")[0] + ",high", *rows[1:]]).encode(),
        "negative": "\n".join([header, rows[0].split(",")[0] + ",-1", *rows[1:]]).encode(),
        "empty value": "\n".join([header, rows[0].split(",")[0] + ",", *rows[1:]]).encode(),
        "pickle": b"\x80\x04\x95\x17\0\0\0\0\0\0\0\x8c\x05posix\x8c\x06system\x93\x94.",
        "too large": header.encode() + b"\n" + b"9" * 2_000_000,
    }
    paths = {}
    for number, (kind, content) in enumerate(contents.items()):
        paths[kind] = folder / f"{number}.csv"
        paths[kind].write_bytes(content)
    paths["link"] = folder / "link.csv"
    paths["link"].symlink_to("/etc/passwd")
    paths["pipe"] = folder / "pipe.csv"
    os.mkfifo(paths["pipe"])
    paths["folder"] = folder / "folder.csv"
    paths["folder"].mkdir()
    paths["absent"] = folder / "absent.csv"
    return paths


def write_list(path: Path, entries: list[tuple[str, str | None]]) -> Path:
    lines = [json.dumps({"competition_id": task, "submission_path": file}) for task, file in entries]
    path.write_text("# a comment\n\n" + "\n".join(lines) + "\n// another\n")
    return path


@pytest.fixture
def graded(assay, pocket_home: Home) -> Callable[..., dict]:
    """Grade a list of submissions and return the report."""

    def graded(listing: Path, out: Path, code: int = 0, in_process: bool = True) -> dict:
        result = assay("grade", listing, "--out", out, "--quiet", home=pocket_home, in_process=in_process)
        assert result.returncode == code, result.stderr
        assert "Traceback" not in result.stderr
        (report,) = out.glob("*_grading_report.json")
        return json.loads(report.read_text(), parse_constant=lambda bare: pytest.fail(f"bare {bare} in the report"))

    return graded


def test_good_files_among_twenty_kinds_of_bad_ones_are_graded_and_each_bad_one_explained(graded, good, tmp_path):
    (tmp_path / "good.csv").write_bytes(good)
    bad = bad_files(tmp_path, good)
    assert len(bad) >= 20
    entries: list[tuple[str, str | None]] = [("pocket/house-price", str(path)) for path in bad.values()]
    entries = [("pocket/house-price", str(tmp_path / "good.csv")), *entries, ("pocket/house-price", None)]
    report = graded(write_list(tmp_path / "list.jsonl", entries), tmp_path / "deep" / "out")
    first, *others = report["competition_reports"]
    assert first["valid_submission"] and first["score"] == pytest.approx(0.38817, abs=1e-5)
    for kind, other in zip([*bad, "nothing"], others, strict=True):
        assert not other["valid_submission"], kind
        assert other["score"] is None, kind
        assert other["why"] and "\n" not in other["why"], kind
    assert (report["total_runs"], report["total_valid_submissions"]) == (len(entries), 1)


def test_large_files_are_graded_in_worker_processes_with_the_same_results(graded, good, tmp_path):
    (tmp_path / "good.csv").write_bytes(good)
    (tmp_path / "large.csv").write_bytes(good + b"9" * 11_000_000)
    entries: list[tuple[str, str | None]] = [("pocket/house-price", str(tmp_path / "good.csv"))]
    first_run = graded(write_list(tmp_path / "one.jsonl", entries), tmp_path / "one", in_process=False)
    entries.append(("pocket/house-price", str(tmp_path / "large.csv")))
    two = graded(write_list(tmp_path / "two.jsonl", entries), tmp_path / "two", in_process=False)
    first, second = two["competition_reports"]
    assert first | {"created_at": ""} == first_run["competition_reports"][0] | {"created_at": ""}
    assert "bytes; at most" in second["why"]


def test_the_report_has_the_published_keys_in_their_order(graded, good, tmp_path):
    (tmp_path / "good.csv").write_bytes(good)
    listing = write_list(tmp_path / "list.jsonl", [("pocket/house-price", str(tmp_path / "good.csv"))])
    report = graded(listing, tmp_path / "out")
    assert list(report)[: len(PUBLISHED_TOTALS)] == PUBLISHED_TOTALS
    assert list(report["competition_reports"][0])[: len(PUBLISHED_KEYS)] == PUBLISHED_KEYS
    assert report["competition_reports"][0]["competition_id"] == "house-price"


def test_an_unknown_task_is_reported_and_the_others_are_graded(graded, good, tmp_path):
    (tmp_path / "good.csv").write_bytes(good)
    entries: list[tuple[str, str | None]] = [
        ("no-such-task", "x.csv"),
        ("pocket/house-price", str(tmp_path / "good.csv")),
    ]
    report = graded(write_list(tmp_path / "list.jsonl", entries), tmp_path / "out", code=1)
    assert report["total_valid_submissions"] == 1
    (fault,) = report["not_graded"]
    assert (fault["line"], fault["competition_id"]) == (3, "no-such-task")


@pytest.mark.parametrize("line", ["not json", "[]", '{"competition_id": 3, "submission_path": "x"}', '{"x": 1}'])
def test_an_invalid_line_is_reported_before_anything_is_graded(assay, pocket_home, tmp_path, line):
    (tmp_path / "list.jsonl").write_text(f"{line}\n")
    result = assay("grade", tmp_path / "list.jsonl", "--out", tmp_path / "out", home=pocket_home)
    assert result.returncode == 2
    assert "line 1: not a submission" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["grade", "x.jsonl"], ["grade", "--out", "x"], ["grade", "x"]])
def test_a_command_with_missing_arguments_is_rejected(assay, pocket_home, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    assert assay(*words, home=pocket_home).returncode == 2


def test_a_full_leaderboard_gives_medal_and_percentile(assay, pocket_home, good, tmp_path):
    (tmp_path / "good.csv").write_bytes(good)
    (tmp_path / "board.csv").write_text("score\n" + "\n".join(str(0.1 + team / 100) for team in range(50)) + "\n")
    words = [tmp_path / "good.csv", "pocket/house-price", "--leaderboard", tmp_path / "board.csv", "--json"]
    grade = json.loads(assay("grade", *words, home=pocket_home).stdout)
    # 0.38817 is behind the 29 teams from 0.10 to 0.38: bronze ends at place 20, and the median is 0.345.
    assert not grade["any_medal"] and not grade["above_median"]
    assert grade["bronze_threshold"] == pytest.approx(0.29)
    assert grade["percentile"] == pytest.approx(41, abs=1.5)
