import csv
import io
import json
import math
from dataclasses import replace

import pytest
from synthetic_outcomes import MADE_AT, changed, failed, grade, outcome, run

from assay.core.values import format_change, format_duration, format_estimate, format_number
from assay.results.estimate import summarize_tasks
from assay.results.frame import Frame
from assay.results.report import (
    describe_reasons,
    describe_success,
    format_medals_or_rank,
    format_rank,
    make_report,
    report_data,
    score_table,
)


def printed(rows, width=80, *, explain=False):
    """Return what a terminal without colors shows."""
    return "\n".join(table.to_text(width) for table in make_report(Frame(rows), explain=explain))


def to_csv(summaries):
    return score_table(summaries).to_csv()


def to_json(rows, title, created_at):
    return json.dumps(report_data(Frame(rows), title, created_at), allow_nan=False)


def line_of(text, start):
    return next(line for line in text.splitlines() if line.strip().startswith(start))


def test_the_table_shows_all_figures_and_fits_eighty_columns():
    text = printed(run())
    assert max(map(len, text.splitlines())) <= 80
    assert "accuracy ↑" in line_of(text, "digits")
    assert "rmsle ↓" in line_of(text, "house-price")
    for cell in summarize_tasks(run()):
        if cell.score is not None:
            assert format_estimate(cell.score) in text
            assert format_medals_or_rank(cell) in text
            assert format_change(cell.improvement.mean) in text  # type: ignore[union-attr]
    assert "pocket v1" in text and "3 of 3" in text and "/ 14" in text
    assert "Rate: mean over tasks" not in text and "More: assay report --explain." in " ".join(text.split())
    words = " ".join(printed(run(), explain=True).split())
    assert "Rate: mean over tasks; 95% interval on tasks like these" in words


def test_the_best_agent_is_marked_without_color():
    text = printed(run())
    assert text.count("★  automl") == 3 and "★  starter" not in text


def test_forks_reruns_and_a_busy_machine_are_stated():
    forked = replace(outcome(score=0.5), parent="digits-starter-1", parent_step=4)
    lost = replace(failed("pocket/digits", "starter", 2, "infrastructure"), replaced=True)
    again = replace(outcome(seed=3), repeated=True)
    text = printed([outcome(load=0.7), outcome(seed=1, load=4.0), forked, lost, again])
    assert "2 of 2" in line_of(text, "starter")
    assert line_of(text.split("Forked trials")[1], "digits").split() == ["digits", "starter", "0", "4", "0.5000"]
    assert "Rerun: 1 trial that the infrastructure failed; only the reruns count." in text
    assert "Rerun: 1 trial for other reasons; the first attempts count." in text
    assert "Busy machine: 1 trial of 2" in text


def test_the_legend_says_what_success_means_in_each_edition():
    fixed, published = outcome(edition="fixed"), outcome(edition="published", ignores_noise=True)
    noise = "a medal, or more than 10% over the starter and beyond noise"
    published_rule = "more than 10% over the starter, by the published rule"
    for rule, trial in ((noise, fixed), (published_rule, published)):
        assert f"± standard error. Success: {rule}. More:" in " ".join(printed([trial]).split())
        assert f"Success: {rule}; failures count." in " ".join(printed([trial], explain=True).split())
    assert describe_success([fixed, published]) == f"{noise} (pocket published: by the published rule)"


def test_a_task_that_an_agent_cannot_work_on_is_not_applicable():
    text = printed(run())
    assert "not applicable" in text
    assert "3 of 4" in line_of(text.split("all tasks")[1], "automl")
    assert "failed" not in text and "failure (" not in text


def test_a_reason_that_several_tasks_have_in_common_is_one_line():
    tasks = ["pocket/digits", "pocket/digits", "pocket/house-price"]
    trials = [failed(task, "mine", seed) for seed, task in enumerate(tasks)]
    other = failed("pocket/digits", "other", 1, why="out of time")
    assert list(describe_reasons(summarize_tasks([*trials, other]))) == [
        "mine on 2 tasks: 3 failures (agent): python train.py ended with exit code 1",
        "other on digits: 1 failure (agent): out of time",
    ]


def test_failures_have_a_cause_and_a_reason():
    trials = [outcome(), failed("pocket/digits", "starter", 1)]
    trials += [
        failed("pocket/digits", "other", 0, "infrastructure", "disk full"),
        outcome("pocket/house-price", "other"),
    ]
    text = printed(trials)
    assert "1 of 2" in line_of(text, "starter")
    assert "failed: infrastructure" in " ".join(text.split())
    assert "1 failure (agent): python train.py ended with exit code 1" in " ".join(text.split())
    assert "disk full" in text and "other: success is between 0% and 50% with its missing trials" in " ".join(
        text.split()
    )


