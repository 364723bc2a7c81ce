"""Grading reports are aggregated as in the published benchmark; pass@k."""

import json
import math
from itertools import combinations
from pathlib import Path

import pytest
from scipy import stats
from scipy.stats import sem

from assay.core.errors import UsageError
from assay.results.aggregate import RATES, aggregate_reports, read_reports, read_reports_by_agent
from assay.results.inference import pass_all_k, pass_at_k
from assay.suites.mlebench.studies.published import load_known_medals
from assay.tasks import Registry

FLAGS = list(RATES.values())


def write_report(path: Path, medals: dict[str, bool], **more: object) -> Path:
    """Write a report in the published format."""
    reports = [
        {
            "competition_id": name,
            "score": None,
            **{f"{level}_threshold": 0.5 for level in ("gold", "silver", "bronze", "median")},
            **dict.fromkeys(FLAGS, won),
            "is_lower_better": False,
            "created_at": "2024-10-08T00:00:00",
            "submission_path": "submission.csv",
            **more,
        }
        for name, won in medals.items()
    ]
    path.write_text(json.dumps({"total_runs": len(reports), "competition_reports": reports}))
    return path


@pytest.fixture
def reports(tmp_path: Path) -> list[Path]:
    won = [{"a": True, "b": False, "c": False}, {"a": True, "b": True, "c": False}, {"a": False, "b": True, "c": False}]
    return [write_report(tmp_path / f"{seed}_grading_report.json", medals) for seed, medals in enumerate(won)]


def test_rates_per_seed_their_mean_and_standard_error(reports):
    result = aggregate_reports(read_reports(reports), ["a", "b", "c"])
    rate = result.rates["any_medal_percentage"]
    per_seed = [100 / 3, 200 / 3, 100 / 3]
    assert rate.per_seed == pytest.approx(per_seed)
    assert rate.mean == pytest.approx(400 / 9)
    # By competition: 2/3, 2/3, 0; of nine attempts four won.
    assert rate.errors["seeds"] == pytest.approx(sem(per_seed))
    assert rate.errors["tasks"] == pytest.approx(sem([200 / 3, 200 / 3, 0]))
    assert rate.errors["attempts"] == pytest.approx(100 * math.sqrt(4 / 9 * 5 / 9 / 9))
    assert 0 <= rate.low < rate.mean < rate.high <= 100


def test_reports_of_two_agents_are_aggregated_separately(tmp_path, assay):
    paths = [write_report(tmp_path / f"{agent}.json", {"a": agent == "one"}) for agent in ("one", "two")]
    for path in paths:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"agent": path.stem}))
    by_agent = read_reports_by_agent(paths)
    rates = {agent: aggregate_reports(reports, ["a"]).rates for agent, reports in by_agent.items()}
    assert {agent: rate["any_medal_percentage"].mean for agent, rate in rates.items()} == {"one": 100, "two": 0}
    with pytest.raises(UsageError, match="different agents: one, two"):
        read_reports(paths)
    (tmp_path / "split").write_text("a\n")
    result = assay("study", "aggregate", *paths, "--split", tmp_path / "split")
    lines = result.stdout.splitlines()
    assert "one" in lines and "two" in lines and lines.count("1 competition × 1 seed") == 2


def test_results_on_data_that_is_not_real_have_no_medals(tmp_path, assay):
    path = write_report(tmp_path / "a.json", {"a": True}, variant="synthetic-0")
    result = aggregate_reports(read_reports([path]), ["a"])
    assert {name: rate.mean for name, rate in result.rates.items()} == {
        "submission_exists_percentage": 100,
        "valid_submissions_percentage": 100,
    }
    assert (result.pass_at, result.pass_all, result.variants) == ({}, {}, ("synthetic-0",))
    (tmp_path / "split").write_text("a\n")
    printed = assay("study", "aggregate", path, "--split", tmp_path / "split").stdout
    assert "No medals: these are results on synthetic-0 data" in printed and "gold medal" not in printed


def test_the_interval_stays_within_bounds_where_all_or_none_win(tmp_path):
    all_won = [write_report(tmp_path / f"{seed}_r.json", {"a": True, "b": True}) for seed in range(3)]
    rate = aggregate_reports(read_reports(all_won), ["a", "b"]).rates["any_medal_percentage"]
    assert (rate.mean, rate.high) == (100, 100)
    # The 2.5% quantile of Beta(2, 2/3): two tasks, and a further one with two thirds of their weight.
    assert rate.low == pytest.approx(100 * stats.beta(2, 2 / 3).ppf(0.025), abs=1)


def test_seeds_that_agree_are_not_certainty(assay, tmp_path):
    agreed = [write_report(tmp_path / f"{seed}_r.json", {"a": True, "b": False}) for seed in range(3)]
    (tmp_path / "split.txt").write_text("a\nb\n")
    printed = assay("study", "aggregate", *agreed, "--split", tmp_path / "split.txt").stdout
    assert "50.00 ± 50.00" in printed
    assert "Warning: an error of 0.00 over seeds says that the seeds agree, not that the rate is certain." in printed


