"""A table prints the same values everywhere: terminal, CSV, JSON, Markdown, LaTeX, HTML."""

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from assay.core.claim import Claim, Estimand, Evidence, Population, Published, Standing
from assay.core.table import Column, Formatted, Table, format_value
from assay.core.values import Estimate, Interval

RATE = Claim(
    Estimand("success", ("a",), Population.LIKE), 2 / 3, Interval(0.2, 0.9), Evidence(3, 3, (3,), "by hand", hits=2),
    worst=2 / 3, best=2 / 3,
)  # fmt: skip
DIFFERENCE = Claim(
    Estimand("success", ("a", "b"), Population.LIKE, kind="difference"), 0.1, Interval(-0.05, 0.2),
    Evidence(6, 6, (6, 6), "by hand"), worst=0.1, best=0.1, p=0.2,
)  # fmt: skip
STANDING = Standing("a", 5, (1, 3), best=0.4, shrunken=0.5)
TABLE = Table(
    name="agents",
    title="Two agents",
    columns=(
        Column("task", heading=True),
        Column("agent"),
        Column("score", kind="estimate"),
        Column("success", kind="rate"),
        Column("interval", kind="interval", drop=1),
        Column("best", kind="flag", data_only=True),
        Column("comment", text_only=True),
    ),
    rows=(
        (
            "digits",
            "a|b",
            Estimate(3, 0.98149, 0.00094, 0.98, 0.99),
            RATE,
            Interval(0.1, 0.5),
            True,
            "x",
        ),
        ("digits", "<b>\\x_1", Formatted(None, "failed"), None, None, False, None),
    ),
    notes=("Errors are 5% of it.",),
    styles=("best", ""),
)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.98149, "number", "0.9815"),
        (-1234567.0, "number", "−1234567"),
        (12345678.0, "number", "1.235e+07"),
        (0.667, "share", "67%"),
        (0.07, "change", "+7.0%"),
        (12.3456, "change", "+1\u202f235%"),
        (0.0004, "p", "< 0.001"),
        (90.0, "duration", "1m30s"),
        (4 * 10**9, "size", "4GB"),
        (1.5, "cost", "$1.50"),
        (1234567, "integer", "1,234,567"),
        (True, "flag", "yes"),
        (None, "number", "–"),
        (float("nan"), "number", "–"),
        (RATE, "count", "2 of 3"),
        (RATE, "rate", "67% (20–90%)"),
        (replace(RATE, worst=0.5, best=0.8), "rate", "67% (20–90%), 50–80% with missing trials"),
        (RATE, "limits", "20–90%"),
        (DIFFERENCE, "difference", "+10 (−5 to +20)"),
        (DIFFERENCE, "limits", "−5 to +20"),
        (DIFFERENCE, "p", "0.200"),
        (STANDING, "rank", "1–3"),
        (STANDING, "best", "40%"),
        (STANDING, "shrunken", "50%"),
        (Published(0.4356, 0.0089), "rate", "44 ± 1%"),
        (datetime(2026, 5, 1, 14, 30, tzinfo=UTC), "date", "2026-05-01 14:30"),
    ],
)
def test_a_value_is_written_as_its_column_says(value, kind, text):
    assert format_value(value, kind) == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [("rate", 0.5), ("rate", Interval(0.1, 0.2)), ("rate", DIFFERENCE), ("count", 3), ("count", Published(0.5)),
     ("difference", 0.1), ("difference", RATE), ("limits", Interval(0.1, 0.2)), ("rank", 1), ("best", 0.5),
     ("shrunken", 0.5), ("rank", "1–3"), ("rate", Formatted(0.5, "50%"))],
)  # fmt: skip
def test_rates_differences_and_ranks_are_claims_or_refused(kind, value):
    with pytest.raises(TypeError, match="column success of table t"):
        Table("t", (Column("success", kind=kind),), ((value,),))


def test_text_has_a_heading_per_group_and_hides_what_is_only_data():
    assert TABLE.to_text().split("\n") == [
        "Two agents",
        "  agent              score       success  interval  comment",
        "digits",
        "  a|b      0.9815 ± 0.0009  67% (20–90%)    10–50%  x",
        "  <b>\\x_1           failed             –         –  –",
        "Errors are 5% of it.",
    ]


def test_a_narrow_terminal_drops_columns_and_says_so():
    lines = TABLE.to_text(50).split("\n")
    assert "interval" not in lines[1]
    assert "(hidden to fit the width: interval)" in lines


def test_csv_and_json_have_every_part_of_a_value():
    rows = list(csv.DictReader(io.StringIO(TABLE.to_csv())))
    assert list(rows[0]) == [
        *("task", "agent", "score_mean", "score_error"),
        *("success_count", "success_trials", "success_rate", "success_low", "success_high"),
        *("success_worst", "success_best", "success_population"),
        *("interval_low", "interval_high", "best"),
    ]
    assert (rows[0]["score_mean"], rows[0]["success_rate"], rows[0]["best"]) == ("0.98149", str(2 / 3), "true")
    assert set(rows[1].values()) == {"digits", "<b>\\x_1", "", "false"}
    content = json.loads(TABLE.to_json())
    assert content["rows"][0]["score_mean"] == 0.98149
    assert content["rows"][1]["score_mean"] is None
    assert content["notes"] == ["Errors are 5% of it."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE.to_markdown(), "| digits | \\<b\\>\\\\x\\_1 | failed | – | – | – |"),
        (TABLE.to_latex(), "digits & \\textless{}b\\textgreater{}\\textbackslash{}x\\_1 & failed & -- & -- & -- \\\\"),
        (TABLE.to_html(), '<th scope="row" class="text">&lt;b&gt;\\x_1</th>'),
        (TABLE.to_html(), 'scope="rowgroup">digits</th></tr><tr class="best"><th scope="row" class="text">a|b</th>'),
    ],
    ids=["markdown", "latex", "html", "html style"],
)
def test_hostile_names_are_escaped(text, expected):
    assert expected in text


def test_a_spreadsheet_runs_no_text_of_a_table():
    texts = ("=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "plain")
    table = Table("t", (Column("agent"), Column("score", kind="number")), tuple((text, -1.5) for text in texts))
    assert [line[0] for line in table.to_csv().splitlines()[1:]] == [" ", " ", " ", " ", "p"]
    assert all(line.endswith(",-1.5") for line in table.to_csv().splitlines()[1:])


def test_json_has_null_for_numbers_that_are_not_finite():
    table = Table("t", (Column("x", kind="number"),), ((float("inf"),), (1.0,)))
    assert json.loads(table.to_json())["rows"] == [{"x": None}, {"x": 1.0}]


def test_a_page_links_and_colors_a_value_and_can_sort_by_it():
    columns = (Column("agent"), Column("time", kind="duration"))
    table = Table("runs", columns, ((Formatted("aide", "aide <1>", "#t1", 3), Formatted(90, "1m30s")),))
    text = table.to_html("sortable")
    assert text.startswith('<table class="sortable">')
    assert '<span class="swatch c3" aria-hidden="true"></span><a href="#t1">aide &lt;1&gt;</a>' in text
    assert '<td data-label="time" data-value="90" class="number">1m30s</td>' in text
