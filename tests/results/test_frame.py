"""Everything that is printed of a run agrees with its frame."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
from synthetic_outcomes import run

from assay.results.frame import COLUMNS, read_frame

ROOT = Path(__file__).parents[2]
TINY = ROOT / "tests" / "tiny"


def test_reports_status_and_python_agree_with_the_frame(scripted_run, assay):
    frame = read_frame(scripted_run)
    records = frame.to_table().to_dict()["rows"]
    command = ["--tasks", str(TINY)]
    report = json.loads(assay(*command, "report", str(scripted_run.path), "--json").stdout)
    assert [{name: row[name] for name in COLUMNS} for row in report["trials"]] == records
    rows = csv.DictReader(io.StringIO(assay(*command, "report", str(scripted_run.path), "--csv", "--trials").stdout))
    assert [row["trial"] for row in rows] == [row["trial"] for row in records]
    status = json.loads(assay(*command, "status", str(scripted_run.path), "--json").stdout)
    for trial, record in zip(status["trials"], records, strict=True):
        assert (trial["trial"], trial["agent"], trial["seed"]) == (record["trial"], record["agent"], record["seed"])
        if trial["stage"] == "done":  # of others, the status has what was used so far
            used = (record["steps"], record["tokens"], record["cost"])
            assert (trial["steps"], trial["tokens"], trial["cost"]) == used
    by_agent = {row["agent"]: row for row in report["overall"]}
    for group in frame.counted.group_by(lambda row: row.agent):
        finished = [row for row in group if not row.pending and not row.inapplicable]
        summary = by_agent[group[0].agent]
        assert summary["valid_count"] == sum(row.valid for row in finished)
        assert summary["valid_trials"] == len(finished)
        assert summary["trials"] == len(group)


def test_polars_and_pandas_have_the_documented_columns():
    frame = type(read_frame())(run())
    assert frame.to_polars().columns == list(COLUMNS)
    assert frame.to_pandas().reset_index().columns.tolist() == sorted(COLUMNS, key=lambda name: name != "trial")
    means = frame.to_polars().group_by("agent").agg(pl.col("score").mean())
    assert means.height == 2


def test_the_documented_columns_are_current():
    result = subprocess.run([sys.executable, ROOT / "tools" / "trial_columns.py", "--check"], timeout=600)
    assert result.returncode == 0, "docs/python.md is not current; run: python tools/trial_columns.py"
