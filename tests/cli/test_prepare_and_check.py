"""`assay prepare`, `assay audit --quick` and `assay tasks` on the MLE-bench suite."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

TASK = "mlebench/spooky-author-identification"


def read_entry(result) -> dict:
    assert result.returncode == 0, result.stderr
    (entry,) = json.loads(result.stdout)["prepared"]
    return entry


def test_passing_the_raw_data_of_a_miniature_gives_the_same_files(assay) -> None:
    synthetic = read_entry(assay("prepare", TASK, "--synthetic", "--keep-raw", "--json"))
    assert (synthetic["edition"], synthetic["variant"]) == ("v1", "synthetic-0")
    assert [path.name for path in Path(synthetic["raw"]).iterdir()] == ["train.zip"]
    prepared = read_entry(assay("prepare", TASK, "--raw", synthetic["raw"], "--unverified", "--json"))
    assert prepared["variant"] == "unverified"
    assert set(prepared["differs"]) == {
        "public/sample_submission.csv", "public/test.csv", "public/train.csv", "private/test.csv",
    }  # fmt: skip
    for side in ("public", "private"):
        files = {path.name: path.read_bytes() for path in Path(synthetic[side]).iterdir()}
        assert files == {path.name: path.read_bytes() for path in Path(prepared[side]).iterdir()}
    other = read_entry(assay("prepare", TASK, "--synthetic", "--seed", "1", "--keep-raw", "--json"))
    again = read_entry(assay("prepare", TASK, "--raw", other["raw"], "--unverified", "--json"))
    names = ("public", "private")
    assert [Path(again[side], "test.csv").read_bytes() for side in names] == [
        Path(other[side], "test.csv").read_bytes() for side in names
    ]


def test_data_that_differs_from_the_published_data_is_rejected_with_the_files(assay) -> None:
    raw = read_entry(assay("prepare", TASK, "--synthetic", "--keep-raw", "--json"))["raw"]
    result = assay("prepare", TASK, "--raw", raw)
    assert result.returncode == 1
    assert "4 of 4 prepared files differ from the published ones (MD5):" in result.stderr
    assert "public/train.csv: " in result.stderr
    assert "--unverified accepts it" in result.stderr
    fixed = assay("prepare", TASK, "--raw", raw, "--edition", "fixed")
    assert fixed.returncode == 1
    assert "a folder cannot be verified for edition fixed" in fixed.stderr


def test_a_task_that_fails_does_not_stop_the_others(assay) -> None:
    other = "mlebench/tabular-playground-series-dec-2021"
    raw = Path(read_entry(assay("prepare", TASK, "--synthetic", "--keep-raw", "--json"))["raw"])
    result = assay("prepare", other, TASK, "--raw", raw, "--unverified")
    assert result.returncode == 1
    assert "train.csv" in result.stderr
    assert "Prepared 1 of 2 tasks." in result.stdout
    assert f"1 of 2 tasks could not be prepared: {other}" in result.stderr


def test_tasks_are_prepared_side_by_side_as_in_turn(assay) -> None:
    other, absent = "mlebench/leaf-classification", "mlebench/tabular-playground-series-dec-2021"
    in_turn = json.loads(assay("prepare", TASK, other, "--synthetic", "--keep-raw", "--json").stdout)["prepared"]
    listed = {entry["task"]: list_hashes(entry) for entry in in_turn}
    arguments = ("--synthetic", "--keep-raw", "--jobs", "3", "--memory", "600MB", "--again", "--json")
    side_by_side = json.loads(assay("prepare", TASK, other, *arguments).stdout)
    assert {entry["task"]: list_hashes(entry) for entry in side_by_side["prepared"]} == listed
    raw = next(entry["raw"] for entry in in_turn if entry["task"] == TASK)
    mixed = assay("prepare", absent, TASK, "--raw", raw, "--unverified", "--jobs", "2", "--json")
    assert mixed.returncode == 1
    assert [entry["task"] for entry in json.loads(mixed.stdout)["prepared"]] == [TASK]
    assert [entry["task"] for entry in json.loads(mixed.stdout)["failed"]] == [absent]
    assert "is not a size" in assay("prepare", TASK, "--synthetic", "--memory", "much").stderr


def list_hashes(entry: dict) -> dict[str, str]:
    paths = (path for side in ("public", "private") for path in Path(entry[side]).rglob("*") if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("prepare", TASK, "--seed", "3"), "--seed and --keep-raw require --synthetic"),
        (("prepare", TASK, "--synthetic", "--unverified"), "cannot be used with --raw or --unverified"),
        (("prepare", "pocket/digits", "--synthetic"), "has no variant 'synthetic-0'; it has: real"),
        (("audit", "--quick", TASK, "--variant", "synthetic-x"), "it has: real, unverified, synthetic-0"),
    ],
)
def test_incompatible_options_are_explained(assay, words, why) -> None:
    result = assay(*words)
    assert result.returncode == 2, words
    assert why in result.stderr


def test_the_error_for_unprepared_data_names_the_command(assay) -> None:
    result = assay("audit", "--quick", TASK, "--edition", "fixed", "--variant", "synthetic-7")
    assert result.returncode == 1
    assert f"run: assay prepare {TASK} --edition fixed --synthetic --seed 7" in result.stderr


def test_check_prints_each_finding_and_fails_on_an_error(assay) -> None:
    entry = read_entry(assay("prepare", TASK, "--synthetic", "--json"))
    result = assay("audit", "--quick", TASK, "--variant", "synthetic-0")
    assert result.returncode == 0, result.stdout
    assert "ok      the answers win gold" in result.stdout
    answers = Path(entry["private"]) / "test.csv"
    public = Path(entry["public"]) / "notes.csv"
    public.write_bytes(answers.read_bytes())
    result = assay("audit", "--quick", TASK, "--variant", "synthetic-0", "--json")
    assert result.returncode == 1
    (report,) = json.loads(result.stdout)
    failed = [finding["check"] for finding in report["findings"] if finding["passed"] is False]
    assert failed == ["no public table holds the answers", "no private file is public"]


def test_show_lists_the_quirks_and_repairs_of_each_edition(assay) -> None:
    output = assay("tasks", TASK).stdout
    assert "Edition v1:" in output and "rows-must-sum-to-one" in output
    assert "Edition fixed" in output and "rows-rescaled" in output
    assert "1,242 human teams: gold 0.16506" in output


def test_a_grade_names_edition_variant_and_quirks(assay, tmp_path: Path) -> None:
    entry = read_entry(assay("prepare", TASK, "--synthetic", "--json"))
    sample = Path(entry["public"]) / "sample_submission.csv"
    grade = json.loads(assay("grade", sample, TASK, "--variant", "synthetic-0", "--json").stdout)
    assert (grade["edition"], grade["variant"]) == ("v1", "synthetic-0")
    assert "rows-must-sum-to-one" in grade["quirks"]
    assert grade["valid_submission"] and not grade["any_medal"]
    assert (grade["percentile"], grade["gold_threshold"], grade["success"]) == (None, None, None)


def test_a_task_that_needs_more_memory_than_the_machine_has_is_prepared_with_a_warning(assay, tmp_path) -> None:
    suite = tmp_path / "suite"
    shutil.copytree(Path(__file__).parent.parent / "tiny", suite)
    assert "memory" not in assay("--trust", "--tasks", suite, "prepare", "tiny/coin", "--again").stderr
    with (suite / "coin" / "task.toml").open("a") as file:
        file.write('\n[preparation]\nmemory = "900TB"\n')
    result = assay("--trust", "--tasks", suite, "prepare", "tiny/coin", "--again")
    assert result.returncode == 0, result.stderr
    assert "warning: preparing tiny/coin takes about 900TB of memory, and this machine has " in result.stderr