def test_a_published_row_is_reproduced_with_three_kinds_of_error(assay, tmp_path):
    """The row Famou-Agent of the published README: medals of 75 competitions by three seeds."""
    medals = load_known_medals()["Famou-Agent"]
    paths = [
        write_report(tmp_path / f"{seed}_r.json", {name: won[seed] != "none" for name, won in medals.items()})
        for seed in range(3)
    ]
    printed = assay("study", "aggregate", *paths, "--split", "all", "--error", "seeds").stdout
    assert "43.56 ± 0.89" in printed
    assert "pass@k and pass^k beyond k = 1 (half of the seeds) are noisy." in printed
    reports = read_reports(paths)
    for split, published in {"low": (62.12, 1.52), "medium": (36.84, 1.52), "high": (33.33, 0.0)}.items():
        names = Registry().names(f"mlebench:{split}")
        rate = aggregate_reports(reports, names).rates["any_medal_percentage"]
        assert (rate.mean, rate.errors["seeds"]) == pytest.approx(published, abs=0.005)
    errors = aggregate_reports(reports, list(medals)).rates["any_medal_percentage"].errors
    assert errors == pytest.approx({"tasks": 5.29, "seeds": 0.89, "attempts": 3.31}, abs=0.005)


def test_seeds_are_the_reports_in_the_order_of_their_files(tmp_path):
    late = write_report(tmp_path / "b.json", {"a": False})
    early = write_report(tmp_path / "a.json", {"a": True})
    assert aggregate_reports(read_reports([late, early]), ["a"]).rates["any_medal_percentage"].per_seed == (100, 0)


def test_no_report_is_left_out_unless_asked_for(tmp_path, reports):
    extra = read_reports([*reports, write_report(tmp_path / "extra.json", {"a": True})])
    with pytest.raises(UsageError, match="b has 3 of up to 4 reports; pass --seeds 3 to leave 1 of 10 reports out"):
        aggregate_reports(extra, ["a", "b", "c"])
    result = aggregate_reports(extra, ["a", "b", "c"], seeds=3)
    assert (result.seeds, result.padded) == (3, 0)


def test_padding_counts_missing_reports_as_failures(tmp_path, reports):
    extra = write_report(tmp_path / "z.json", {"a": True})
    result = aggregate_reports(read_reports([*reports, extra]), ["a", "b", "c", "d"], pad_missing=True)
    assert (result.seeds, result.padded) == (4, 6)
    assert result.rates["submission_exists_percentage"].per_seed[3] == 25


def test_a_competition_without_report_is_named(reports):
    with pytest.raises(UsageError, match=r"No report for d.*--pad-missing"):
        aggregate_reports(read_reports(reports), ["a", "d"])


def test_more_seeds_than_reports_are_an_error(reports):
    with pytest.raises(UsageError, match="--seeds 4: the reports have only 3"):
        aggregate_reports(read_reports(reports), ["a"], seeds=4)


def test_reports_with_different_rules_are_not_aggregated(tmp_path, reports):
    other = write_report(tmp_path / "other.json", {"a": True}, edition="fixed")
    with pytest.raises(UsageError, match="different editions or variants"):
        read_reports([*reports, other])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"competition_reports": [{"score": 1}]}', "not json", "[" * 100_000])
def test_a_file_that_is_not_a_report_is_rejected(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError, match="not a grading report"):
        read_reports([tmp_path / "x.json"])


@pytest.mark.parametrize(("attempts", "successes"), [(4, 0), (4, 1), (5, 2), (6, 6)])
def test_pass_at_k_is_the_share_of_draws_with_a_success_and_pass_all_k_of_draws_without_a_failure(attempts, successes):
    won = [True] * successes + [False] * (attempts - successes)
    for k in range(1, attempts + 1):
        draws = list(combinations(won, k))
        assert pass_at_k(attempts, successes, k) == pytest.approx(sum(map(any, draws)) / len(draws))
        assert pass_all_k(attempts, successes, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_pass_at_k_is_averaged_over_competitions(reports):
    # Of three attempts a won 2, b 2 and c 0: pass@1 is 4/9; pass@2 is 1 for a and b, 0 for c.
    result = aggregate_reports(read_reports(reports), ["a", "b", "c"])
    assert {k: claim.value for k, claim in result.pass_at.items()} == pytest.approx({1: 4 / 9, 2: 2 / 3, 3: 2 / 3})
    assert {k: 100 * claim.value for k, claim in result.pass_all.items()} == pytest.approx(
        {1: 400 / 9, 2: 200 / 9, 3: 0}
    )


def test_the_command_prints_a_table_and_json(assay, tmp_path, reports):
    (tmp_path / "split.txt").write_text("a\nb\nc\n")
    words = ["study", "aggregate", *reports, "--split", tmp_path / "split.txt"]
    assert "44.44 ± 22.22" in assay(*words).stdout
    assert "44.44 ± 11.11" in assay(*words, "--error", "seeds").stdout
    assert "44.44 ± 16.56" in assay(*words, "--error", "attempts").stdout
    content = json.loads(assay(*words, "--json").stdout)
    assert content["rates"]["any_medal_percentage"]["mean"] == pytest.approx(400 / 9)
    assert "random weights of tasks" in content["interval"]
    assert assay("study", "aggregate", *reports, "--split", "nonsense").returncode == 2