def test_unsealed_and_unfinished_results_are_marked():
    trials = changed(run(), lambda o: o.task == "pocket/digits" and o.seed == 0, sealed=False)
    trials = changed(trials, lambda o: o.task == "pocket/house-price", status="running", grade=None)
    text = printed(trials)
    assert "unsealed" in text and "Unsealed: 2 trials" in text
    assert "not finished" in text and "Not final: 6 trials of 24" in " ".join(text.split())
    assert line_of(text.split("house-price")[1], "automl").endswith("3 pending")
    one_ended = [outcome(seed=1), *(outcome(seed=seed, status="running", grade=None) for seed in (2, 3))]
    assert line_of(printed(one_ended).split("digits")[1], "starter").endswith("1 of 1, 2 pending")
    assert "unsealed" not in printed(run()).lower()


def test_medals_replace_ranks_where_there_is_a_leaderboard():
    gold = grade("pocket/digits", 0.99, gold_threshold=0.98, any_medal=True, gold_medal=True)
    assert "1 gold" in printed([outcome(grade=gold)])
    assert "no medal" in printed([outcome(grade=grade("pocket/digits", 0.9, gold_threshold=0.98))])


def test_foreign_text_is_neither_markup_nor_an_escape_sequence():
    text = printed(
        [outcome(agent="[red]x[/red]\x1b[2Jy"), failed("pocket/digits", "b", 0, why="a\nb\x1b]0;t\x07")], width=120
    )
    assert "[red]x[/red]\ufffd[2Jy" in text and "\x1b" not in text and "\x07" not in text


def test_long_names_and_many_agents_fit_the_width():
    text = printed(run(agents=[f"research/some-model-with-a-long-name-{n}" for n in range(8)]))
    assert max(map(len, text.splitlines())) <= 80


def test_no_trials_are_not_an_error():
    assert printed([]) == ""
    assert len(to_csv([]).splitlines()) == 1
    assert json.loads(to_json([], "empty", MADE_AT))["scores"] == []


def test_csv_and_json_have_the_same_numbers_to_the_last_digit():
    trials = [*run(), failed("pocket/digits", "other", 0), outcome("pocket/digits", '=cmd, "quoted"\n', 0, 0.93)]
    cells = summarize_tasks(trials)
    rows = list(csv.DictReader(io.StringIO(to_csv(cells))))
    report = json.loads(to_json(trials, "a run", MADE_AT))
    assert report["format"] == "report/2" and report["created_at"] == "2026-10-26T14:03:00+00:00"
    assert len(rows) == len(report["scores"]) == len(cells) == 10
    for row, cell in zip(rows, report["scores"], strict=True):
        assert list(row) == list(cell)
        for name, value in cell.items():
            match value:
                case None:
                    assert row[name] == ""
                case bool():
                    assert row[name] == str(value).lower()
                case float():
                    assert float(row[name]) == value
                case str() if value.startswith("="):
                    assert row[name] == f" {value}"  # which no spreadsheet runs
                case _:
                    assert row[name] == str(value)
    assert [row["score_mean"] for row in report["scores"]] == [
        cell.score.mean if cell.score else None for cell in cells
    ]


def test_json_has_every_trial_with_its_grade():
    report = json.loads(to_json(run(), "a run", MADE_AT))
    assert len(report["trials"]) == 24
    first = report["trials"][0]
    assert first["agent"] == "starter" and first["grade"]["score"] == run()[0].score and first["valid"] is True
    assert report["trials"][-1]["status"] == "inapplicable" and report["trials"][-1]["grade"] is None
    assert report["overall"][1]["inapplicable_tasks"] == 1


def test_json_has_no_bare_nan():
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    odd = grade("pocket/digits", 0.9).model_copy(update={"score": math.nan, "improvement": math.inf})
    text = to_json([outcome(grade=odd)], "x", MADE_AT)
    assert json.loads(text, parse_constant=refuse)["trials"][0]["grade"]["score"] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_number(0.98154), "0.9815"),
        (format_number(28.576), "28.58"),
        (format_number(-0.00123456), "−0.001235"),
        (format_number(123456.7), "123457"),
        (format_number(0.0), "0.0000"),
        (format_change(0.0704), "+7.0%"),
        (format_change(-0.0004), "0.0%"),
        (format_change(49.0), "+4\u202f900%"),
        (format_change(-0.5), "−50.0%"),
        (format_change(None), "–"),
        (format_duration(8.04), "8.0s"),
        (format_duration(200), "3m20s"),
        (format_duration(7500), "2h5m"),
        (format_duration(100 * 3600), "100h"),
        (format_duration(126 * 3600), "5d6h"),
        (format_duration(10079 * 3600 + 4 * 60 + 18), "419d23h4m18s"),
        (format_rank(4, 13), "4 / 14"),
        (format_rank(4 + 1 / 3, 13), "4.3 / 14"),
    ],
)
def test_numbers_are_formatted_alike(text, expected):
    assert text == expected
