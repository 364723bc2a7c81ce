"""`assay audit`: tasks and folders, text, JSON, cards, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd

from assay.audit.cards import render_card
from assay.audit.finding import AuditFinding
from assay.audit.task_audit import TaskAudit

ROOT = Path(__file__).resolve().parents[2]
TASK = "mlebench/random-acts-of-pizza"


def test_a_leak_is_shown_with_evidence_and_fails_the_command(assay, tmp_path: Path) -> None:
    assert assay("prepare", TASK, "--synthetic").returncode == 0
    result = assay("audit", TASK, "--variant", "synthetic", "--html", tmp_path / "cards")
    assert result.returncode == 1
    assert "high    single predictors: test.json, column giver_username_if_known" in result.stdout
    assert "always has the label 1" in result.stdout
    assert f"auditing {TASK} (1 of 1)" in result.stderr
    assert f"1 of 1 tasks have findings: {TASK}" in result.stderr
    card = (tmp_path / "cards" / "mlebench-random-acts-of-pizza.v1.html").read_text()
    assert "giver_username_if_known" in card and "This is a miniature" in card and "<script" not in card
    result = assay(
        "audit", TASK, "--variant", "synthetic", "--fail-on", "never", "--json", "--only", "single", "--quiet"
    )
    (audit,) = json.loads(result.stdout)
    assert (result.returncode, result.stderr) == (0, "")
    assert (audit["format"], audit["name"], audit["edition"], audit["variant"]) == (
        "audit/1",
        TASK,
        "v1",
        "synthetic-0",
    )
    (finding,) = audit["findings"]
    assert finding["severity"] == "high" and finding["computed_on"]
    result = assay("audit", TASK, "--variant", "synthetic", "--json", "--only", "trivial", "--quiet")
    assert all("indicative" in finding["computed_on"] for finding in json.loads(result.stdout)[0]["findings"])


def test_a_folder_needs_no_task(assay, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    rows = pd.DataFrame({"row": range(200), "price": [7.5 * (row % 17) + row / 1000 for row in range(200)]})
    rows["twin"] = 2 * rows["price"]
    rows[:100].to_csv(folder / "train.csv", index=False)
    rows[100:].drop(columns="price").to_csv(folder / "test.csv", index=False)
    rows[100:][["row", "price"]].to_csv(tmp_path / "answers.csv", index=False)
    result = assay("audit", folder, "--target", "price", "--id", "row", "--answers", tmp_path / "answers.csv")
    assert result.returncode == 1
    assert "test.csv, column twin gives price away" in result.stdout
    clean = assay("audit", folder, "--only", "duplicate rows", "--only", "near-duplicate texts", "--all")
    assert clean.returncode == 0
    assert "none    duplicate rows: 0 of 100" in clean.stdout and "skipped near-duplicate texts" in clean.stdout


def test_wrong_input_is_explained_in_one_line(assay, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a\n1\n")
    for words, code, why in [
        (("audit", "nonsense"), 2, "no task, suite or split is named 'nonsense'"),
        (("audit", tmp_path, "--only", "x"), 2, "no check begins with 'x'; there are: single predictors"),
        (("audit", tmp_path, "--target", "b"), 2, "train.csv has no column 'b'"),
        (("audit", "mlebench/leaf-classification", "--variant", "synthetic-77"), 1, "is not prepared"),
    ]:
        result = assay(*words)
        assert (result.returncode, result.stdout) == (code, ""), words
        assert why in result.stderr and "Traceback" not in result.stderr


def test_a_card_escapes_everything_from_the_data() -> None:
    hostile = "<script>alert(1)</script>\x1b[31m"
    finding = AuditFinding(hostile, "high", hostile, (hostile,), hostile)
    page = render_card(TaskAudit(hostile, "v1", "synthetic-0", (finding,), 1.0))
    assert "<script" not in page and "\x1b" not in page
    assert page.count("&lt;script&gt;") == 6


def test_the_table_of_known_leaks_is_current() -> None:
    result = subprocess.run([sys.executable, ROOT / "tools" / "known_leaks.py", "--check"], timeout=600)
    assert result.returncode == 0, "docs/audit.md is not current; run: python tools/known_leaks.py"
