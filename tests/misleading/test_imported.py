"""Results of other harnesses that would mislead: what they do not report, copies, reruns, and lost columns."""

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.core.errors import RecordError
from assay.interop.importers import read_results
from assay.results.frame import Frame
from assay.results.paired import compare_agents, select_trials
from assay.results.report import make_report
from assay.results.verdict import describe_pair

TASKS = range(8)


def write(path: Path, rows: list[Mapping[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path


def trials(agent: str, seeds: int = 3, **cells: object) -> list[Mapping[str, object]]:
    return [{"task": f"own/{task}", "agent": agent, "seed": seed, **cells} for task in TASKS for seed in range(seeds)]


def say(frame: Frame, **options: object) -> str:
    comparisons = compare_agents(select_trials(frame), **options)  # type: ignore[arg-type]
    lines = [line for each in comparisons for pair in each.pairs for line in describe_pair(each, pair)]
    return " ".join("\n".join([*lines, *(table.to_text(width=400) for table in make_report(frame))]).split())


@pytest.mark.parametrize(
    ("cells", "must", "must_not"),
    [
        ({"metric": "rmse"}, ("a is better than b by score",), "taken to be better"),
        ({"metric": "wer", "direction": "lower"}, ("a is better than b by score",), "taken to be better"),
        ({"metric": "wer"}, ("higher scores of wer are taken to be better", "Higher scores of wer are"), "a is better"),
    ],
    ids=["a known error", "a direction", "nobody says which scores are better"],
)
def test_the_direction_of_scores_is_known_or_named(
    tmp_path: Path, cells: dict[str, object], must: tuple[str, ...], must_not: str
):
    path = write(tmp_path / "r.csv", [*trials("a", score=0.1, **cells), *trials("b", score=0.2, **cells)])
    text = say(read_results([path]).frame)
    assert [words for words in must if words not in text] == [] and must_not not in text, text


def test_copies_of_results_count_once(tmp_path: Path):
    path = write(tmp_path / "r.csv", [*trials("a", success=1), *trials("b", success=0)])
    copy = tmp_path / "copy.csv"
    copy.write_bytes(path.read_bytes())
    once = say(read_results([path]).frame)
    for paths in ([path, path], [path, copy], [path, tmp_path / "." / "r.csv"]):
        assert say(read_results(paths).frame) == once


def test_two_results_of_one_seed_are_refused(tmp_path: Path):
    path = write(tmp_path / "r.csv", [*trials("a", success=0), *trials("b", success=0), *trials("b", success=1)])
    with pytest.raises(RecordError, match=r"r\.csv:50 is the trial of line 26 again: b on 0 with seed 0; give each"):
        read_results([path])


def test_reruns_and_forks_of_an_exported_run_do_not_count_again(tmp_path: Path):
    first = [{**row, "trial": f"{row['task']}-{row['seed']}", "counts": True} for row in trials("a", success=0)]
    reruns = [
        {**row, "success": 1, "trial": f"{row['trial']}-again", "counts": False, "replaces": row["trial"]}
        for row in first
    ]
    forks = [{**row, "trial": f"{row['trial']}-fork", "counts": False, "parent": row["trial"]} for row in first]
    path = write(tmp_path / "r.csv", [*first, *reruns, *forks, *trials("b", success=0)])
    frame = read_results([path]).frame
    assert (sum(row.counts for row in frame), sum(row.repeated for row in frame)) == (48, 24)
    text = say(frame)
    assert "a is better" not in text and "24 rerun (the first attempt counts" in text
    assert "24 of the reruns succeeded, which is in no rate" in text


def test_shortcuts_of_an_exported_run_are_not_lost(tmp_path: Path):
    rows = [*trials("cheat", success=1, shortcut=True), *trials("plain", success=0, shortcut=False)]
    frame = read_results([write(tmp_path / "r.csv", rows)]).frame
    assert "of 24 trials of cheat, 24 took a planted shortcut; see --measure honest" in say(frame)
    assert "It is not known which is better" in say(frame, measure="honest")


def test_a_load_of_an_exported_run_is_named(tmp_path: Path):
    rows = [*trials("a", success=1, load=9.0), *trials("b", success=0, load=0.5)]
    assert "different load (busy machine: a; idle machine: b" in say(
        read_results([write(tmp_path / "r.csv", rows)]).frame
    )


def test_times_on_unknown_hardware_are_not_comparable(tmp_path: Path):
    rows = [*trials("a", success=1, cost=1.0, seconds=5), *trials("b", success=0, cost=1.0, seconds=9)]
    text = say(read_results([write(tmp_path / "r.csv", rows)]).frame)
    assert "Times are not comparable, because it is not known on what hardware" in text
