"""The published leaderboard is shown, proven by checksum, recomputed, and compared with a run."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.grading.result import Grade
from assay.records import RunFolder, State, TrialFile, TrialFolder
from assay.results.frame import TrialRow
from assay.suites.mlebench.studies.earlier import load_earlier_rows
from assay.suites.mlebench.studies.published import (
    SPLITS,
    LeaderboardRow,
    load_leaderboard,
    load_report_hashes,
    rate_agents,
    recompute_known,
    verify_reports,
)
from assay.tasks import Budget, Registry
from assay.tasks.model import Resources

TOY_SPLITS = {"low": ["a"], "medium": ["b"], "high": ["c"], "all": ["a", "b", "c"]}
ROW = LeaderboardRow(
    agent="Toy",
    models="none",
    rates={"low": (100, 0), "medium": (50, 50), "high": (0, 0), "all": (50, 16.67)},
    hours=1,
    date="2026-01-01",
    known_leakage=False,
    groups=("toy_group1", "toy_group2"),
)


@pytest.fixture
def checkout(tmp_path: Path) -> dict[str, str]:
    """Two reports of a toy row below `runs`, and their hashes."""
    hashes = {}
    for seed, medals in enumerate([{"a": True, "b": True, "c": False}, {"a": True, "b": False, "c": False}], 1):
        reports = [{"competition_id": name, "any_medal": won} for name, won in medals.items()]
        name = f"toy_group{seed}/grading_report.json"
        path = tmp_path / "runs" / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"competition_reports": reports}))
        hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def verify(folder: Path, hashes: dict[str, str], row: LeaderboardRow = ROW):
    return verify_reports(folder, TOY_SPLITS, hashes=hashes, leaderboard=[row])


def test_the_earlier_leaderboard_is_shown_with_the_rule_of_its_errors_and_what_changed(assay):
    """Operand's ± 5.92 is √(p(1 − p) / 66) at p = 0.6364: 22 tasks with 3 seeds. Thesis' is √2 times today's."""
    rows = {(row.earlier.agent, row.earlier.models): row for row in load_earlier_rows()}
    assert len(rows) == 17
    operand = rows["Operand ensemble", "gpt-5 (low verbosity/effort)"]
    assert operand.earlier.rates["low"] == (63.64, 5.92) and operand.now.rates["low"] == (63.64, 0)
    assert operand.rule == "standard error over all attempts"
    assert rows["Thesis", "gpt-5-codex"].rule == "standard deviation over seeds, of a population"
    renamed = rows["FM Agent", "Gemini-2.5-Pro"]
    assert renamed.now.agent == "Famou-Agent" and renamed.changes == dict.fromkeys(("low", "medium", "all"), "error")
    assert renamed.rule is None, "twice the standard error on low, the standard deviation on medium"
    unchanged = [row for row in rows.values() if not row.changes]
    assert len(unchanged) == 8 and {row.rule for row in unchanged} == {"standard error over seeds"}
    paper = rows["AIDE", "o1-preview"]
    assert paper.earlier.rates["all"] == (16.9, 1.1) and paper.changes["all"] == "mean and error"
    printed = assay("study", "leaderboard", "--earlier").stdout
    assert "Of 17 rows, 3 have another error and the same means, and 6 have other means." in printed
    tables = json.loads(assay("study", "leaderboard", "--earlier", "--json").stdout)["tables"]
    assert len(tables["earlier"]["rows"]) == 17 and len(tables["now"]["rows"]) == 9


def test_the_known_row_is_recomputed_to_the_published_figures():
    registry = Registry()
    splits = {split: registry.names(f"mlebench:{split}") for split in SPLITS}
    (row,) = (row for row in load_leaderboard() if row.agent == "Famou-Agent")
    for split, rate in recompute_known(splits)["Famou-Agent"].items():
        assert (rate.mean, rate.errors["seeds"]) == pytest.approx(row.rates[split], abs=0.005)


def test_a_row_of_which_only_the_number_of_medals_is_known_is_recomputed():
    registry = Registry()
    splits = {split: registry.names(f"mlebench:{split}") for split in SPLITS}
    (row,) = (row for row in load_leaderboard() if row.agent == "Operand ensemble")
    for split, rate in recompute_known(splits)["Operand ensemble"].items():
        assert rate.mean == pytest.approx(row.rates[split][0], abs=0.005)
        assert rate.errors["seeds"] is None, "which seed won is not known"
    low = recompute_known(splits)["Operand ensemble"]["low"]
    # 14 of 22 competitions always, 8 never: √(14/22 · 8/22 / 21); the published error over seeds is 0.00.
    assert low.errors["tasks"] == pytest.approx(100 * (14 / 22 * 8 / 22 / 21) ** 0.5)
    assert row.rates["low"][1] == 0


def test_every_row_has_published_reports():
    assert len(load_leaderboard()) == 26
    assert len({row.name for row in load_leaderboard()}) == 26
    groups = {path.partition("/")[0] for path in load_report_hashes()}
    assert all(set(row.groups) <= groups for row in load_leaderboard())


@pytest.mark.parametrize("inside", [".", "runs"])
def test_a_complete_row_is_proven_and_recomputed(tmp_path: Path, checkout: dict[str, str], inside: str):
    verified = verify(tmp_path / inside, checkout)
    assert verified.files == {"proven": 2, "pointer": 0, "different": 0, "missing": 0}
    (row,) = verified.rows
    assert row.differences == ()
    assert row.rates["all"].mean == pytest.approx(50)


