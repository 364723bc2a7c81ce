import csv
import io
import json
import math

import pytest
from made_up import MADE_AT, changed, failed, grade, outcome, run
from rich.console import Console

from assay.results import wording
from assay.results.statistics import cells
from assay.results.tables import table, to_csv, to_json


def printed(outcomes, width=80):
    """What a terminal without colours shows."""
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(table(outcomes))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def line_of(text, start):
    return next(line for line in text.splitlines() if line.strip().startswith(start))


def test_the_table_says_what_was_measured_and_fits_eighty_columns():
    text = printed(run())
    assert max(map(len, text.splitlines())) <= 80
    assert "accuracy ↑" in line_of(text, "digits")
    assert "rmsle ↓" in line_of(text, "house-price")
    for cell in cells(run()):
        if cell.score is not None:
            assert wording.mean_and_error(cell.score) in text
            assert wording.cell_placing(cell) in text
            assert wording.change(cell.improvement.mean) in text  # type: ignore[union-attr]
    assert "pocket v1" in text and "3 of 3" in text and "/ 14" in text and "Wilson" in text


def test_the_best_agent_is_marked_without_colour():
    text = printed(run())
    assert text.count("★ automl") == 3 and "★ starter" not in text


def test_a_task_an_agent_cannot_take_does_not_apply():
    text = printed(run())
    assert "does not apply" in text
    assert "3 of 4" in line_of(text.split("all tasks")[1], "automl")
    assert "failed" not in text and "failure (" not in text


def test_failures_say_their_cause_and_why():
    trials = [outcome(), failed("pocket/digits", "starter", 1)]
    trials += [
        failed("pocket/digits", "other", 0, "infrastructure", "disk full"),
        outcome("pocket/house-price", "other"),
    ]
    text = printed(trials)
    assert "1 of 2" in line_of(text, "starter")
    assert "failed: infrastructure" in " ".join(text.split())
    assert "1 failure (agent): python train.py ended with exit code 1" in " ".join(text.split())
    assert "disk full" in text and "without infrastructure faults" in text


def test_unsealed_and_unfinished_results_are_marked():
    trials = changed(run(), lambda o: o.task == "pocket/digits" and o.seed == 0, sealed=False)
    trials = changed(trials, lambda o: o.task == "pocket/house-price", status="running", grade=None)
    text = printed(trials)
    assert "unsealed" in text and "Unsealed: 2 trials" in text
    assert "not finished" in text and "Not final: 6 trials of 24" in " ".join(text.split())
    assert "unsealed" not in printed(run()).lower()


def test_medals_stand_in_for_ranks_where_there_is_a_leaderboard():
    gold = grade("pocket/digits", 0.99, gold_threshold=0.98, any_medal=True, gold_medal=True)
    assert "1 gold" in printed([outcome(grade=gold)])
    assert "no medal" in printed([outcome(grade=grade("pocket/digits", 0.9, gold_threshold=0.98))])


def test_text_from_outside_is_neither_markup_nor_an_escape_sequence():
    text = printed(
        [outcome(agent="[red]x[/red]\x1b[2Jy"), failed("pocket/digits", "b", 0, why="a\nb\x1b]0;t\x07")], width=120
    )
    assert "[red]x[/red]\ufffd[2Jy" in text and "\x1b" not in text and "\x07" not in text


def test_long_names_and_many_agents_keep_to_the_width():
    text = printed(run(agents=[f"research/some-model-with-a-long-name-{n}" for n in range(8)]))
    assert max(map(len, text.splitlines())) <= 80


def test_no_trials_is_not_an_error():
    assert "No trials yet" in printed([])
    assert len(to_csv([]).splitlines()) == 1
    assert json.loads(to_json([], "empty", MADE_AT))["cells"] == []


def test_csv_and_json_hold_the_same_numbers_to_the_last_digit():
    trials = [*run(), failed("pocket/digits", "other", 0), outcome("pocket/digits", '=cmd, "quoted"\n', 0, 0.93)]
    made = cells(trials)
    rows = list(csv.DictReader(io.StringIO(to_csv(made))))
    report = json.loads(to_json(trials, "a run", MADE_AT))
    assert report["format"] == "report/1" and report["made_at"] == "2026-10-26T14:03:00+00:00"
    assert len(rows) == len(report["cells"]) == len(made) == 10
    for row, cell in zip(rows, report["cells"], strict=True):
        assert list(row) == list(cell)
        for name, value in cell.items():
            match value:
                case None:
                    assert row[name] == ""
                case bool():
                    assert row[name] == str(value).lower()
                case float():
                    assert float(row[name]) == value
                case _:
                    assert row[name] == str(value)
    assert [row["score_mean"] for row in report["cells"]] == [cell.score.mean if cell.score else None for cell in made]


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
    ("said", "expected"),
    [
        (wording.number(0.98154), "0.9815"),
        (wording.number(28.576), "28.58"),
        (wording.number(-0.00123456), "−0.001235"),
        (wording.number(123456.7), "123457"),
        (wording.number(0.0), "0.0000"),
        (wording.change(0.0704), "+7.0 %"),
        (wording.change(-0.0004), "0.0 %"),
        (wording.change(49.0), "+4\u202f900 %"),
        (wording.change(-0.5), "−50.0 %"),
        (wording.change(None), "–"),
        (wording.duration(8.04), "8.0 s"),
        (wording.duration(200), "3 min 20 s"),
        (wording.duration(7500), "2 h 05 min"),
        (wording.placing(4, 13), "4 / 14"),
        (wording.placing(4 + 1 / 3, 13), "4.3 / 14"),
    ],
)
def test_numbers_are_said_in_one_way(said, expected):
    assert said == expected