def test_a_figure_that_differs_is_named(tmp_path: Path, checkout: dict[str, str]):
    wrong = replace(ROW, rates=ROW.rates | {"medium": (51.0, 40.0)})
    (row,) = verify(tmp_path, checkout, wrong).rows
    assert row.differences == (
        "medium: 50.00 instead of 51.00",
        "medium: ± 50.00 over seeds instead of ± 40.00",
    )


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\n"), "pointer"),
        (lambda path: path.write_text(path.read_text() + " "), "different"),
        (lambda path: path.unlink(), "missing"),
    ],
)
def test_a_file_that_is_not_the_published_one_leaves_its_row_out(
    tmp_path: Path, checkout: dict[str, str], change: Callable[[Path], object], state: str
):
    change(tmp_path / "runs" / "toy_group2" / "grading_report.json")
    verified = verify(tmp_path, checkout)
    assert verified.files["proven"] == verified.files[state] == 1
    assert (verified.rows, verified.incomplete) == ((), (ROW.name,))
    assert bool(verified.wrong) == (state == "different")


def test_a_report_of_a_terabyte_is_not_read(tmp_path: Path, checkout: dict[str, str]):
    name = next(iter(checkout))
    with (tmp_path / "runs" / name).open("wb") as file:
        file.truncate(10**12)
    assert verify(tmp_path, checkout).wrong == (name,)


def test_a_folder_without_reports_is_an_error(tmp_path: Path):
    with pytest.raises(UsageError, match="none of the published reports"):
        verify_reports(tmp_path, TOY_SPLITS)


def medal(name: str, won: bool, **fields: object) -> TrialRow:
    """A finished trial of a competition."""
    grade = Grade.model_validate(
        dict.fromkeys(("score", "gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold"), 1.0)
        | dict.fromkeys(("gold_medal", "silver_medal", "bronze_medal", "above_median", "is_lower_better"), False)
        | {"competition_id": name, "any_medal": won, "submission_exists": True, "valid_submission": True}
        | {"created_at": "", "submission_path": "", "task": f"mlebench/{name}", "edition": "v1", "variant": "real"}
    )
    row = TrialRow(
        task=f"mlebench/{name}", title=name, metric="auc", direction="higher", agent="mine", seed=1, edition="v1",
        variant="real", status="done", cause=None, why=None, grade=grade, elapsed=1.0, steps=1, sealed=True,
    )  # fmt: skip
    return replace(row, **fields)


def test_an_agent_is_rated_on_the_splits_it_has_completely():
    outcomes = [medal("a", True), medal("a", False, seed=2), medal("b", True), medal("b", True, seed=2)]
    rates = rate_agents(outcomes, TOY_SPLITS)["mine"]
    assert {split: rate.mean for split, rate in rates.items()} == {"low": 50, "medium": 100}
    failed = replace(outcomes[0], status="failed", cause="agent", grade=None)
    assert rate_agents([failed, outcomes[1]], TOY_SPLITS)["mine"]["low"].mean == 0


def test_only_real_data_in_edition_v1_is_comparable():
    for fields in ({"edition": "fixed"}, {"variant": "synthetic-0"}):
        with pytest.raises(UsageError, match="only edition v1 on real data is comparable"):
            rate_agents([medal("a", True, **fields)], TOY_SPLITS)
    with pytest.raises(UsageError, match="no finished trial of mlebench"):
        rate_agents([replace(medal("a", True), task="pocket/digits")], TOY_SPLITS)


def test_the_commands_show_the_table_and_refuse_what_cannot_be_compared(assay, tmp_path: Path):
    printed = assay("study", "leaderboard").stdout
    assert "43.56 ± 0.89" in printed and "43.56 ± 5.29" in printed
    tables = json.loads(assay("study", "leaderboard", "--json").stdout)["tables"]
    assert len(tables["leaderboard"]["rows"]) == 26
    recomputed = {row["agent"] for row in tables["recomputed"]["rows"]}
    assert recomputed == {"Famou-Agent", "Operand ensemble"}
    refused = assay("study", "leaderboard", "--verify", tmp_path)
    assert refused.returncode == 2 and "none of the published reports" in refused.stderr
    first = next(iter(load_report_hashes()))
    (tmp_path / first).parent.mkdir(parents=True)
    (tmp_path / first).write_text("{}")
    assert assay("study", "leaderboard", "--verify", tmp_path).returncode == 1


def test_a_run_is_shown_between_the_published_rows(assay, tmp_path: Path):
    """Medals in 11 of the 22 competitions of the low split: 50%, and √(0.25 / 21) = 10.91 points over tasks."""
    names = Registry().names("mlebench:low")
    run = RunFolder(tmp_path / "run")
    run.add(
        [
            TrialFile(
                id=f"{name}-mine-1", task=f"mlebench/{name}", edition="v1", variant="real", agent="mine", label="mine",
                seed=1, budget=Budget(time=60), resources=Resources(), environment="core", sandbox="bubblewrap",
            )
            for name in names
        ]
    )  # fmt: skip
    for trial in run.trials():
        name = trial.file.task.partition("/")[2]
        with trial.acquire() as lease:
            held = TrialFolder(trial.path, lease)
            held.write_grade(medal(name, won=names.index(name) < 11).grade)
            held.write_state(State(status="done"))
    printed = assay("study", "leaderboard", run.path)
    assert printed.returncode == 0, printed.stderr
    lines = printed.stdout.splitlines()
    agent = next(line for line in lines if line.startswith(">"))
    assert agent.split() == [">", "mine", "–", "–", "–", "50.00", "±", "10.91", "(28.7–71.1)", "–", "–", "–"]
    assert "clustered by task for the run (>), with the 95% interval" in " ".join(lines[-2:])
